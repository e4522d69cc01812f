import type { Maybe } from "../data/document";
import { isNumber, magnitude } from "../ui/format";
import type { Palette } from "../ui/theme";
import { drawFrame, makeFrame } from "./axes";
import { blend } from "./color";
import { kLegendRow } from "./legend";
import { textWidth, type Drawing, type Pen, type Stroke } from "./pen";
import { linearAxis, logAxis, nameAxis, rampColor, type Axis } from "./scale";

/// One entry per x. null: no data, a gap; undefined: nothing was asked here, the line goes on.
export type LineValues = (Maybe | undefined)[];

/// The line factor x^exponent over [from, to], where both axes are logarithmic.
export interface LineFit {
  factor: number;
  exponent: number;
  from: number;
  to: number;
}

export interface LineSeries {
  label: string;
  values: LineValues;
  /// a band around the values
  lower?: LineValues;
  upper?: LineValues;
  fits?: LineFit[];
  /// place in the palette's series colours
  color: number;
  /// place in a ramp of colours instead, from 0 to 1
  ramp?: number;
  dash?: number[];
  /// one of many alike: a thin line
  thin?: boolean;
  /// the legend leaves it out
  unlisted?: boolean;
  /// the lines that it stands for in the legend, itself among them: their range is shown
  bundle?: LineSeries[];
}

export interface LinePlan {
  /// ascending; a value may stand there several times
  x: number[];
  xName: string;
  yName: string;
  /// name of an x for the reader, where it is not its number
  xText?: (x: number) => string;
  /// names of the x 0, 1, .., shown on the axis instead of numbers
  xNames?: string[];
  log: boolean;
  xLog?: boolean;
  /// where a logarithmic x axis shows what lies at 0
  zeroAt?: number;
  /// a mark on each value: the lines only join what was measured; absent: on lines without dashes
  marks?: boolean;
  /// values that the y axis must show
  include?: number[];
  format?: (value: unknown) => string;
  series: LineSeries[];
}

/// Larger sizes, and on a log axis smaller ones, have no axis: its powers of ten would overflow.
const kMostDrawable = 1e100;

/// What can be drawn: on a log axis zero and less are no data.
export function drawable(value: Maybe | undefined, log: boolean): Maybe | undefined {
  if (value === undefined) return undefined;
  if (!isNumber(value) || Math.abs(value) > kMostDrawable) return null;
  return !log || value > 1 / kMostDrawable ? value : null;
}

/// The x axis of the plan from `low` to `high`, with about `count` ticks. A log axis may begin and
/// end beyond both.
export function xAxisOf(plan: LinePlan, low: number, high: number, count: number): Axis {
  if (plan.xNames) return nameAxis(plan.xNames);
  if (plan.xLog) return withZero(logAxis([low, high]), plan.zeroAt);
  const axis = linearAxis(low, high, count);
  const whole = plan.x.every(Number.isInteger);
  return whole ? { ...axis, ticks: axis.ticks.filter((t) => Number.isInteger(t.value)) } : axis;
}

/// Between the place of 0 and the smallest positive value the axis has no numbers.
function withZero(axis: Axis, zeroAt: number | undefined): Axis {
  if (zeroAt === undefined) return axis;
  const ticks = axis.ticks.filter((tick) => tick.value > zeroAt * 1.5);
  return { ...axis, ticks: [{ value: zeroAt, text: "0" }, ...ticks] };
}

/// An x as the reader knows it.
export function xValue(plan: LinePlan, x: number): string | number {
  return plan.xNames?.[x] ?? (x === plan.zeroAt ? 0 : x);
}

export function yAxisOf(plan: LinePlan): Axis {
  const values = plan.series
    .flatMap(({ values, lower = [], upper = [], fits = [] }) => [
      ...values,
      ...lower,
      ...upper,
      ...fits.flatMap((fit) => [fit.from, fit.to].map((x) => fitted(fit, x))),
    ])
    .map((v) => drawable(v, plan.log))
    .filter(isNumber);
  if (plan.log) return logAxis(values, plan.include);
  const all = [...values, ...(plan.include ?? [])];
  const ticks = linearAxis(
    all.reduce((a, b) => Math.min(a, b), 0),
    all.reduce((a, b) => Math.max(a, b), 0),
  ).ticks;
  const step = ticks.length > 1 ? ticks[1]!.value - ticks[0]!.value : 1;
  const low = Math.floor(all.reduce((a, b) => Math.min(a, b), 0) / step + 1e-9) * step;
  const high = Math.ceil(all.reduce((a, b) => Math.max(a, b), 0) / step - 1e-9) * step;
  return linearAxis(low, high);
}

function fitted({ factor, exponent }: LineFit, x: number): number {
  return factor * x ** exponent;
}

