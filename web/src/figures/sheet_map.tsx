import { useMemo, useState } from "preact/hooks";

import type { SheetPlot } from "../data/document";
import type { Sheet } from "../data/sheet";
import type { Cell } from "../plot/grid";
import { cellName, groupsOf } from "../plot/row_groups";
import { sheetMap, sheetMapDrawing, strongestCell, type SheetMap } from "../plot/sheet_map";
import { useFrame } from "../ui/context";
import { integer } from "../ui/format";
import { Figure, type Csv } from "./figure";
import { GridMap } from "./grid_map";
import { captionOf } from "./sheet_caption";

const kMaxHeight = 480;

/// Cells of a table over two of its columns: who wins where.
export function SheetMapFigure({ id, sheet, plot }: { id: string; sheet: Sheet; plot: SheetPlot }) {
  const { palette } = useFrame();
  const [hover, setHover] = useState<Cell | null>(null);
  const [pinned, setPinned] = useState<Cell | null>(null);
  const [chosen, setChosen] = useState("");
  const table = sheet.table(plot.table)!;
  const groups = useMemo(() => groupsOf(table, plot.series), [table, plot]);
  const group = groups.find(({ key }) => key === chosen) ?? groups[0];
  const map = useMemo(() => sheetMap(table, plot, group), [table, plot, group]);
  const drawing = useMemo(
    () =>
      map?.values[0]?.length ? (width: number) => sheetMapDrawing(map, palette, kMaxHeight, width) : null,
    [map, palette],
  );
  if (!map || !drawing) {
    return (
      <p class="card empty" id={id}>
        {plot.title}: {map ? "the table has no row to draw" : "too many cells to draw; the table holds them"}.
      </p>
    );
  }
  const cell = hover ?? pinned;
  return (
    <Figure
      id={id}
      title={plot.title}
      definition={captionOf(sheet, plot)}
      drawing={drawing}
      csv={() => mapCsv(map)}
    >
      {groups.length > 1 && (
        <label class="control">
          Show{" "}
          <select
            value={group?.key}
            onChange={(event) => {
              setChosen(event.currentTarget.value);
              setHover(null);
              setPinned(null);
            }}
          >
            {groups.map(({ key, label }) => (
              <option key={key} value={key}>
                {label}
              </option>
            ))}
          </select>
        </label>
      )}
      <GridMap
        drawing={drawing}
        label={`Map of ${map.valueName}: ${map.rows.length} by ${map.columns.length} cells; the table holds the values`}
        keys={`Map of ${map.valueName}. Arrow keys choose a cell, Escape lets go.`}
        describedBy={`${id}-values`}
        hover={hover}
        pinned={pinned}
        start={strongestCell(map)}
        onHover={setHover}
        onPin={setPinned}
      />
      <p class="readout" id={`${id}-values`} aria-live="polite">
        {cell ? <Readout map={map} cell={cell} /> : "Point at a cell for its value, or use the arrow keys."}
      </p>
      {map.hidden > 0 && (
        <p class="note">
          {integer(map.hidden)} rows of the table share a cell with a later row, which is shown.
        </p>
      )}
    </Figure>
  );
}

function Readout({ map, cell }: { map: SheetMap; cell: Cell }) {
  const value = map.values[cell.row]?.[cell.column];
  const items = [
    [map.xName, cellName(map.columns[cell.column] ?? null)],
    [map.yName, cellName(map.rows[cell.row] ?? null)],
    [map.valueName, value === undefined ? "not in the table" : cellName(value)],
  ];
  return (
    <>
      {items.map(([name, text]) => (
        <span key={name}>
          {name} <b>{text}</b>
        </span>
      ))}
    </>
  );
}

function mapCsv(map: SheetMap): Csv {
  return {
    header: [map.xName, map.yName, map.valueName],
    rows: map.values.flatMap((line, row) =>
      line.flatMap((value, column) =>
        value === undefined ? [] : [[map.columns[column], map.rows[row], value]],
      ),
    ),
  };
}
