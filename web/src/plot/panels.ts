import type { Palette } from "../ui/theme";
import { linesDrawing, type LinePlan } from "./lines";
import { kTextSize, type Drawing } from "./pen";

export interface Panel {
  label: string;
  plan: LinePlan;
}

const kTitleRoom = 26;
const kBetween = 14;

/// Panels two by two, for files; one alone has the whole width and no title of its own.
export function panelsDrawing(panels: Panel[], palette: Palette, width: number): Drawing {
  if (panels.length === 1) return linesDrawing(panels[0]!.plan, palette, width);
  const own = Math.floor((width - kBetween) / 2);
  const drawings = panels.map(({ plan }) => linesDrawing(plan, palette, own));
  const row = kTitleRoom + drawings.reduce((most, { height }) => Math.max(most, height), 0) + kBetween;
  return {
    width,
    height: Math.ceil(panels.length / 2) * row - kBetween,
    draw(pen) {
      drawings.forEach((drawing, i) => {
        pen.moved((i % 2) * (own + kBetween), Math.floor(i / 2) * row, () => {
          const style = { color: palette.text, size: kTextSize, weight: "bold" } as const;
          pen.text(panels[i]!.label, 0, kTitleRoom / 2, style);
          pen.moved(0, kTitleRoom, () => drawing.draw(pen));
        });
      });
    },
  };
}
