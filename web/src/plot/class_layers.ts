import type { ClassName } from "../data/document";
import { classInfo, kClasses } from "../data/classes";
import type { Page } from "../data/page";
import { integer } from "../ui/format";
import type { Palette } from "../ui/theme";
import { drawFrame, makeFrame } from "./axes";
import { classLegend, drawLetter, kLegendRow, lettersFit } from "./legend";
import type { Drawing, Pen } from "./pen";
import { linearAxis } from "./scale";

const kStack: ClassName[] = ["nop", "broadcast", "other", "too_short"];

/// Heads of each class: [layer][class].
export function classCounts(page: Page): Record<ClassName, number>[] {
  const counts = Array.from({ length: page.layers }, () => ({
    none: 0,
    nop: 0,
    broadcast: 0,
    other: 0,
    too_short: 0,
  }));
  for (const row of page.measured()) counts[row.layer]![classInfo(row.class).name] += 1;
  return counts;
}

export function classLayersDrawing(page: Page, palette: Palette, width: number): Drawing {
  const counts = classCounts(page);
  const total = (name: ClassName) => counts.reduce((sum, layer) => sum + layer[name], 0);
  const shown = kClasses.filter(
    (info) => kStack.includes(info.name) && (info.name !== "too_short" || total(info.name) > 0),
  );
  const plotHeight = 280;
  const xAxis = linearAxis(-0.5, page.layers - 0.5, Math.min(10, page.layers));
  const yAxis = linearAxis(0, page.heads, Math.min(6, page.heads));
  const whole = { ...xAxis, ticks: xAxis.ticks.filter((t) => Number.isInteger(t.value)) };
  const frame = makeFrame(width, plotHeight, whole, yAxis, 0);
  const legend = (pen: Pen | null) =>
    classLegend(pen, shown, palette, false, (info) => `${info.label}: ${integer(total(info.name))}`);
  return {
    width,
    height: plotHeight + Math.max(kLegendRow, legend(null).height(width - 8)),
    draw(pen) {
      drawFrame(
        pen,
        frame,
        whole,
        { ...yAxis, ticks: yAxis.ticks.filter((t) => Number.isInteger(t.value)) },
        "layer",
        "heads with a sink event",
        palette,
      );
      counts.forEach((layer, i) => {
        const gap = (frame.right - frame.left) / page.layers >= 6 ? 1 : 0;
        const [x0, x1] = [Math.round(frame.x(i - 0.5)) + gap, Math.round(frame.x(i + 0.5)) - gap];
        let below = 0;
        for (const name of kStack) {
          if (!layer[name]) continue;
          const [y0, y1] = [Math.round(frame.y(below + layer[name])), Math.round(frame.y(below))];
          pen.rect(x0, y0, x1 - x0, y1 - y0, palette.classes[name], { color: palette.background });
          if (lettersFit(x1 - x0, y1 - y0))
            drawLetter(pen, x0, y0, x1 - x0, y1 - y0, classInfo(name).letter, palette.classes[name]);
          below += layer[name];
        }
      });
      pen.moved(8, plotHeight, () => legend(pen).draw(width - 8));
    },
  };
}
