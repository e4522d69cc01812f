import type { SheetCell, SheetPlot, SheetTable } from "../data/document";
import { columnOf, kindOf } from "../data/sheet";
import { integer, isNumber, short } from "../ui/format";
import type { Palette } from "../ui/theme";
import { drawGridAxes, drawValueCell, gridGeometry, type Cell, type GridDrawing } from "./grid";
import {
  chipLegend,
  drawColorBar,
  drawLetter,
  kChip,
  kColorBarHeight,
  lettersFit,
  type Chip,
} from "./legend";
import { textWidth, type Pen } from "./pen";
import { colorScale } from "./scale";
import { drawable } from "./lines";
import { cellName, type RowGroup } from "./row_groups";
import { withUnit } from "./sheet_lines";

/// A map of one group of rows. Rows of the picture go upwards: the largest y first.
export interface SheetMap {
  xName: string;
  yName: string;
  valueName: string;
  columns: SheetCell[];
  rows: SheetCell[];
  /// [row][column]; undefined where the table has no row
  values: (SheetCell | undefined)[][];
  /// the texts that the cells show; null where they show numbers
  kinds: string[] | null;
  /// rows of the table that stand in a cell of others
  hidden: number;
}

const kMostSide = 512;

/// null when it has more rows or columns than can be drawn.
export function sheetMap(table: SheetTable, plot: SheetPlot, group: RowGroup | undefined): SheetMap | null {
  const [xColumn, yColumn, vColumn] = [plot.x, plot.y, plot.value].map((name) => columnOf(table, name));
  const given = group?.rows ?? [];
  const xs = levels(given.map((row) => row[xColumn!]));
  const ys = levels(given.map((row) => row[yColumn!])).reverse();
  if (xs.length > kMostSide || ys.length > kMostSide) return null;
  const [xPlace, yPlace] = [xs, ys].map((side) => new Map(side.map((value, i) => [value, i])));
  const values = ys.map(() => new Array<SheetCell | undefined>(xs.length).fill(undefined));
  let hidden = 0;
  for (const row of given) {
    const [column, line] = [xPlace!.get(row[xColumn!] ?? null), yPlace!.get(row[yColumn!] ?? null)];
    if (column === undefined || line === undefined) continue;
    if (values[line]![column] !== undefined) ++hidden;
    const value = row[vColumn!] ?? null;
    values[line]![column] = isNumber(value) ? (drawable(value, false) ?? null) : value;
  }
  const texts = kindOf(table, plot.value) === "text";
  return {
    xName: short(plot.x),
    yName: short(plot.y),
    valueName: short(withUnit(table, plot.value)),
    columns: xs,
    rows: ys,
    values,
    kinds: texts ? [...new Set(values.flat().filter((v): v is string => typeof v === "string"))] : null,
    hidden,
  };
}

/// The different values of a side: numbers by size, texts in order of appearance.
function levels(cells: (SheetCell | undefined)[]): SheetCell[] {
  const all = [...new Set(cells.map((cell) => cell ?? null))].filter((cell) => cell !== null);
  return all.every(isNumber) ? all.sort((a, b) => (a as number) - (b as number)) : all;
}

