import type { SheetCell, SheetPlot, SheetTable } from "../data/document";
import { columnOf, kFitColumns, kindOf, type Sheet } from "../data/sheet";
import { integer, isNumber, short, significant } from "../ui/format";
import { kMostPanels, layOutLines, type LineLook } from "./line_layout";
import { drawable, type LineFit, type LinePlan, type LineSeries, type LineValues, yAxisOf } from "./lines";
import { groupsOf, type RowGroup } from "./row_groups";

export interface SheetLines {
  /// one, or several side by side with alike axes
  panels: { label: string; plan: LinePlan }[];
  /// lines of the table, and how many of them are drawn
  lines: number;
  drawn: number;
  /// rows without a place in the chart: no data, or nothing that a log axis can show
  left: number;
}

/// `keep` chooses the lines to draw.
export function sheetLines(sheet: Sheet, plot: SheetPlot, keep: (group: RowGroup) => boolean): SheetLines {
  const table = sheet.table(plot.table)!;
  const scale = xScale(table, plot);
  const chosen = groupsOf(table, plot.series).filter(keep);
  const looks = layOutLines(chosen, plot.series, sheet.arms());
  const shown = looks.slice(0, kMostPanels);
  const log = plot.kind === "log-log";
  const rows = shown.flatMap(({ lines }) => lines.map(({ group }) => group.rows));
  const x = sharedX(rows.map((own) => own.map(scale.at).filter(isNumber)));
  let [drawn, left] = [0, 0];
  const panels = shown.map(({ label, lines }) => {
    const series = lines.map((look) => seriesOf(sheet, plot, look, x, scale));
    lines.forEach(({ group }, i) => {
      left += group.rows.length - series[i]!.values.filter((v) => isNumber(drawable(v, log))).length;
    });
    drawn += lines.length;
    lines.forEach(({ alike, unlisted }, i) => {
      if (!alike || unlisted) return;
      series[i]!.bundle = alike.map((one) => series[lines.indexOf(one)]!);
      series[i]!.label += ` ×${integer(alike.length)}`;
    });
    const plan: LinePlan = {
      x,
      xName: short(withUnit(table, plot.x)),
      yName: short(withUnit(table, plot.y)),
      xNames: scale.names?.map((name) => short(name)),
      log,
      xLog: plot.kind !== "lines",
      zeroAt: scale.zeroAt,
      marks: plot.kind !== "log-x" || x.length <= kMostMarkedSteps,
      format: significant,
      series,
    };
    return { label, plan };
  });
  if (panels.length > 1) shareY(panels.map(({ plan }) => plan));
  return { panels, lines: chosen.length, drawn, left };
}

/// Steps of a training lie close; marks on each would hide the line.
const kMostMarkedSteps = 30;

interface XScale {
  at(row: SheetCell[]): number | null | undefined;
  names?: string[];
  zeroAt?: number;
}

function xScale(table: SheetTable, plot: SheetPlot): XScale {
  const column = columnOf(table, plot.x);
  if (kindOf(table, plot.x) === "text") {
    const names = [...new Set(table.rows.map((row) => String(row[column])))];
    const places = new Map(names.map((name, i) => [name, i]));
    return { at: (row) => places.get(String(row[column])), names };
  }
  const numberIn = (row: SheetCell[]) => {
    const cell = row[column];
    return isNumber(cell) ? cell : null;
  };
  if (plot.kind !== "log-x") return { at: (row) => drawable(numberIn(row), plot.kind === "log-log") };
  let least = Infinity;
  let zero = false;
  for (const row of table.rows) {
    const x = numberIn(row);
    if (isNumber(drawable(x, true))) least = Math.min(least, x!);
    else if (x !== null && x <= 0) zero = true;
  }
  const zeroAt = zero ? (least < Infinity ? least / 2 : 1) : undefined;
  const at = (row: SheetCell[]) => {
    const x = numberIn(row);
    return x !== null && x <= 0 ? zeroAt : drawable(x, true);
  };
  return { at, zeroAt };
}

function seriesOf(sheet: Sheet, plot: SheetPlot, look: LineLook, x: number[], scale: XScale): LineSeries {
  const table = sheet.table(plot.table)!;
  const { group } = look;
  const valuesOf = (name: string) => spread(group.rows, x, scale.at, columnOf(table, name));
  const band = plot.lower && plot.upper;
  const fits = plot.fit ? fitsOf(sheet, plot, group) : [];
  const powers = fits.map((fit) => `${short(plot.x)}^${Number(fit.exponent.toPrecision(4))}`).join(", ");
  const label = look.label || short(withUnit(table, plot.y));
  return {
    label: powers ? `${label} ∝ ${powers}` : label,
    values: valuesOf(plot.y),
    ...(band ? { lower: valuesOf(plot.lower), upper: valuesOf(plot.upper) } : {}),
    fits,
    color: look.color,
    ramp: look.ramp,
    dash: look.dash,
    thin: look.alike !== undefined,
    unlisted: look.unlisted,
  };
}

/// Panels are compared: their y axes are alike.
function shareY(plans: LinePlan[]): void {
  const ends = plans.flatMap((plan) => {
    const { low, high } = yAxisOf(plan);
    return [low, high];
  });
  for (const plan of plans) plan.include = ends;
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
