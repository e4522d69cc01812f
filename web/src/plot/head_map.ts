import type { HeadRow } from "../data/document";
import { classInfo, kClasses } from "../data/classes";
import type { Metric } from "../data/metrics";
import type { Page } from "../data/page";
import { isNumber } from "../ui/format";
import type { HeadFilter } from "../ui/route";
import type { Palette } from "../ui/theme";
import { drawGridAxes, drawValueCell, gridGeometry, type GridDrawing, type GridGeometry } from "./grid";
import {
  classLegend,
  drawClassCell,
  drawColorBar,
  drawLetter,
  kColorBarHeight,
  letterLegend,
  lettersFit,
} from "./legend";
import type { Pen } from "./pen";
import { colorScale } from "./scale";

export function passes(row: HeadRow | undefined, filter: HeadFilter): boolean {
  if (filter === "all") return true;
  const name = classInfo(row?.class).name;
  return filter === "event" ? name !== "none" && name !== "too_short" : name === filter;
}

export interface MapPlan {
  page: Page;
  metric: Metric;
  filter: HeadFilter;
  palette: Palette;
  maxHeight: number;
}

const kEvents = kClasses.filter((info) => ["nop", "broadcast", "other"].includes(info.name));

/// Layers down, heads across.
export function headMapDrawing(plan: MapPlan, width: number): GridDrawing {
  const { page, metric, palette, maxHeight } = plan;
  const geometry = gridGeometry({ rows: page.layers, columns: page.heads, width, maxHeight, square: false });
  const letters = lettersFit(geometry.cellWidth - 1, geometry.cellHeight - 1);
  const legendTop = geometry.bottom + 12;
  const classes = kClasses.filter(
    (info) => info.name !== "too_short" || page.measured().some((row) => row.class === "too_short"),
  );
  const legend = (pen: Pen | null) =>
    metric.scale === "class"
      ? classLegend(pen, classes, palette, !letters, (info) => info.label)
      : letterLegend(pen, letters ? kEvents : [], palette);
  const barHeight = metric.scale === "class" ? 0 : kColorBarHeight;
  return {
    geometry,
    width,
    height: legendTop + barHeight + legend(null).height(width - 14),
    draw(pen) {
      drawGridAxes(pen, geometry, "layer", "head", palette);
      const scale =
        metric.scale === "class"
          ? null
          : colorScale(metric.scale, page.measured().map(metric.value).filter(isNumber));
      for (let layer = 0; layer < page.layers; ++layer) {
        for (let head = 0; head < page.heads; ++head) {
          drawCell(pen, plan, geometry, layer, head, scale?.color ?? null, letters);
        }
      }
      if (scale) pen.moved(0, legendTop, () => drawColorBar(pen, width, scale, metric.axis, palette));
      pen.moved(14, legendTop + barHeight, () => legend(pen).draw(width - 14));
    },
  };
}

function drawCell(
  pen: Pen,
  plan: MapPlan,
  geometry: GridGeometry,
  layer: number,
  head: number,
  color: ((value: number) => string) | null,
  letters: boolean,
): void {
  const { page, metric, palette } = plan;
  const box = geometry.box({ row: layer, column: head });
  const { x, y, width, height } = box;
  const row = page.head(layer, head);
  if (!row || !passes(row, plan.filter)) {
    const size = row ? Math.min(2, width, height) : 1;
    pen.rect(x + (width - size) / 2, y + (height - size) / 2, size, size, palette.muted);
    return;
  }
  if (!color) {
    drawClassCell(pen, x, y, width, height, row.class, palette);
    return;
  }
  const value = metric.value(row);
  const fill = value === null ? null : color(value);
  drawValueCell(pen, box, fill, palette);
  const letter = classInfo(row.class).letter;
  if (letters && letter && fill) drawLetter(pen, x, y, width, height, letter, fill);
}
