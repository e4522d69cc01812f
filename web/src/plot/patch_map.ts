import type { Maybe } from "../data/document";
import type { PatchGrid } from "../data/page";
import { isNumber, magnitude } from "../ui/format";
import type { Palette } from "../ui/theme";
import { drawGridAxes, drawValueCell, gridGeometry, outline, type Cell, type GridDrawing } from "./grid";
import { drawColorBar, kColorBarHeight } from "./legend";
import { kTextSize, wrapText } from "./pen";
import { colorScale } from "./scale";

export type PatchScale = "linear" | "share" | "log";

export interface PatchPlan {
  grid: PatchGrid;
  /// one value per position: prefix tokens, then the patches row by row
  values: Maybe[];
  prefixNames: string[];
  /// a patch to outline
  marked: Cell | null;
  /// colours from 0 to the largest patch, from 0 to 1, or by powers of ten
  scale: PatchScale;
  palette: Palette;
}

const kMaxHeight = 620;
const kLine = 20;

export function patchValue(plan: PatchPlan, { row, column }: Cell): Maybe {
  return plan.values[plan.grid.prefix + row * plan.grid.columns + column] ?? null;
}

/// "CLS 0.412, register 0 0.010"
export function prefixText(plan: PatchPlan): string {
  return plan.prefixNames.map((name, i) => `${name} ${magnitude(plan.values[i])}`).join(", ");
}

/// One cell per patch, as the patches lie in the image. `printed`: with the prefix tokens as text.
export function patchMapDrawing(plan: PatchPlan, width: number, printed: boolean): GridDrawing {
  const { grid, palette } = plan;
  const geometry = gridGeometry({ ...grid, width, maxHeight: kMaxHeight, square: true });
  const legendTop = geometry.bottom + 12;
  const lines =
    printed && grid.prefix > 0 ? wrapText(`Before the patches: ${prefixText(plan)}`, width - 14) : [];
  return {
    geometry,
    width,
    height: legendTop + kColorBarHeight + lines.length * kLine,
    draw(pen) {
      drawGridAxes(pen, geometry, "row", "column", palette);
      const scale = colorScale(plan.scale, plan.values.slice(grid.prefix).filter(isNumber));
      for (let row = 0; row < grid.rows; ++row) {
        for (let column = 0; column < grid.columns; ++column) {
          const value = patchValue(plan, { row, column });
          const color = value === null ? null : scale.color(value);
          drawValueCell(pen, geometry.box({ row, column }), color, palette);
        }
      }
      if (plan.marked) outline(pen, geometry.box(plan.marked), 2, palette.text, palette.background);
      pen.moved(0, legendTop, () =>
        drawColorBar(pen, width, scale, "alpha of the patch (share of attention)", palette),
      );
      lines.forEach((line, i) =>
        pen.text(line, 14, legendTop + kColorBarHeight + (i + 0.5) * kLine, {
          color: palette.text,
          size: kTextSize,
        }),
      );
    },
  };
}
