import type { Palette } from "../ui/theme";
import { textWidth, type Pen } from "./pen";
import type { Axis } from "./scale";

/// A plot area with a frame, grid, ticks and axis names. `x` and `y` map values to pixels; `pad`
/// keeps marks on the border of the domain off the frame.
export interface Frame {
  left: number;
  top: number;
  right: number;
  bottom: number;
  x(value: number): number;
  y(value: number): number;
}

export function makeFrame(width: number, height: number, xAxis: Axis, yAxis: Axis, pad: number): Frame {
  const left = 36 + Math.max(...yAxis.ticks.map((t) => textWidth(t.text)), 10);
  const [top, right, bottom] = [10, width - 14, height - 50];
  return {
    left,
    top,
    right,
    bottom,
    x: (value) => left + pad + xAxis.place(value) * (right - left - 2 * pad),
    y: (value) => bottom - pad - yAxis.place(value) * (bottom - top - 2 * pad),
  };
}

export function drawFrame(
  pen: Pen,
  frame: Frame,
  xAxis: Axis,
  yAxis: Axis,
  xName: string,
  yName: string,
  palette: Palette,
): void {
  const { left, top, right, bottom } = frame;
  let last = -Infinity;
  for (const { value, text } of xAxis.ticks) {
    const x = Math.round(frame.x(value)) + 0.5;
    const half = textWidth(text) / 2;
    pen.line(
      [
        [x, top],
        [x, bottom],
      ],
      { color: palette.grid },
    );
    if (x - half < last + 8) continue;
    pen.text(text, x, bottom + 13, { color: palette.muted, align: "center" });
    last = x + half;
  }
  for (const { value, text } of yAxis.ticks) {
    const y = Math.round(frame.y(value)) + 0.5;
    pen.line(
      [
        [left, y],
        [right, y],
      ],
      { color: palette.grid },
    );
    pen.text(text, left - 7, y, { color: palette.muted, align: "right" });
  }
  pen.rect(left + 0.5, top + 0.5, right - left - 1, bottom - top - 1, null, { color: palette.muted });
  pen.text(xName, (left + right) / 2, bottom + 36, { color: palette.text, align: "center" });
  pen.text(yName, 10, (top + bottom) / 2, { color: palette.text, align: "center", upright: true });
}
