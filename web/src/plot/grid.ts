import type { Palette } from "../ui/theme";
import { textWidth, type Drawing, type Pen } from "./pen";

export interface Cell {
  row: number;
  column: number;
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/// Where the cells of a map lie, in whole pixels where there is room.
export interface GridGeometry {
  rows: number;
  columns: number;
  left: number;
  top: number;
  cellWidth: number;
  cellHeight: number;
  bottom: number;
  box(cell: Cell): Box;
  cellAt(x: number, y: number): Cell | null;
}

export interface GridOptions {
  rows: number;
  columns: number;
  width: number;
  maxHeight: number;
  /// room for the names of the rows; absent: for their numbers
  labelWidth?: number;
  /// cells as high as wide; otherwise at least as high as a line of text, where there is room
  square: boolean;
}

export interface GridDrawing extends Drawing {
  geometry: GridGeometry;
}

const kTop = 44;
const kMaxCell = 44;

export function gridGeometry(options: GridOptions): GridGeometry {
  const { rows, columns, width, maxHeight, square, labelWidth } = options;
  const left = 34 + (labelWidth ?? textWidth(String(rows - 1)));
  const whole = (size: number) => (size >= 3 ? Math.floor(size) : size);
  const across = Math.min(kMaxCell, Math.max(1, (width - left - 2) / columns));
  const down = Math.max(2, (maxHeight - kTop) / rows);
  const cellWidth = whole(square ? Math.min(across, down) : across);
  const cellHeight = square ? cellWidth : whole(Math.min(30, Math.max(cellWidth, 18), down));
  const gap = cellWidth >= 7 && cellHeight >= 7 ? 1 : 0;
  const edge = (origin: number, size: number, i: number) => Math.round(origin + i * size);
  return {
    rows,
    columns,
    left,
    top: kTop,
    cellWidth,
    cellHeight,
    bottom: edge(kTop, cellHeight, rows),
    box({ row, column }) {
      const [x, y] = [edge(left, cellWidth, column), edge(kTop, cellHeight, row)];
      return {
        x,
        y,
        width: Math.max(1, edge(left, cellWidth, column + 1) - x - gap),
        height: Math.max(1, edge(kTop, cellHeight, row + 1) - y - gap),
      };
    },
    cellAt(x, y) {
      const [column, row] = [Math.floor((x - left) / cellWidth), Math.floor((y - kTop) / cellHeight)];
      return row >= 0 && column >= 0 && row < rows && column < columns ? { row, column } : null;
    },
  };
}

/// A cell of a value; null: no data, a dash.
export function drawValueCell(pen: Pen, box: Box, color: string | null, palette: Palette): void {
  const { x, y, width, height } = box;
  pen.rect(x, y, width, height, color ?? palette.classes.none);
  if (color !== null) return;
  const dash = Math.min(6, width * 0.6);
  pen.rect(x + (width - dash) / 2, y + height / 2 - 0.5, dash, 1, palette.muted);
}

/// A frame around a cell, with a halo that sets it off from any colour.
export function outline(pen: Pen, box: Box, size: number, color: string, halo: string): void {
  const { x, y, width, height } = box;
  pen.rect(x - size, y - size, width + 2 * size, height + 2 * size, null, { color: halo, width: 2 });
  pen.rect(x - size / 2, y - size / 2, width + size, height + size, null, { color, width: size });
}

/// Every how many cells a label fits.
function stride(count: number, cell: number, label: number): number {
  for (const step of [1, 2, 5, 10, 20, 50, 100, 200, 500])
    if (step * cell >= label || step >= count) return step;
  return 1000;
}

/// Names of rows and columns, where they are not their numbers.
export interface GridNames {
  rows: string[];
  columns: string[];
}

/// Numbers or names of the rows and columns, and what they are.
export function drawGridAxes(
  pen: Pen,
  geometry: GridGeometry,
  rowName: string,
  columnName: string,
  palette: Palette,
  names?: GridNames,
): void {
  const { rows, columns, left, top, cellWidth, cellHeight, bottom } = geometry;
  pen.text(columnName, left + (cellWidth * columns) / 2, 10, { color: palette.text, align: "center" });
  pen.text(rowName, 9, Math.max(top + 20, (top + bottom) / 2), {
    color: palette.text,
    align: "center",
    upright: true,
  });
  const longest = names
    ? Math.max(...names.columns.map((n) => textWidth(n)))
    : textWidth(String(columns - 1));
  const across = stride(columns, cellWidth, longest + 8);
  for (let column = 0; column < columns; column += across) {
    pen.text(names?.columns[column] ?? String(column), left + (column + 0.5) * cellWidth, top - 12, {
      color: palette.muted,
      align: "center",
    });
  }
  const down = stride(rows, cellHeight, 17);
  for (let row = 0; row < rows; row += down) {
    pen.text(names?.rows[row] ?? String(row), left - 7, top + (row + 0.5) * cellHeight, {
      color: palette.muted,
      align: "right",
    });
  }
}
