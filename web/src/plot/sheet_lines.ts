import type { SheetCell, SheetPlot, SheetTable } from "../data/document";
import { columnOf, kFitColumns, kindOf, type Sheet } from "../data/sheet";
import { isNumber, short, significant } from "../ui/format";
import { drawable, type LineFit, type LinePlan, type LineSeries, type LineValues } from "./lines";

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
  const differ = names.map((_n, i) => new Set(all.map((group) => group.cells[i])).size > 1);
  for (const group of all) {
    group.label = names
      .map((name, i) => nameOf(name, group.cells[i] ?? null))
      .filter((_text, i) => differ[i] || !differ.includes(true))
      .join(", ");
  }
  return all;
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

export interface SheetLines {
  plan: LinePlan;
  /// lines of the table, and how many of them are drawn
  lines: number;
  drawn: number;
  /// rows without a place in the chart: no data, or nothing that a log axis can show
  left: number;
}

/// More lines than colours times dashes could not be told apart.
const kDashes = [undefined, [8, 4], [2, 3], [8, 3, 2, 3]];
const kColors = 4;
const kMostLines = kColors * kDashes.length;

/// `keep` chooses the lines to draw.
export function sheetLines(sheet: Sheet, plot: SheetPlot, keep: (group: RowGroup) => boolean): SheetLines {
  const table = sheet.table(plot.table)!;
  const log = plot.kind === "log-log";
  const xColumn = columnOf(table, plot.x);
  const names =
    kindOf(table, plot.x) === "text"
      ? [...new Set(table.rows.map((row) => String(row[xColumn])))]
      : undefined;
  const places = new Map(names?.map((name, i) => [name, i]));
  const xOf = (row: SheetCell[]) => {
    const cell = row[xColumn];
    return names ? places.get(String(cell)) : drawable(isNumber(cell) ? cell : null, log);
  };
  const groups = groupsOf(table, plot.series);
  const chosen = groups.filter(keep);
  const shown = chosen.slice(0, kMostLines);
  const x = sharedX(shown.map((group) => group.rows.map(xOf).filter(isNumber)));
  const yName = withUnit(table, plot.y);
  let left = 0;
  const series = shown.map((group, i): LineSeries => {
    const valuesOf = (name: string) => spread(group.rows, x, xOf, columnOf(table, name));
    const values = valuesOf(plot.y);
    left += group.rows.length - values.filter((v) => isNumber(drawable(v, log))).length;
    const band = plot.lower && plot.upper;
    const fits = plot.fit ? fitsOf(sheet, plot, group) : [];
    const powers = fits.map((fit) => `${short(plot.x)}^${Number(fit.exponent.toPrecision(4))}`).join(", ");
    const label = group.label || short(yName);
    return {
      label: powers ? `${label} ∝ ${powers}` : label,
      values,
      ...(band ? { lower: valuesOf(plot.lower), upper: valuesOf(plot.upper) } : {}),
      fits,
      color: i % kColors,
      dash: kDashes[Math.floor(i / kColors)],
    };
  });
  return {
    plan: {
      x,
      xName: short(withUnit(table, plot.x)),
      yName: short(yName),
      xNames: names?.map((name) => short(name)),
      log,
      xLog: log,
      marks: true,
      format: significant,
      series,
    },
    lines: chosen.length,
    drawn: shown.length,
    left,
  };
}

/// Every x that a line has, as often as the line that has it most often.
function sharedX(lines: number[][]): number[] {
  const most = new Map<number, number>();
  for (const line of lines) {
    const counts = new Map<number, number>();
    for (const x of line) counts.set(x, (counts.get(x) ?? 0) + 1);
    for (const [x, count] of counts) most.set(x, Math.max(count, most.get(x) ?? 0));
  }
  return [...most].sort(([a], [b]) => a - b).flatMap(([x, count]) => new Array<number>(count).fill(x));
}

/// The values of a column along x; undefined where no row has that x.
function spread(
  rows: SheetCell[][],
  x: number[],
  xOf: (row: SheetCell[]) => number | null | undefined,
  column: number,
): LineValues {
  const byX = new Map<number, SheetCell[]>();
  for (const row of rows) {
    const at = xOf(row);
    if (!isNumber(at)) continue;
    const cells = byX.get(at);
    if (cells) cells.push(row[column] ?? null);
    else byX.set(at, [row[column] ?? null]);
  }
  let [last, repeat] = [NaN, 0];
  return x.map((at) => {
    repeat = at === last ? repeat + 1 : 0;
    last = at;
    const cell = byX.get(at)?.[repeat];
    return cell === undefined || isNumber(cell) ? cell : null;
  });
}

function fitsOf(sheet: Sheet, plot: SheetPlot, group: RowGroup): LineFit[] {
  const table = sheet.table(plot.fit)!;
  const own = groupsOf(table, plot.series).find((fit) => fit.key === group.key);
  return (own?.rows ?? []).flatMap((row): LineFit[] => {
    const [exponent, factor, from, to] = kFitColumns.map((name) => row[columnOf(table, name)]);
    const fits = isNumber(exponent) && isNumber(factor) && isNumber(from) && isNumber(to);
    if (!fits || !(from > 0) || !(to >= from) || !(factor > 0)) return [];
    const ends = [from, to].flatMap((x) => [x, factor * x ** exponent]);
    return ends.every((value) => isNumber(drawable(value, true))) ? [{ exponent, factor, from, to }] : [];
  });
}

/// "cost (nats)".
export function withUnit(table: SheetTable, name: string): string {
  const unit = table.columns[columnOf(table, name)]?.unit;
  return unit ? `${name} (${unit})` : name;
}
