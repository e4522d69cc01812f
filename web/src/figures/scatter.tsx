import { useMemo, useState } from "preact/hooks";

import type { Pen } from "../plot/pen";
import { type Mark, scatterDrawing, scatterMarks } from "../plot/scatter";
import { useReport } from "../ui/context";
import { integer } from "../ui/format";
import { useWidth } from "../ui/hooks";
import type { HeadId } from "../ui/route";
import { Canvas } from "./canvas";
import { Figure } from "./figure";
import { same } from "./head_map";

const kReach = 14;

/// ratio_out against stable rank with the class regions; linked with the map through hover and pin.
export function Scatter({
  hover,
  onHover,
}: {
  hover: HeadId | null;
  onHover: (head: HeadId | null) => void;
}) {
  const { page, route, palette, go } = useReport();
  const [box, width] = useWidth<HTMLDivElement>();
  const [perEvent, setPerEvent] = useState(false);
  const events = page.eventCount();
  const marks = useMemo(() => scatterMarks(page, perEvent, route.filter), [page, perEvent, route.filter]);
  const plan = useMemo(() => ({ page, marks, palette }), [page, marks, palette]);
  const drawing = useMemo(() => scatterDrawing(plan, Math.max(240, width)), [plan, width]);

  const overlay = useMemo(
    () => (pen: Pen) => {
      const ring = (head: HeadId, color: string, size: number) => {
        for (const mark of marks) {
          if (mark.layer !== head.layer || mark.head !== head.head) continue;
          const [x, y] = drawing.place(mark);
          pen.circle(x, y, 8, null, { color: palette.background, width: size + 2 });
          pen.circle(x, y, 8, null, { color, width: size });
        }
      };
      if (route.pinned) ring(route.pinned, palette.text, 3);
      if (hover) ring(hover, palette.accent, 2);
    },
    [drawing, marks, hover, route.pinned, palette],
  );

  const nearest = (x: number, y: number): Mark | null => {
    let [best, distance]: [Mark | null, number] = [null, kReach];
    for (const mark of marks) {
      const [mx, my] = drawing.place(mark);
      const d = Math.hypot(mx - x, my - y);
      if (d < distance) [best, distance] = [mark, d];
    }
    return best;
  };
  const headOf = (mark: Mark | null): HeadId | null => mark && { layer: mark.layer, head: mark.head };
  const total = page.document.points_total ?? events;
  return (
    <Figure
      id="scatter"
      title="What the sinks write: ratio_out against stable rank"
      definition={`Each mark is ${perEvent ? "one sink event (a sequence and a head)" : "a head with sink events (means over them)"}: how long the sink's value is, and how many directions the head's update has. The shaded regions are the classes.`}
      formula="ratio_out = ‖u_s‖ / mean_{j≠s} ‖u_j‖;  stable rank = ‖U‖_F² / ‖U‖_op²"
      drawing={(w) => scatterDrawing(plan, w)}
      csv={() => ({
        header: ["layer", "head", "sequence", "stable_rank", "ratio_out", "class"],
        rows: marks.map((m) => [m.layer, m.head, m.sequence, m.rank, m.ratio, m.name]),
      })}
    >
      {events > 0 && (
        <label class="check">
          <input
            type="checkbox"
            checked={perEvent}
            onChange={(event) => setPerEvent(event.currentTarget.checked)}
          />
          one mark per sink event (
          {total > events ? `a sample of ${integer(events)} of ${integer(total)}` : integer(events)})
        </label>
      )}
      <div ref={box}>
        {width > 0 && (
          <Canvas
            drawing={drawing}
            overlay={overlay}
            label={`Scatter of ${marks.length} marks; the table below holds the values`}
            onPoint={(x, y) => {
              const head = headOf(nearest(x, y));
              if (!same(head, hover)) onHover(head);
            }}
            onLeave={() => onHover(null)}
            onPick={(x, y) => {
              const head = headOf(nearest(x, y));
              if (head) go({ pinned: same(head, route.pinned) ? null : head });
            }}
          />
        )}
      </div>
      {marks.length === 0 && <p class="empty">No head has sink events here.</p>}
    </Figure>
  );
}
