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
  tickRoom,
  valueText,
  xAxisOf,
  yAxisOf,
} from "../plot/lines";
import { kFont, kTextSize, type Pen } from "../plot/pen";
import { useFrame } from "../ui/context";
import { tick } from "../ui/format";
import { useWidth } from "../ui/hooks";
import type { Palette } from "../ui/theme";
import { Figure } from "./figure";

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

function uplotOptions(plan: LinePlan, palette: Palette, width: number): uPlot.Options {
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
  const xTick = (x: number) => plan.xNames?.[x] ?? tick(x);
  const xTicks = (u: uPlot, low: number, high: number) =>
    xAxisOf(plan, low, high, Math.max(2, Math.floor(u.width / kTickRoom)))
      .ticks.map((t) => t.value)
      .filter((value) => value >= low && value <= high);
  return {
    width,
    height: kHeight,
    legend: {
      markers: {
        width: 3,
        stroke: (_u, i) => palette.series[plan.series[i - 1]?.color ?? 0] ?? palette.text,
        fill: () => "transparent",
        dash: (_u, i) =>
          plan.series[i - 1]?.dash ? (plan.series[i - 1]!.dash![0]! > 4 ? "dashed" : "dotted") : "solid",
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
        const color = palette.series[series.color] ?? palette.text;
        return {
          label: series.label,
          stroke: color,
          width: 2,
          dash: series.dash,
          spanGaps: false,
          points: { show: dots && (plan.marks || !series.dash), size: 6, fill: color },
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

/// Lines over layers, positions or any quantity; drag to zoom, double click to see all again.
export function LineChart({ id, title, definition, formula, plan, children }: LineChartProps) {
  const { palette } = useFrame();
  const [box, width] = useWidth<HTMLDivElement>();
  const chart = useRef<uPlot | null>(null);
  const shown = width > 0;

  useLayoutEffect(() => {
    if (!box.current || !shown) return;
    const data = [plan.x, ...plan.series.map((s) => plan.x.map((_x, i) => drawable(s.values[i], plan.log)))];
    const plot = new uPlot(
      uplotOptions(plan, palette, box.current.clientWidth),
      data as uPlot.AlignedData,
      box.current,
    );
    chart.current = plot;
    return () => {
      chart.current = null;
      plot.destroy();
    };
  }, [plan, palette, shown]);
  useLayoutEffect(() => {
    if (chart.current && width > 0 && chart.current.width !== width)
      chart.current.setSize({ width, height: kHeight });
  }, [width]);

  return (
    <Figure
      id={id}
      title={title}
      definition={definition}
      formula={formula}
      drawing={(w) => linesDrawing(plan, palette, w)}
      csv={() => ({
        header: [
          plan.xName,
          ...plan.series.flatMap(({ label, lower, upper }) => [
            label,
            ...(lower && upper ? [`${label} lower`, `${label} upper`] : []),
          ]),
        ],
        rows: plan.x.map((x, i) => [
          plan.xNames?.[x] ?? x,
          ...plan.series.flatMap(({ values, lower, upper }) => [
            values[i],
            ...(lower && upper ? [lower[i], upper[i]] : []),
          ]),
        ]),
      })}
    >
      {children}
      <div
        ref={box}
        class="chart"
        role="img"
        aria-label={`${title}: line chart, ${plan.series.map((s) => s.label).join(", ")}`}
      />
    </Figure>
  );
}
