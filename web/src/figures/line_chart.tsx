import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

import { drawable, type LinePlan, linesDrawing, tickRoom, yAxisOf } from "../plot/lines";
import { kFont, kTextSize } from "../plot/pen";
import { useReport } from "../ui/context";
import { magnitude, tick } from "../ui/format";
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
  };
  const [first, last] = [plan.x[0] ?? 0, plan.x[plan.x.length - 1] ?? 1];
  const pad = Math.max(0.5, (last - first) * 0.015);
  const dots = plan.x.length <= 100;
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
      x: { time: false, range: (_u, low, high) => [low - pad, high + pad] },
      y: { distr: plan.log ? 3 : 1, range: [axis.low, axis.high] },
    },
    axes: [
      {
        ...common,
        label: plan.xName,
        size: 32,
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000],
        values: (_u, ticks) => ticks.map((t) => tick(t)),
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
      { label: plan.xName, value: (_u, x) => (x === null ? "–" : (plan.xText?.(x) ?? tick(x))) },
      ...plan.series.map((series): uPlot.Series => {
        const color = palette.series[series.color] ?? palette.text;
        return {
          label: series.label,
          stroke: color,
          width: 2,
          dash: series.dash,
          spanGaps: false,
          points: { show: dots && !series.dash, size: 6, fill: color },
          value: (_u, value) => magnitude(value),
        };
      }),
    ],
  };
}

/// Lines over layers or positions; drag to zoom, double click to see all again.
export function LineChart({ id, title, definition, formula, plan, children }: LineChartProps) {
  const { palette } = useReport();
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
        header: [plan.xName, ...plan.series.map((s) => s.label)],
        rows: plan.x.map((x, i) => [x, ...plan.series.map((s) => s.values[i] ?? null)]),
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
