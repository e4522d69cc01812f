import { useEffect, useMemo } from "preact/hooks";

import type { SheetCell, SheetTable } from "../data/document";
import { checksOf, kChecksTable, kindOf, type Check, type Sheet } from "../data/sheet";
import { SheetLineChart } from "../figures/sheet_lines";
import { SheetMapFigure } from "../figures/sheet_map";
import { withUnit } from "../plot/sheet_lines";
import { FrameContext } from "../ui/context";
import { fact, integer, isNumber, kDash, short, significant } from "../ui/format";
import { formatSheetRoute, parseSheetRoute, useAddress, type SheetSection } from "../ui/route";
import { Shell } from "../ui/shell";
import { Table, type Column } from "../ui/table";
import { usePalette } from "../ui/theme";
import { Definitions, FactTable, Warnings } from "./run_facts";

const kQuestions: Record<string, string> = {
  geometry: "Is there any W_QK that makes a sink of these tokens?",
  cost: "What does a sink cost, and what a diagonal?",
  smoothing: "When does mixing make the tokens alike?",
  cone: "How far does position 0 stand apart from the others?",
  switch: "What turns a head on and off?",
};

const kSectionTitles: Record<SheetSection, string> = {
  findings: "Findings",
  checks: "Checks",
  figures: "Figures",
  tables: "Tables",
};

/// The page of a calculator: what follows, whether it holds, the pictures, every number.
export function Theory({ sheet }: { sheet: Sheet }) {
  const [route, go] = useAddress(parseSheetRoute, formatSheetRoute);
  const palette = usePalette(route.theme);
  const checks = useMemo(() => checksOf(sheet), [sheet]);
  const tables = sheet.tables.filter((table) => table.name !== kChecksTable);
  const frame = useMemo(
    () => ({ palette, file: `theory${sheet.what ? `-${sheet.what.replace(/[\\/]+/g, "_")}` : ""}` }),
    [palette, sheet],
  );
  const there: Record<SheetSection, boolean> = {
    findings: sheet.findings.length > 0,
    checks: checks !== null,
    figures: sheet.plots.length > 0,
    tables: tables.length > 0,
  };
  const sections = (Object.keys(kSectionTitles) as SheetSection[]).filter((name) => there[name]);
  // In the next frame: figures take their height when their width is known.
  useEffect(() => {
    if (route.view !== "findings") requestAnimationFrame(() => lookAt(route.view));
  }, [route.view]);

  return (
    <FrameContext.Provider value={frame}>
      <Shell
        name={`theory ${short(sheet.what)}`}
        parts={Object.entries(sheet.settings).map(([name, value]) => `${short(name)} ${brief(value)}`)}
        theme={route.theme}
        onTheme={(theme) => go({ theme })}
        navigation="Sections"
        links={sections.map((view) => ({
          href: formatSheetRoute({ ...route, view }),
          text: kSectionTitles[view],
          onFollow: () => lookAt(view),
        }))}
        question={kQuestions[sheet.what] ?? ""}
        notices={sheet.notices}
        tool={sheet.document.tool}
        note="Tokens count from 0; token 0 is the sink."
      >
        {there.findings && <Findings texts={sheet.findings} />}
        {checks && <Checks checks={checks} />}
        {there.figures && (
          <section id="figures" class="columns" aria-label="Figures">
            {sheet.plots.map((plot, i) => {
              const Chart = plot.kind === "map" ? SheetMapFigure : SheetLineChart;
              return <Chart key={i} id={`figure-${i + 1}`} sheet={sheet} plot={plot} />;
            })}
          </section>
        )}
        {there.tables && (
          <section id="tables" class="stack" aria-label="Tables">
            {tables.map((table, i) => (
              <SheetTableView key={table.name} id={`table-${i + 1}`} table={table} />
            ))}
          </section>
        )}
        <Warnings texts={sheet.warnings} />
        <details class="card" id="facts">
          <summary>Run facts: settings, version, time</summary>
          <div class="facts">
            <FactTable title="Settings" section={sheet.settings} />
            <FactTable title="Program" section={sheet.document.tool} />
            <FactTable title="Timing" section={sheet.document.timing} />
          </div>
        </details>
      </Shell>
    </FrameContext.Provider>
  );
}

function lookAt(section: SheetSection): void {
  document.getElementById(section)?.scrollIntoView();
}

function Findings({ texts }: { texts: string[] }) {
  return (
    <section class="findings" id="findings" aria-labelledby="findings-title">
      <h2 id="findings-title">Findings</h2>
      <ol>
        {texts.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ol>
    </section>
  );
}

const kCheckColumns: Column<Check>[] = [
  {
    key: "holds",
    label: "result",
    text: true,
    value: ({ holds }) => (holds ? "holds" : "does not hold"),
    show: ({ holds }) => (
      <span class={holds ? "mark holds" : "mark fails"}>
        <b aria-hidden="true">{holds ? "✓" : "✗"}</b> {holds ? "holds" : "does not hold"}
      </span>
    ),
  },
  { key: "check", label: "what must hold", text: true, value: (check) => check.check },
  { key: "expected", label: "by theory", text: true, value: (check) => check.expected },
  { key: "measured", label: "found", text: true, value: (check) => check.measured },
];

/// Those that do not hold first.
function Checks({ checks }: { checks: Check[] }) {
  const failed = checks.filter((check) => !check.holds).length;
  const caption =
    failed === 0
      ? `All ${integer(checks.length)} checks hold`
      : `${integer(failed)} of ${integer(checks.length)} checks ${failed === 1 ? "does" : "do"} not hold`;
  return (
    <div id="checks" class={failed ? "failed" : ""}>
      <Table
        id="check-table"
        caption={checks.length ? caption : "No check was made"}
        columns={kCheckColumns}
        rows={checks}
        sort={{ key: "holds", down: false }}
      />
    </div>
  );
}

function SheetTableView({ id, table }: { id: string; table: SheetTable }) {
  const columns = useMemo(
    () =>
      table.columns.map((column, i): Column<SheetCell[]> => ({
        key: column.name,
        label: short(withUnit(table, column.name), 60),
        title: column.definition,
        text: kindOf(table, column.name) === "text",
        value: (row) => row[i],
        show: (row) => cellText(row[i] ?? null),
      })),
    [table],
  );
  return (
    <Table id={id} caption={table.title} columns={columns} rows={table.rows}>
      <details class="columns-meaning">
        <summary>What the columns are</summary>
        <Definitions of={table.columns} />
      </details>
    </Table>
  );
}

/// Of a cell; the CSV has the rest.
const kMostText = 300;

function cellText(cell: SheetCell): string {
  if (Array.isArray(cell)) return `${integer(cell.length)} ${cell.length === 1 ? "number" : "numbers"}`;
  return typeof cell === "string" ? short(cell, kMostText) || kDash : significant(cell);
}

const kListEnds = 3;

/// A setting for the line under the title; the run facts have it in full.
function brief(value: unknown): string {
  if (Array.isArray(value) && value.length > 2 * kListEnds && value.every(isNumber))
    return `${fact(value.slice(0, kListEnds))} … ${fact(value[value.length - 1])} (${integer(value.length)} values)`;
  return short(fact(value));
}
