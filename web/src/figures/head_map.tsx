import { useMemo } from "preact/hooks";

import { classInfo } from "../data/classes";
import { headMapDrawing } from "../plot/head_map";
import type { Pen } from "../plot/pen";
import { useReport } from "../ui/context";
import { headName, isNumber, magnitude, positionName, share } from "../ui/format";
import { useWidth } from "../ui/hooks";
import type { HeadId } from "../ui/route";
import { Canvas } from "./canvas";
import { Figure, type Csv } from "./figure";

interface HeadMapProps {
  id: string;
  maxHeight: number;
  hover: HeadId | null;
  onHover: (head: HeadId | null) => void;
}

/// The layer x head map: hover shows values, a click pins a head, arrows move the pin.
export function HeadMap({ id, maxHeight, hover, onHover }: HeadMapProps) {
  const { page, metric, route, palette, go, selected } = useReport();
  const [box, width] = useWidth<HTMLDivElement>();
  const plan = useMemo(
    () => ({ page, metric, filter: route.filter, palette, maxHeight }),
    [page, metric, route.filter, palette, maxHeight],
  );
  const drawing = useMemo(() => headMapDrawing(plan, Math.max(200, width)), [plan, width]);
  const { pinned } = route;

  const overlay = useMemo(
    () => (pen: Pen) => {
      if (pinned)
        outline(pen, drawing.geometry.cell(pinned.layer, pinned.head), 3, palette.text, palette.background);
      if (hover)
        outline(pen, drawing.geometry.cell(hover.layer, hover.head), 2, palette.accent, palette.background);
    },
    [drawing, pinned, hover, palette],
  );

  const move = (event: KeyboardEvent) => {
    const target = keyTarget(event.key, pinned ?? selected, page.layers, page.heads);
    if (target) go({ pinned: pinned || !event.key.startsWith("Arrow") ? target : selected });
    else if (event.key === "Enter") go({ view: "head", pinned: pinned ?? selected });
    else if (event.key === "Escape") go({ pinned: null });
    else return;
    event.preventDefault();
  };
  const pick = (x: number, y: number) => {
    const head = drawing.geometry.headAt(x, y);
    if (head) go({ pinned: same(head, pinned) ? null : head });
  };
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
      drawing={(w) => headMapDrawing(plan, w)}
      csv={csv}
    >
      <div
        ref={box}
        class="map"
        tabIndex={0}
        role="application"
        aria-describedby={`${id}-values`}
        aria-label="Map of layers and heads. Arrow keys choose a head, Enter opens it, Escape lets go."
        onKeyDown={move}
      >
        {width > 0 && (
          <Canvas
            drawing={drawing}
            overlay={overlay}
            label={`${metric.label}, ${page.layers} layers by ${page.heads} heads`}
            onPoint={(x, y) => {
              const head = drawing.geometry.headAt(x, y);
              if (!same(head, hover)) onHover(head);
            }}
            onLeave={() => onHover(null)}
            onPick={pick}
          />
        )}
      </div>
      <HeadReadout id={`${id}-values`} head={hover ?? pinned} />
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
    ["sink at", positionName(row["sink_index"])],
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

function outline(
  pen: Pen,
  cell: { x: number; y: number; width: number; height: number },
  size: number,
  color: string,
  halo: string,
): void {
  const { x, y, width, height } = cell;
  pen.rect(x - size, y - size, width + 2 * size, height + 2 * size, null, { color: halo, width: 2 });
  pen.rect(x - size / 2, y - size / 2, width + size, height + size, null, { color, width: size });
}

function keyTarget(key: string, from: HeadId, layers: number, heads: number): HeadId | null {
  const { layer, head } = from;
  switch (key) {
    case "ArrowUp":
      return { layer: Math.max(0, layer - 1), head };
    case "ArrowDown":
      return { layer: Math.min(layers - 1, layer + 1), head };
    case "ArrowLeft":
      return { layer, head: Math.max(0, head - 1) };
    case "ArrowRight":
      return { layer, head: Math.min(heads - 1, head + 1) };
    case "Home":
      return { layer, head: 0 };
    case "End":
      return { layer, head: heads - 1 };
    case "PageUp":
      return { layer: 0, head };
    case "PageDown":
      return { layer: layers - 1, head };
    default:
      return null;
  }
}

export function same(a: HeadId | null, b: HeadId | null): boolean {
  return a?.layer === b?.layer && a?.head === b?.head && isNumber(a?.layer) === isNumber(b?.layer);
}

function capital(text: string): string {
  return text.includes("_") ? text : text.charAt(0).toUpperCase() + text.slice(1);
}