/// The value at a place of a series, with its band.
export function valueText(plan: LinePlan, series: LineSeries, i: number): string {
  const format = plan.format ?? magnitude;
  if (series.bundle) {
    const values = series.bundle.map((one) => one.values[i]).filter(isNumber);
    if (!values.length) return format(undefined);
    const [low, high] = [Math.min(...values), Math.max(...values)].map(format);
    return low === high ? low! : `${low} to ${high}`;
  }
  const [value, lower, upper] = [series.values[i], series.lower?.[i], series.upper?.[i]];
  const band = isNumber(lower) || isNumber(upper) ? ` (${format(lower)} to ${format(upper)})` : "";
  return `${format(value)}${band}`;
}

/// The chart as a still picture, for files; on screen uPlot draws the same plan.
export function linesDrawing(plan: LinePlan, palette: Palette, width: number): Drawing {
  const plotHeight = Math.round(Math.min(420, width * 0.5));
  const [first, last] = [plan.x[0] ?? 0, plan.x[plan.x.length - 1] ?? 1];
  const xAxis = xAxisOf(plan, first, last, Math.min(10, Math.max(1, plan.x.length - 1)));
  const yAxis = yAxisOf(plan);
  const frame = makeFrame(width, plotHeight, xAxis, yAxis, 8);
  return {
    width,
    height: plotHeight + kLegendRow * plan.series.filter((series) => !series.unlisted).length,
    draw(pen) {
      drawFrame(pen, frame, xAxis, yAxis, plan.xName, plan.yName, palette);
      const place: Place = { x: frame.x, y: frame.y, shown: () => true };
      drawBands(pen, plan, place, palette);
      let row = 0;
      for (const series of plan.series) {
        const stroke = strokeOf(series, palette);
        for (const run of runs(plan, [series.values])) {
          const points = run.map((k) => [frame.x(plan.x[k]!), frame.y(series.values[k]!)] as const);
          if (points.length > 1) pen.line(points, stroke);
          if (points.length === 1 || (plan.marks && plan.x.length <= kMostMarks))
            for (const [x, y] of points) pen.circle(x, y, 2.5, stroke.color);
        }
        if (series.unlisted) continue;
        legendRow(pen, plotHeight + (row++ + 0.5) * kLegendRow, frame.left, series.label, stroke, palette);
      }
      drawFits(pen, plan, place, palette);
    },
  };
}

export const kMostMarks = 100;

/// Where values lie in pixels, and which series are shown.
export interface Place {
  x(value: number): number;
  y(value: number): number;
  shown(series: number): boolean;
}

/// Bands first: lines go over them.
export function drawBands(pen: Pen, plan: LinePlan, place: Place, palette: Palette): void {
  plan.series.forEach((series, i) => {
    const { lower, upper } = series;
    if (!lower || !upper || !place.shown(i)) return;
    const { color } = strokeOf(series, palette);
    for (const run of runs(plan, [lower, upper])) {
      const edge = (values: LineValues) =>
        run.map((k) => [place.x(plan.x[k]!), place.y(values[k]!)] as const);
      const [low, high] = [edge(lower), edge(upper)];
      pen.polygon([...low, ...high.reverse()], blend(color, palette.background, 0.22));
      for (const line of [low, high])
        pen.line(line, { color: blend(color, palette.background, 0.55), width: 1 });
    }
  });
}

export function drawFits(pen: Pen, plan: LinePlan, place: Place, palette: Palette): void {
  plan.series.forEach((series, i) => {
    if (!place.shown(i)) return;
    for (const fit of series.fits ?? []) {
      const ends = [fit.from, fit.to].map((x) => [place.x(x), place.y(fitted(fit, x))] as const);
      pen.line(ends, { color: palette.text, width: 1.5, dash: [7, 4] });
    }
  });
}

export function strokeOf(series: LineSeries, palette: Palette): Stroke {
  const color =
    series.ramp === undefined
      ? (palette.series[series.color] ?? palette.text)
      : rampColor(series.ramp, palette.dark);
  return { color, width: series.thin ? 1 : 2, dash: series.dash };
}

function legendRow(pen: Pen, y: number, x: number, label: string, stroke: Stroke, palette: Palette): void {
  pen.line(
    [
      [x, y],
      [x + 28, y],
    ],
    stroke,
  );
  pen.text(label, x + 36, y, { color: palette.text });
}

/// Stretches without gaps in any of the lists: places in x.
function runs(plan: LinePlan, lists: LineValues[]): number[][] {
  const all: number[][] = [];
  let open: number[] | null = null;
  plan.x.forEach((_x, i) => {
    const values = lists.map((list) => drawable(list[i], plan.log));
    if (values.includes(null)) open = null;
    if (!values.every(isNumber)) return;
    if (!open) all.push((open = []));
    open.push(i);
  });
  return all;
}

/// Room that the longest tick text of an axis needs.
export function tickRoom(texts: string[]): number {
  return texts.reduce((room, text) => Math.max(room, textWidth(text)), 0);
}
