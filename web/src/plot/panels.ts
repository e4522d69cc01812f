import type { Palette } from "../ui/theme";
import { linesDrawing, type LinePlan } from "./lines";
import { kTextSize, type Drawing } from "./pen";

export interface Panel {
  label: string;
  plan: LinePlan;
}

const kTitleRoom = 26;
const kBetween = 14;

/// Panels below each other, for files.
export function panelsDrawing(panels: Panel[], palette: Palette, width: number): Drawing {
  const drawings = panels.map(({ plan }) => linesDrawing(plan, palette, width));
  const title = panels.length > 1 ? kTitleRoom : 0;
  const heights = drawings.map((drawing) => title + drawing.height);
  return {
    width,
    height: heights.reduce((sum, height) => sum + height + kBetween, -kBetween),
    draw(pen) {
      let top = 0;
      drawings.forEach((drawing, i) => {
        pen.moved(0, top, () => {
          if (title)
            pen.text(panels[i]!.label, 0, title / 2, { color: palette.text, size: kTextSize, weight: "bold" });
          pen.moved(0, title, () => drawing.draw(pen));
        });
        top += heights[i]! + kBetween;
      });
    },
  };
}
