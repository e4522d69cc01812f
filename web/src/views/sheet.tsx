import { useEffect, useMemo } from "preact/hooks";

import { checksOf, type Sheet } from "../data/sheet";
import { SheetLineChart } from "../figures/sheet_lines";
import { SheetMapFigure } from "../figures/sheet_map";
import { FrameContext } from "../ui/context";
import { fact, integer, isNumber, short } from "../ui/format";
import { formatSheetRoute, parseSheetRoute, useAddress, type SheetSection } from "../ui/route";
import { Shell } from "../ui/shell";
import { usePalette } from "../ui/theme";
import { FactTable, Warnings } from "./run_facts";
import { Checks, SheetTables, tablesOf } from "./sheet_tables";

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

const kTrainQuestion = "How does the sink form while training, and what does it do in the end?";
const kTheoryNote = "Tokens count from 0; token 0 is the sink.";
const kTrainNote = "Layers, heads and positions count from 0. Step 0 is the model before training.";

/// The page of a calculator or of a training: what follows, whether it holds, the pictures, every
/// number.
export function SheetPage({ sheet: all }: { sheet: Sheet }) {
  const [route, go] = useAddress(parseSheetRoute, formatSheetRoute);
  const palette = usePalette(route.theme);
  const runs = useMemo(() => all.runs(), [all]);
  const run = runs.includes(route.run) ? route.run : "";
  const sheet = useMemo(() => (run ? all.ofRun(run) : all), [all, run]);
  const checks = useMemo(() => checksOf(sheet), [sheet]);
  const tables = useMemo(() => tablesOf(sheet), [sheet]);
  const command = sheet.training ? "train" : "theory";
  const frame = useMemo(
    () => ({
      palette,
      file: [command, sheet.subject, run]
        .filter(Boolean)
        .join("-")
        .replace(/[\\/]+/g, "_"),
    }),
    [palette, command, sheet, run],
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
        name={`${command} ${short(sheet.subject)}`}
        parts={partsOf(sheet, runs)}
        theme={route.theme}
        onTheme={(theme) => go({ theme })}
        navigation="Sections"
        links={sections.map((view) => ({
          href: formatSheetRoute({ ...route, view }),
          text: kSectionTitles[view],
          onFollow: () => lookAt(view),
        }))}
        question={sheet.training ? kTrainQuestion : (kQuestions[sheet.subject] ?? "")}
        notices={sheet.notices}
        tool={sheet.document.tool}
        note={sheet.training ? kTrainNote : kTheoryNote}
      >
        {there.findings && <Findings texts={sheet.findings} />}
        {checks && <Checks checks={checks} />}
        {runs.length > 1 && <RunChoice runs={runs} chosen={run} onChoose={(name) => go({ run: name })} />}
        {there.figures && (
          <section id="figures" class="columns" aria-label="Figures">
            {sheet.plots.map((plot, i) => {
              const Chart = plot.kind === "map" ? SheetMapFigure : SheetLineChart;
              return <Chart key={i} id={`figure-${i + 1}`} sheet={sheet} plot={plot} />;
            })}
          </section>
        )}
        {there.tables && <SheetTables sheet={sheet} tables={tables} />}
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

/// More of them are one click away.
const kMostFindings = 8;

function Findings({ texts }: { texts: string[] }) {
  const rest = texts.slice(kMostFindings);
  return (
    <section class="findings" id="findings" aria-labelledby="findings-title">
      <h2 id="findings-title">Findings</h2>
      <ol>
        {texts.slice(0, kMostFindings).map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ol>
      {rest.length > 0 && (
        <details>
          <summary>
            {integer(rest.length)} more {rest.length === 1 ? "finding" : "findings"}
          </summary>
          <ol start={kMostFindings + 1}>
            {rest.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ol>
        </details>
      )}
    </section>
  );
}

interface RunChoiceProps {
  runs: string[];
  /// "" for all
  chosen: string;
  onChoose: (run: string) => void;
}

/// Of all figures and tables.
function RunChoice({ runs, chosen, onChoose }: RunChoiceProps) {
  return (
    <div class="card toolbar run-choice">
      <label class="control">
        Show{" "}
        <select id="run" value={chosen} onChange={(event) => onChoose(event.currentTarget.value)}>
          <option value="">all {integer(runs.length)} runs</option>
          {runs.map((run) => (
            <option key={run} value={run}>
              {short(run, 60)}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

/// Settings that say nothing to a reader of the title, or that the page shows elsewhere.
const kQuietSettings = /^runs$|sha256$/;

function partsOf(sheet: Sheet, runs: string[]): string[] {
  const settings = Object.entries(sheet.settings);
  const told = (entries: [string, unknown][]) =>
    entries.map(([name, value]) => `${short(name)} ${brief(value)}`);
  if (!sheet.training) return told(settings);
  const flat = settings.flatMap(([name, value]): [string, unknown][] =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? Object.entries(value)
      : [[name, value]],
  );
  const count = `${integer(runs.length)} ${runs.length === 1 ? "run" : "runs"}`;
  return [count, ...told(flat.filter(([name]) => !kQuietSettings.test(name)))];
}

const kListEnds = 3;

/// A setting for the line under the title; the run facts have it in full.
function brief(value: unknown): string {
  if (Array.isArray(value) && value.length > 2 * kListEnds && value.every(isNumber))
    return `${fact(value.slice(0, kListEnds))} … ${fact(value[value.length - 1])} (${integer(value.length)} values)`;
  return short(fact(value));
}
