import type { ClassInfo } from "../data/classes";
import { classInfo } from "../data/classes";
import type { Palette } from "../ui/theme";
import { inkOn } from "./color";
import { kTextSize, textWidth, type Pen } from "./pen";
import type { ColorScale } from "./scale";

export const kLegendRow = 24;
export const kChip = 18;
const kLetterMin = 16;

/// One cell of a class: colour with a letter where it fits, a shape where it does not.
export function drawClassCell(
  pen: Pen,
  x: number,
  y: number,
  width: number,
  height: number,
  name: string | null | undefined,
  palette: Palette,
): void {
  const info = classInfo(name);
  const color = palette.classes[info.name];
  if (width >= kLetterMin && height >= kLetterMin) {
    pen.rect(x, y, width, height, color);
    if (info.letter) drawLetter(pen, x, y, width, height, info.letter, color);
    return;
  }
  pen.rect(x, y, width, height, palette.classes.none);
  switch (info.name) {
    case "none":
      return;
    case "nop":
      return pen.rect(x, y, width, height, color);
    case "broadcast":
      return pen.polygon(
        [
          [x, y],
          [x, y + height],
          [x + width, y + height],
        ],
        color,
      );
    case "other":
      return pen.rect(x + width * 0.25, y + height * 0.25, width * 0.5, height * 0.5, color);
    case "too_short":
      return pen.rect(x, y + height * 0.4, width, Math.max(1, height * 0.2), color);
  }
}

export function lettersFit(width: number, height: number): boolean {
  return width >= kLetterMin && height >= kLetterMin;
}

export function drawLetter(
  pen: Pen,
  x: number,
  y: number,
  width: number,
  height: number,
  letter: string,
  background: string,
): void {
  pen.text(letter, x + width / 2, y + height / 2 + 0.5, {
    color: inkOn(background),
    size: kTextSize,
    weight: "bold",
    align: "center",
  });
}

interface Item {
  width: number;
  draw(x: number, y: number): void;
}

/// Places items in rows of at most `width`; returns the height used.
function flow(items: Item[], width: number, place: boolean): number {
  let [x, row] = [0, 0];
  for (const item of items) {
    if (x > 0 && x + item.width > width) [x, row] = [0, row + 1];
    if (place) item.draw(x, row * kLegendRow + kLegendRow / 2);
    x += item.width;
  }
  return items.length ? (row + 1) * kLegendRow : 0;
}

export interface LegendPart {
  height(width: number): number;
  draw(width: number): void;
}

function part(pen: Pen | null, items: (pen: Pen | null) => Item[]): LegendPart {
  return {
    height: (width) => flow(items(null), width, false),
    draw: (width) => void flow(items(pen), width, true),
  };
}

/// Chips with letter (or shape, when `small`) and name.
export function classLegend(
  pen: Pen | null,
  infos: ClassInfo[],
  palette: Palette,
  small: boolean,
  text: (info: ClassInfo) => string,
): LegendPart {
  const size = small ? kLetterMin - 2 : kChip;
  return chipLegend(
    pen,
    infos.map((info) => ({
      label: text(info),
      cell: (p, x, y) => drawClassCell(p, x, y, size, size, info.name, palette),
    })),
    palette,
    size,
  );
}

export interface Chip {
  label: string;
  /// draws the sample of `size` with its upper left corner here
  cell: (pen: Pen, x: number, y: number) => void;
}

export function chipLegend(pen: Pen | null, chips: Chip[], palette: Palette, size = kChip): LegendPart {
  return part(pen, (p) =>
    chips.map(({ label, cell }) => ({
      width: kChip + 6 + textWidth(label) + 18,
      draw: (x, y) => {
        p?.rect(x - 0.5, y - size / 2 - 0.5, size + 1, size + 1, palette.grid);
        if (p) cell(p, x, y - size / 2);
        p?.text(label, x + kChip + 6, y, { color: palette.text });
      },
    })),
  );
}

/// "N NOP  B broadcast  o other" as plain letters, for maps that are coloured by a value.
export function letterLegend(pen: Pen | null, infos: ClassInfo[], palette: Palette): LegendPart {
  return part(pen, (p) =>
    infos.map((info) => ({
      width: textWidth(`${info.letter} ${info.label}`) + 26,
      draw: (x, y) => {
        p?.text(info.letter, x, y, { color: palette.text, weight: "bold" });
        p?.text(info.label, x + textWidth(info.letter, kTextSize, "bold") + 6, y, { color: palette.muted });
      },
    })),
  );
}

const kBarHeight = 12;
export const kColorBarHeight = kBarHeight + 48;

/// The colour bar of a scale with ticks and the axis name; `kColorBarHeight` high.
export function drawColorBar(
  pen: Pen,
  width: number,
  scale: ColorScale,
  name: string,
  palette: Palette,
): void {
  const inset = 14;
  const length = Math.min(360, width) - 2 * inset;
  const steps = 60;
  for (let i = 0; i < steps; ++i) {
    const [x0, x1] = [Math.round((i * length) / steps), Math.round(((i + 1) * length) / steps)];
    pen.rect(inset + x0, 0, x1 - x0, kBarHeight, scale.colorAt((i + 0.5) / steps));
  }
  let last = -Infinity;
  for (const { value, text } of scale.axis.ticks) {
    const x = inset + scale.axis.place(value) * length;
    const half = textWidth(text) / 2;
    const center = Math.max(x, half); // a long text at the left end would be cut
    pen.line(
      [
        [x, kBarHeight],
        [x, kBarHeight + 4],
      ],
      { color: palette.muted },
    );
    if (center - half < last + 6) continue;
    pen.text(text, center, kBarHeight + 13, { color: palette.muted, align: "center" });
    last = center + half;
  }
  pen.text(name, inset, kBarHeight + 33, { color: palette.text });
}
