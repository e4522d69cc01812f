import { useMemo } from "preact/hooks";

import { outline, type Cell, type GridDrawing } from "../plot/grid";
import type { Pen } from "../plot/pen";
import { useFrame } from "../ui/context";
import { useWidth } from "../ui/hooks";
import { Canvas } from "./canvas";

interface GridMapProps {
  /// Must keep its identity while nothing changes.
  drawing: (width: number) => GridDrawing;
  /// what the map shows, and what its keys do
  label: string;
  keys: string;
  /// id of the text with the values of the cell
  describedBy: string;
  hover: Cell | null;
  pinned: Cell | null;
  /// the cell that the first arrow key chooses
  start: Cell;
  onHover: (cell: Cell | null) => void;
  onPin: (cell: Cell | null) => void;
  onEnter?: () => void;
}

const kMinWidth = 200;

/// A map of cells: the pointer and a click choose a cell, arrow keys move the choice.
export function GridMap(props: GridMapProps) {
  const { hover, pinned, start, onHover, onPin, onEnter } = props;
  const { palette } = useFrame();
  const [box, width] = useWidth<HTMLDivElement>();
  const drawing = useMemo(() => props.drawing(Math.max(kMinWidth, width)), [props.drawing, width]);
  const { geometry } = drawing;
  const overlay = useMemo(
    () => (pen: Pen) => {
      if (pinned) outline(pen, geometry.box(pinned), 3, palette.text, palette.background);
      if (hover) outline(pen, geometry.box(hover), 2, palette.accent, palette.background);
    },
    [geometry, pinned, hover, palette],
  );
  const move = (event: KeyboardEvent) => {
    const target = keyTarget(event.key, pinned ?? start, geometry.rows, geometry.columns);
    if (target) onPin(pinned || !event.key.startsWith("Arrow") ? target : start);
    else if (event.key === "Enter" && onEnter) onEnter();
    else if (event.key === "Escape") onPin(null);
    else return;
    event.preventDefault();
  };
  return (
    <div
      ref={box}
      class="map"
      tabIndex={0}
      role="application"
      aria-describedby={props.describedBy}
      aria-label={props.keys}
      onKeyDown={move}
    >
      {width > 0 && (
        <Canvas
          drawing={drawing}
          overlay={overlay}
          label={props.label}
          onPoint={(x, y) => {
            const cell = geometry.cellAt(x, y);
            if (!sameCell(cell, hover)) onHover(cell);
          }}
          onLeave={() => onHover(null)}
          onPick={(x, y) => {
            const cell = geometry.cellAt(x, y);
            if (cell) onPin(sameCell(cell, pinned) ? null : cell);
          }}
        />
      )}
    </div>
  );
}

function keyTarget(key: string, from: Cell, rows: number, columns: number): Cell | null {
  const { row, column } = from;
  switch (key) {
    case "ArrowUp":
      return { row: Math.max(0, row - 1), column };
    case "ArrowDown":
      return { row: Math.min(rows - 1, row + 1), column };
    case "ArrowLeft":
      return { row, column: Math.max(0, column - 1) };
    case "ArrowRight":
      return { row, column: Math.min(columns - 1, column + 1) };
    case "Home":
      return { row, column: 0 };
    case "End":
      return { row, column: columns - 1 };
    case "PageUp":
      return { row: 0, column };
    case "PageDown":
      return { row: rows - 1, column };
    default:
      return null;
  }
}

function sameCell(a: Cell | null, b: Cell | null): boolean {
  return a?.row === b?.row && a?.column === b?.column;
}