/// Cells coloured by the value: numbers on a two-sided scale with their sign, texts each with a
/// colour and a letter.
export function sheetMapDrawing(
  map: SheetMap,
  palette: Palette,
  maxHeight: number,
  width: number,
): GridDrawing {
  const [rows, columns] = [map.rows, map.columns].map((side) => side.map(cellName)) as [string[], string[]];
  const labelWidth = Math.min(width * 0.35, Math.max(...rows.map((name) => textWidth(name)), 10));
  const geometry = gridGeometry({
    rows: rows.length,
    columns: columns.length,
    width,
    maxHeight,
    square: false,
    labelWidth,
  });
  const look = map.kinds ? kindLook(map, map.kinds, palette) : signLook(map);
  const letters = lettersFit(geometry.cellWidth - 1, geometry.cellHeight - 1);
  const legendTop = geometry.bottom + 12;
  const legend = (pen: Pen | null) => chipLegend(pen, look.chips, palette);
  const barHeight = look.scale ? kColorBarHeight : 0;
  return {
    geometry,
    width,
    height: legendTop + barHeight + legend(null).height(width - 14),
    draw(pen) {
      const names = { rows: rows.map((name) => cut(name, labelWidth)), columns };
      drawGridAxes(pen, geometry, map.yName, map.xName, palette, names);
      map.values.forEach((cells, row) =>
        cells.forEach((value, column) => {
          if (value === undefined) return;
          const box = geometry.box({ row, column });
          const fill = look.color(value);
          drawValueCell(pen, box, fill, palette);
          const letter = look.letter(value);
          if (letters && letter && fill) drawLetter(pen, box.x, box.y, box.width, box.height, letter, fill);
        }),
      );
      const { scale } = look;
      if (scale) pen.moved(0, legendTop, () => drawColorBar(pen, width, scale, map.valueName, palette));
      pen.moved(14, legendTop + barHeight, () => legend(pen).draw(width - 14));
    },
  };
}

interface Look {
  color(value: SheetCell): string | null;
  letter(value: SheetCell): string;
  scale: ReturnType<typeof colorScale> | null;
  chips: Chip[];
}

function signLook(map: SheetMap): Look {
  const numbers = map.values.flat().filter(isNumber);
  const scale = colorScale("diverging", numbers);
  const sign = (value: SheetCell) => (isNumber(value) && value !== 0 ? (value > 0 ? "+" : "−") : "");
  const color = (value: SheetCell) => (isNumber(value) ? scale.color(value) : null);
  const strongest = numbers.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
  const chips = [-strongest, strongest].flatMap((end): Chip[] => {
    const count = numbers.filter((value) => sign(value) === sign(end)).length;
    return count ? [chip(color(end)!, sign(end), `${end < 0 ? "below" : "above"} 0: ${cells(count)}`)] : [];
  });
  return { color, letter: sign, scale, chips };
}

function kindLook(map: SheetMap, kinds: string[], palette: Palette): Look {
  const initials = kinds.map((kind) => kind.trim().charAt(0).toUpperCase());
  const own = new Set(initials).size === kinds.length && !initials.includes("");
  const letters = own ? initials : kinds.map((_kind, i) => String.fromCharCode(65 + (i % 26)));
  const place = (value: SheetCell) => (typeof value === "string" ? kinds.indexOf(value) : -1);
  const color = (value: SheetCell) =>
    place(value) < 0 ? null : (palette.series[place(value) % palette.series.length] ?? null);
  const letter = (value: SheetCell) => letters[place(value)] ?? "";
  const chips = kinds.slice(0, 26).map((kind) => {
    const count = map.values.flat().filter((value) => value === kind).length;
    return chip(color(kind)!, letter(kind), `${short(kind)}: ${cells(count)}`);
  });
  return { color, letter, scale: null, chips };
}

function cells(count: number): string {
  return `${integer(count)} ${count === 1 ? "cell" : "cells"}`;
}

function chip(color: string, letter: string, label: string): Chip {
  return {
    label,
    cell: (pen, x, y) => {
      pen.rect(x, y, kChip, kChip, color);
      drawLetter(pen, x, y, kChip, kChip, letter, color);
    },
  };
}

function cut(text: string, width: number): string {
  let part = text;
  while (part.length > 1 && textWidth(part) > width) part = `${part.slice(0, -2)}…`;
  return part;
}

/// The cell with the value farthest from 0, or the first.
export function strongestCell(map: SheetMap): Cell {
  let [best, size]: [Cell, number] = [{ row: 0, column: 0 }, -1];
  map.values.forEach((line, row) =>
    line.forEach((value, column) => {
      const own = isNumber(value) ? Math.abs(value) : value === undefined ? -1 : 0;
      if (own > size) [best, size] = [{ row, column }, own];
    }),
  );
  return best;
}
