import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

import { CanvasPen } from "../plot/canvas_pen";
import {
  drawable,
  drawBands,
  drawFits,
  kMostMarks,
  type LinePlan,
  linesDrawing,
  type Place,
  strokeOf,
  tickRoom,
  valueText,
  xAxisOf,
  xValue,
  yAxisOf,
} from "../plot/lines";
import { kFont, kTextSize, type Pen, type Stroke } from "../plot/pen";
import { useFrame } from "../ui/context";
import { tick } from "../ui/format";
import { useWidth } from "../ui/hooks";
import type { Palette } from "../ui/theme";
import { Figure, type Csv } from "./figure";

interface LineChartProps {
  id: string;
  title: string;
  definition: string;
  formula?: string;
  /// Must keep its identity while nothing changes.
  plan: LinePlan;
  /// controls above the chart
  children?: ComponentChildren;
}

const kHeight = 320;
/// pixels from one tick of the x axis to the next
const kTickRoom = 70;

function uplotOptions(plan: LinePlan, palette: Palette, width: number, height: number): uPlot.Options {
  const font = `${kTextSize}px ${kFont}`;
  const axis = yAxisOf(plan);
  const common: uPlot.Axis = {
    font,
    labelFont: font,
    stroke: palette.muted,
    labelSize: 22,
    grid: { stroke: palette.grid, width: 1 },
    ticks: { stroke: palette.grid, width: 1 },
    filter: (_u, ticks) => ticks, // uPlot's own would leave out ticks of a log axis
  };
  const dots = plan.x.length <= kMostMarks;
  const xTick = (x: number) => {
    const value = xValue(plan, x);
    return typeof value === "number" ? tick(value) : value;
  };
  const xTicks = (u: uPlot, low: number, high: number) =>
    xAxisOf(plan, low, high, Math.max(2, Math.floor(u.width / kTickRoom)))
      .ticks.map((t) => t.value)
      .filter((value) => value >= low && value <= high);
  return {
    width,
    height,
    legend: {
      markers: {
        width: 0,
        fill: (_u, i) => {
          const series = plan.series[i - 1];
          return series ? dashedFill(strokeOf(series, palette)) : "transparent";
        },
      },
    },
    cursor: { drag: { x: true, y: false } },
    scales: {
      x: { time: false, distr: plan.xLog ? 3 : 1, range: (_u, low, high) => padded(plan, low, high) },
      y: { distr: plan.log ? 3 : 1, range: [axis.low, axis.high] },
    },
    axes: [
      {
        ...common,
        label: plan.xName,
        size: 32,
        splits: (u, _axis, low, high) => xTicks(u, low, high),
        values: (_u, ticks) => ticks.map(xTick),
      },
      {
        ...common,
        label: plan.yName,
        size: 18 + tickRoom(axis.ticks.map((t) => t.text)),
        splits: () => axis.ticks.map((t) => t.value),
        values: (_u, ticks) => ticks.map((t) => tick(t)),
      },
    ],
    series: [
      { label: plan.xName, value: (_u, x) => (x === null ? "–" : (plan.xText?.(x) ?? xTick(x))) },
      ...plan.series.map((series): uPlot.Series => {
        const { color, width, dash } = strokeOf(series, palette);
        return {
          label: series.label,
          ...(series.unlisted ? { class: "unlisted" } : {}),
          stroke: color,
          width,
          dash,
          spanGaps: false,
          points: { show: dots && (plan.marks ?? !dash), size: 6, fill: color },
          value: (_u, _value, _series, i) => (i === null ? "–" : valueText(plan, series, i)),
        };
      }),
    ],
    hooks: {
      drawAxes: [(u) => drawInside(u, (pen, place) => drawBands(pen, plan, place, palette))],
      draw: [(u) => drawInside(u, (pen, place) => drawFits(pen, plan, place, palette))],
    },
  };
}

/// A stroke as a background, for its mark in the legend: borders have no dashes of a given length.
function dashedFill({ color, dash }: Stroke): string {
  let at = 0;
  const stops = (dash ?? []).map((length, i) => {
    const from = at;
    at += length;
    return `${i % 2 ? "transparent" : color} ${from}px ${at}px`;
  });
  return stops.length ? `repeating-linear-gradient(90deg, ${stops.join(", ")})` : color;
}

/// Room beyond the first and the last value, for their marks.
function padded({ x, xNames, xLog }: LinePlan, low: number, high: number): [number, number] {
  if (xLog) return [low / 1.08, high * 1.08];
  const whole = xNames || x.every(Number.isInteger);
  const pad = Math.max(whole || high === low ? 0.5 : 0, (high - low) * 0.015);
  return [low - pad, high + pad];
}

/// Draws in CSS pixels, cut off at the border of the plot.
function drawInside(u: uPlot, draw: (pen: Pen, place: Place) => void): void {
  const { ctx, bbox } = u;
  const ratio = uPlot.pxRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.scale(ratio, ratio);
  draw(new CanvasPen(ctx), {
    x: (value) => u.valToPos(value, "x", true) / ratio,
    y: (value) => u.valToPos(value, "y", true) / ratio,
    shown: (series) => u.series[series + 1]?.show !== false,
  });
  ctx.restore();
}

interface LineBoxProps {
  plan: LinePlan;
  /// for those who cannot see it
  label: string;
  height?: number;
}

/// The picture of a plan with its legend; drag to zoom, double click to see all again.
export function LineBox({ plan, label, height = kHeight }: LineBoxProps) {
  const { palette } = useFrame();
  const [box, width] = useWidth<HTMLDivElement>();
  const chart = useRef<uPlot | null>(null);
  const shown = width > 0;

  useLayoutEffect(() => {
    if (!box.current || !shown) return;
    const data = [plan.x, ...plan.series.map((s) => plan.x.map((_x, i) => drawable(s.values[i], plan.log)))];
    const plot = new uPlot(
      uplotOptions(plan, palette, box.current.clientWidth, height),
      data as uPlot.AlignedData,
      box.current,
    );
    // Hundreds of rows that nobody sees would only make the page slow.
    for (const row of plot.root.querySelectorAll(".u-legend .unlisted")) row.remove();
    chart.current = plot;
    return () => {
      chart.current = null;
      plot.destroy();
    };
  }, [plan, palette, height, shown]);
  useLayoutEffect(() => {
    if (chart.current && width > 0 && chart.current.width !== width) chart.current.setSize({ width, height });
  }, [width, height]);
  const lines = plan.series.filter((series) => !series.unlisted).map((series) => series.label);
  return <div ref={box} class="chart" role="img" aria-label={`${label}: line chart, ${lines.join(", ")}`} />;
}

/// A column per line and bound.
export function lineCsv(plan: LinePlan): Csv {
  return {
    header: [
      plan.xName,
      ...plan.series.flatMap(({ label, lower, upper }) => [
        label,
        ...(lower && upper ? [`${label} lower`, `${label} upper`] : []),
      ]),
    ],
    rows: plan.x.map((x, i) => [
      xValue(plan, x),
      ...plan.series.flatMap(({ values, lower, upper }) => [
        values[i],
        ...(lower && upper ? [lower[i], upper[i]] : []),
      ]),
    ]),
  };
}

/// Lines over layers, positions or any quantity.
export function LineChart({ id, title, definition, formula, plan, children }: LineChartProps) {
  const { palette } = useFrame();
  return (
    <Figure
      id={id}
      title={title}
      definition={definition}
      formula={formula}
      drawing={(width) => linesDrawing(plan, palette, width)}
      csv={() => lineCsv(plan)}
    >
      {children}
      <LineBox plan={plan} label={title} />
    </Figure>
  );
}
