import type { HeadRow } from "../data/document";
import { classInfo, kClasses } from "../data/classes";
import type { Metric } from "../data/metrics";
import type { Page } from "../data/page";
import { isNumber } from "../ui/format";
import type { HeadFilter, HeadId } from "../ui/route";
import type { Palette } from "../ui/theme";
import {
  classLegend,
  drawClassCell,
  drawColorBar,
  drawLetter,
  kColorBarHeight,
  letterLegend,
  lettersFit,
} from "./legend";
import { textWidth, type Drawing, type Pen } from "./pen";
import { colorScale } from "./scale";

/// Where the cells of a layer x head map lie: layers down, heads across, in whole pixels where
/// there is room.
export interface MapGeometry {
  left: number;
  top: number;
  cellWidth: number;
  cellHeight: number;
  width: number;
  bottom: number;
  cell(layer: number, head: number): { x: number; y: number; width: number; height: number };
  headAt(x: number, y: number): HeadId | null;
}

const kTop = 44;
const kMaxCell = 44;

export function mapGeometry(layers: number, heads: number, width: number, maxHeight: number): MapGeometry {
  const left = 34 + textWidth(String(layers - 1));
  const whole = (size: number) => (size >= 3 ? Math.floor(size) : size);
  const cellWidth = whole(Math.min(kMaxCell, Math.max(1, (width - left - 2) / heads)));
  const cellHeight = whole(Math.min(30, Math.max(cellWidth, 18), Math.max(2, (maxHeight - kTop) / layers)));
  const gap = cellWidth >= 7 && cellHeight >= 7 ? 1 : 0;
  const edge = (origin: number, size: number, i: number) => Math.round(origin + i * size);
  return {
    left,
    top: kTop,
    cellWidth,
    cellHeight,
    width,
    bottom: edge(kTop, cellHeight, layers),
    cell(layer, head) {
      const [x, y] = [edge(left, cellWidth, head), edge(kTop, cellHeight, layer)];
      return {
        x,
        y,
        width: Math.max(1, edge(left, cellWidth, head + 1) - x - gap),
        height: Math.max(1, edge(kTop, cellHeight, layer + 1) - y - gap),
      };
    },
    headAt(x, y) {
      const [head, layer] = [Math.floor((x - left) / cellWidth), Math.floor((y - kTop) / cellHeight)];
      return layer >= 0 && head >= 0 && layer < layers && head < heads ? { layer, head } : null;
    },
  };
}

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

export function headMapDrawing(plan: MapPlan, width: number): Drawing & { geometry: MapGeometry } {
  const { page, metric, palette } = plan;
  const geometry = mapGeometry(page.layers, page.heads, width, plan.maxHeight);
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
      drawAxes(pen, plan, geometry);
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
  geometry: MapGeometry,
  layer: number,
  head: number,
  color: ((value: number) => string) | null,
  letters: boolean,
): void {
  const { page, metric, palette } = plan;
  const { x, y, width, height } = geometry.cell(layer, head);
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
  if (value === null) {
    pen.rect(x, y, width, height, palette.classes.none);
    const dash = Math.min(6, width * 0.6);
    pen.rect(x + (width - dash) / 2, y + height / 2 - 0.5, dash, 1, palette.muted);
    return;
  }
  const fill = color(value);
  pen.rect(x, y, width, height, fill);
  const letter = classInfo(row.class).letter;
  if (letters && letter) drawLetter(pen, x, y, width, height, letter, fill);
}

/// Every how many cells a label fits.
function stride(count: number, cell: number, label: number): number {
  for (const step of [1, 2, 5, 10, 20, 50, 100, 200, 500])
    if (step * cell >= label || step >= count) return step;
  return 1000;
}

function drawAxes(pen: Pen, plan: MapPlan, geometry: MapGeometry): void {
  const { page, palette } = plan;
  const { left, top, cellWidth, cellHeight, bottom } = geometry;
  const mapWidth = cellWidth * page.heads;
  pen.text("head", left + mapWidth / 2, 10, { color: palette.text, align: "center" });
  pen.text("layer", 9, Math.max(top + 20, (top + bottom) / 2), {
    color: palette.text,
    align: "center",
    upright: true,
  });
  const across = stride(page.heads, cellWidth, textWidth(String(page.heads - 1)) + 8);
  for (let head = 0; head < page.heads; head += across) {
    pen.text(String(head), left + (head + 0.5) * cellWidth, top - 12, {
      color: palette.muted,
      align: "center",
    });
  }
  const down = stride(page.layers, cellHeight, 17);
  for (let layer = 0; layer < page.layers; layer += down) {
    pen.text(String(layer), left - 7, top + (layer + 0.5) * cellHeight, {
      color: palette.muted,
      align: "right",
    });
  }
}
