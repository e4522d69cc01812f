import { useMemo } from "preact/hooks";

import { classInfo } from "../data/classes";
import type { Cell } from "../plot/grid";
import { headMapDrawing } from "../plot/head_map";
import { useReport } from "../ui/context";
import { headName, isNumber, magnitude, share } from "../ui/format";
import type { HeadId } from "../ui/route";
import { Figure, type Csv } from "./figure";
import { GridMap } from "./grid_map";

interface HeadMapProps {
  id: string;
  maxHeight: number;
  hover: HeadId | null;
  onHover: (head: HeadId | null) => void;
}

/// The layer x head map: hover shows values, a click pins a head, arrows move the pin.
export function HeadMap({ id, maxHeight, hover, onHover }: HeadMapProps) {
  const { page, metric, route, palette, go, selected } = useReport();
  const plan = useMemo(
    () => ({ page, metric, filter: route.filter, palette, maxHeight }),
    [page, metric, route.filter, palette, maxHeight],
  );
  const drawing = useMemo(() => (width: number) => headMapDrawing(plan, width), [plan]);
  const pinned = useMemo(() => cellOf(route.pinned), [route.pinned]);
  const csv = (): Csv => ({
    header: ["layer", "head", metric.id],
    rows: page
      .measured()
      .map((row) => [
        row.layer,
        row.head,
        metric.scale === "class" ? classInfo(row.class).name : metric.value(row),
      ]),
  });

  return (
    <Figure
      id={id}
      title={`${capital(metric.label)} of every head`}
      definition={metric.definition}
      formula={metric.formula}
      drawing={drawing}
      csv={csv}
    >
      <GridMap
        drawing={drawing}
        label={`${metric.label}, ${page.layers} layers by ${page.heads} heads`}
        keys="Map of layers and heads. Arrow keys choose a head, Enter opens it, Escape lets go."
        describedBy={`${id}-values`}
        hover={cellOf(hover)}
        pinned={pinned}
        start={{ row: selected.layer, column: selected.head }}
        onHover={(cell) => onHover(headOf(cell))}
        onPin={(cell) => go({ pinned: headOf(cell) })}
        onEnter={() => go({ view: "head", pinned: route.pinned ?? selected })}
      />
      <HeadReadout id={`${id}-values`} head={hover ?? route.pinned} />
    </Figure>
  );
}

/// The values of the head under the pointer, or of the pinned one.
export function HeadReadout({ id, head }: { id: string; head: HeadId | null }) {
  const { page, metric } = useReport();
  const row = head && page.head(head.layer, head.head);
  if (!head)
    return (
      <p class="readout" id={id}>
        Point at a head for its values; click or use the arrow keys to pin it.
      </p>
    );
  if (!row)
    return (
      <p class="readout" id={id}>
        <b>{headName(head.layer, head.head)}</b> was not measured.
      </p>
    );
  const items: [string, string][] = [
    ["class", classInfo(row.class).label],
    ["alpha_0", share(row.alpha?.[0])],
    ["sink at", page.positionName(row["sink_index"])],
    ["ratio_out", magnitude(row["ratio_out"])],
    ["stable rank", magnitude(row["stable_rank"])],
  ];
  if (!items.some(([name]) => name === metric.label) && metric.id !== "alpha_0") {
    items.unshift([metric.label, metric.format(metric.value(row))]);
  }
  return (
    <p class="readout" id={id} aria-live="polite">
      <b>{headName(head.layer, head.head)}</b>
      {items.map(([name, value]) => (
        <span key={name}>
          {name} <b>{value}</b>
        </span>
      ))}
    </p>
  );
}

function cellOf(head: HeadId | null): Cell | null {
  return head && { row: head.layer, column: head.head };
}

function headOf(cell: Cell | null): HeadId | null {
  return cell && { layer: cell.row, head: cell.column };
}

export function same(a: HeadId | null, b: HeadId | null): boolean {
  return a?.layer === b?.layer && a?.head === b?.head && isNumber(a?.layer) === isNumber(b?.layer);
}

function capital(text: string): string {
  return text.includes("_") ? text : text.charAt(0).toUpperCase() + text.slice(1);
}
