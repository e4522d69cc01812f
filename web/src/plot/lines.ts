import type { Maybe } from "../data/document";
import { isNumber } from "../ui/format";
import type { Palette } from "../ui/theme";
import { drawFrame, makeFrame } from "./axes";
import { kLegendRow } from "./legend";
import { textWidth, type Drawing, type Pen } from "./pen";
import { linearAxis, logAxis, type Axis } from "./scale";

export interface LineSeries {
  label: string;
  values: Maybe[];
  /// place in the palette's series colours
  color: number;
  dash?: number[];
}

export interface LinePlan {
  x: number[];
  xName: string;
  yName: string;
  /// name of an x for the reader, where it is not its number
  xText?: (x: number) => string;
  log: boolean;
  /// values that the y axis must show
  include?: number[];
  series: LineSeries[];
}

/// What can be drawn: on a log axis zero and less are no data.
export function drawable(value: Maybe | undefined, log: boolean): Maybe {
  return isNumber(value) && (!log || value > 0) ? value : null;
}

export function yAxisOf(plan: LinePlan): Axis {
  const values = plan.series.flatMap((s) => s.values.map((v) => drawable(v, plan.log)).filter(isNumber));
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

/// The chart as a still picture, for files; on screen uPlot draws the same plan.
export function linesDrawing(plan: LinePlan, palette: Palette, width: number): Drawing {
  const plotHeight = Math.round(Math.min(420, width * 0.5));
  const xAxis = linearAxis(
    plan.x[0] ?? 0,
    plan.x[plan.x.length - 1] ?? 1,
    Math.min(10, Math.max(1, plan.x.length - 1)),
  );
  const yAxis = yAxisOf(plan);
  const frame = makeFrame(width, plotHeight, xAxis, yAxis, 8);
  return {
    width,
    height: plotHeight + kLegendRow * plan.series.length,
    draw(pen) {
      drawFrame(pen, frame, xAxis, yAxis, plan.xName, plan.yName, palette);
      plan.series.forEach((series, i) => {
        const stroke = { color: palette.series[series.color] ?? palette.text, width: 2, dash: series.dash };
        for (const run of runs(plan, series)) {
          const points = run.map(([x, y]) => [frame.x(x), frame.y(y)] as const);
          if (points.length > 1) pen.line(points, stroke);
          else pen.circle(points[0]![0], points[0]![1], 2.5, stroke.color);
        }
        legendRow(pen, plotHeight + (i + 0.5) * kLegendRow, frame.left, series.label, stroke, palette);
      });
    },
  };
}

function legendRow(
  pen: Pen,
  y: number,
  x: number,
  label: string,
  stroke: { color: string; width: number; dash?: number[] },
  palette: Palette,
): void {
  pen.line(
    [
      [x, y],
      [x + 28, y],
    ],
    stroke,
  );
  pen.text(label, x + 36, y, { color: palette.text });
}

/// Stretches without gaps.
function runs(plan: LinePlan, series: LineSeries): [number, number][][] {
  const all: [number, number][][] = [];
  let open: [number, number][] | null = null;
  plan.x.forEach((x, i) => {
    const value = drawable(series.values[i], plan.log);
    if (value === null) {
      open = null;
      return;
    }
    if (!open) all.push((open = []));
    open.push([x, value]);
  });
  return all;
}

/// Room that the longest tick text of an axis needs.
export function tickRoom(texts: string[]): number {
  return texts.reduce((room, text) => Math.max(room, textWidth(text)), 0);
}
