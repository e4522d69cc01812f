import type { SheetCell, SheetTable } from "../data/document";
import { columnOf } from "../data/sheet";
import { short, significant } from "../ui/format";

/// Rows of a table that agree in some of its columns.
export interface RowGroup {
  key: string;
  /// the values of those columns
  cells: SheetCell[];
  label: string;
  rows: SheetCell[][];
}

/// In order of appearance; named by what differs between them.
export function groupsOf(table: SheetTable, names: string[]): RowGroup[] {
  const columns = names.map((name) => columnOf(table, name));
  const groups = new Map<string, RowGroup>();
  for (const row of table.rows) {
    const cells = columns.map((c) => row[c] ?? null);
    const key = JSON.stringify(cells);
    const known = groups.get(key);
    if (known) known.rows.push(row);
    else groups.set(key, { key, cells, label: "", rows: [row] });
  }
  const all = [...groups.values()];
  const places = names.map((_name, i) => i);
  const differ = places.filter((i) => new Set(all.map((group) => group.cells[i])).size > 1);
  for (const group of all) group.label = nameRow(names, group.cells, differ.length ? differ : places);
  return all;
}

/// "sink, T = 4" of these columns.
export function nameRow(names: string[], cells: SheetCell[], columns: number[]): string {
  return columns.map((i) => nameOf(names[i]!, cells[i] ?? null)).join(", ");
}

/// For a label: the begin of a text, or five digits.
export function cellName(cell: SheetCell): string {
  return typeof cell === "string" ? short(cell) : significant(cell);
}

/// A text speaks for itself, a number needs the name of its column.
function nameOf(column: string, cell: SheetCell): string {
  return typeof cell === "string" ? short(cell) : `${short(column)} = ${cellName(cell)}`;
}

const kMostChoices = 200;

/// The columns by which lines differ, with their (first) values.
export function choicesOf(groups: RowGroup[], names: string[]): { name: string; values: SheetCell[] }[] {
  return names
    .map((name, i) => {
      const values = [...new Set(groups.map((group) => group.cells[i] ?? null))];
      return { name, values: values.slice(0, kMostChoices) };
    })
    .filter(({ values }) => values.length > 1);
}
