import { useMemo, useState } from "preact/hooks";

import type { SheetCell, SheetTable } from "../data/document";
import { kChecksTable, kindOf, type Check, type Sheet } from "../data/sheet";
import { withUnit } from "../plot/sheet_lines";
import { integer, kDash, short, significant } from "../ui/format";
import { Table, type Column } from "../ui/table";
import { Definitions } from "./run_facts";

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
export function Checks({ checks }: { checks: Check[] }) {
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

/// What is recorded while training is long: it opens on demand. Other tables stand open.
export function SheetTables({ sheet, tables }: { sheet: Sheet; tables: SheetTable[] }) {
  return (
    <section id="tables" class="stack" aria-label="Tables">
      {tables.map((table, i) => {
        const id = `table-${i + 1}`;
        return sheet.isRecord(table) ? (
          <RecordView key={table.name} id={id} table={table} />
        ) : (
          <SheetTableView key={table.name} id={id} table={table} />
        );
      })}
    </section>
  );
}

/// Every table but that of the checks, records last.
export function tablesOf(sheet: Sheet): SheetTable[] {
  const tables = sheet.tables.filter((table) => table.name !== kChecksTable);
  const records = tables.filter((table) => sheet.isRecord(table));
  return [...tables.filter((table) => !records.includes(table)), ...records];
}

function RecordView({ id, table }: { id: string; table: SheetTable }) {
  const [opened, setOpened] = useState(false);
  return (
    <details class="card record" onToggle={(event) => setOpened(event.currentTarget.open)}>
      <summary>
        {table.title}: {integer(table.rows.length)} rows recorded while training
      </summary>
      {opened && <SheetTableView id={id} table={table} />}
    </details>
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
        show: (row) => cellView(row[i] ?? null),
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
/// A name of this length is not broken at its hyphens.
const kNameLength = 24;

function cellView(cell: SheetCell) {
  if (Array.isArray(cell)) return `${integer(cell.length)} ${cell.length === 1 ? "number" : "numbers"}`;
  if (typeof cell !== "string") return significant(cell);
  return cell.length <= kNameLength ? <span class="whole">{cell || kDash}</span> : short(cell, kMostText);
}
