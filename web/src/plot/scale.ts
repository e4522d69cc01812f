import { tick } from "../ui/format";

/// viridis at ten equal steps; perceptually uniform, readable without colour vision.
const kViridis = [
  [68, 1, 84],
  [72, 40, 120],
  [62, 73, 137],
  [49, 104, 142],
  [38, 130, 142],
  [31, 158, 137],
  [53, 183, 121],
  [110, 206, 88],
  [181, 222, 43],
  [253, 231, 37],
] as const;

/// blue - white - orange, for differences
const kTwoSided = [
  [0, 82, 140],
  [60, 135, 185],
  [150, 195, 220],
  [243, 243, 243],
  [240, 180, 130],
  [213, 110, 40],
  [140, 60, 0],
] as const;

type Table = readonly (readonly [number, number, number])[];

function colorAt(table: Table, position: number): string {
  const place = Math.min(1, Math.max(0, position)) * (table.length - 1);
  const i = Math.min(table.length - 2, Math.floor(place));
  const [from, to, part] = [table[i]!, table[i + 1]!, place - i];
  const mix = (c: 0 | 1 | 2) => Math.round(from[c] + (to[c] - from[c]) * part);
  return `rgb(${mix(0)},${mix(1)},${mix(2)})`;
}

/// Colours of an ordered series, the first the strongest against the background: the part of viridis
/// that is seen on it.
export function rampColor(place: number, dark: boolean): string {
  return colorAt(kViridis, dark ? 1 - 0.65 * place : 0.65 * place);
}

/// An axis: maps values to 0..1 and names its ticks.
export interface Axis {
  low: number;
  high: number;
  log: boolean;
  place(value: number): number;
  ticks: { value: number; text: string }[];
}

function linearTicks(low: number, high: number, count: number): number[] {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999) ?? 10 * power;
  const ticks: number[] = [];
  const first = Math.ceil(low / step - 1e-9);
  // Counted: where a step is lost in rounding, a sum would never pass the end.
  for (let k = 0; k <= 2 * count + 2 && (first + k) * step <= high + step * 1e-9; ++k)
    ticks.push((first + k) * step);
  return ticks;
}

export function linearAxis(low: number, high: number, count = 5): Axis {
  const top = high > low ? high : low + 1;
  return {
    low,
    high: top,
    log: false,
    place: (value) => (value - low) / (top - low),
    ticks: linearTicks(low, top, count).map((value) => ({
      value,
      text: tick(Number(value.toPrecision(12))),
    })),
  };
}

/// Names at equal distances.
export function nameAxis(names: string[]): Axis {
  const place = linearAxis(-0.5, names.length - 0.5).place;
  return {
    low: -0.5,
    high: names.length - 0.5,
    log: false,
    place,
    ticks: names.map((text, value) => ({ value, text })),
  };
}

/// The domain of a log axis for these values: from 1, 2 or 5 times a power of ten to another.
export function logAxis(values: number[], include: number[] = []): Axis {
  const positive = [...values, ...include].filter((v) => v > 0);
  const smallest = positive.reduce((a, b) => Math.min(a, b), Infinity);
  const largest = positive.reduce((a, b) => Math.max(a, b), -Infinity);
  let low = roundLog(positive.length ? smallest : 0.1, false);
  let high = roundLog(positive.length ? largest : 10, true);
  if (high <= low) [low, high] = [low / 2, high * 2];
  const [from, to] = [Math.log10(low), Math.log10(high)];
  return {
    low,
    high,
    log: true,
    place: (value) => (value > 0 ? (Math.log10(value) - from) / (to - from) : 0),
    ticks: logTicks(low, high).map((value) => ({ value, text: tick(value) })),
  };
}

function roundLog(value: number, up: boolean): number {
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  const steps = [1, 2, 5, 10].map((m) => Number((m * power).toPrecision(6)));
  const found = up
    ? steps.find((s) => s >= value * 0.9999)
    : steps.reverse().find((s) => s <= value * 1.0001);
  return found ?? power;
}

function logTicks(low: number, high: number): number[] {
  const decades = Math.log10(high / low);
  const multiples = decades <= 2 ? [1, 2, 5] : [1];
  const stride = Math.max(1, Math.ceil(decades / 6));
  const ticks: number[] = [];
  for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); ++p) {
    if (((p % stride) + stride) % stride !== 0) continue;
    for (const m of multiples) {
      const value = Number((m * 10 ** p).toPrecision(6));
      if (value >= low * 0.9999 && value <= high * 1.0001) ticks.push(value);
    }
  }
  return ticks;
}

/// Value to colour, with the axis that its legend shows.
export interface ColorScale {
  axis: Axis;
  color(value: number): string;
  colorAt(position: number): string;
}

export function colorScale(kind: "share" | "log" | "linear" | "diverging", values: number[]): ColorScale {
  const high = values.reduce((a, b) => Math.max(a, b), 0);
  const size = values.reduce((a, b) => Math.max(a, Math.abs(b)), 0) || 1;
  const axis =
    kind === "share"
      ? linearAxis(0, 1)
      : kind === "log"
        ? logAxis(values)
        : kind === "linear"
          ? linearAxis(0, high || 1)
          : linearAxis(-size, size, 4);
  const table: Table = kind === "diverging" ? kTwoSided : kViridis;
  return {
    axis,
    color: (value) => colorAt(table, axis.place(value)),
    colorAt: (position) => colorAt(table, position),
  };
}
