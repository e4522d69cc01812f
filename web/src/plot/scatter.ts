import type { ClassName } from "../data/document";
import { kClasses, classInfo, classOfCode } from "../data/classes";
import type { Page } from "../data/page";
import { isNumber } from "../ui/format";
import type { HeadFilter, HeadId } from "../ui/route";
import type { Palette } from "../ui/theme";
import { drawFrame, makeFrame, type Frame } from "./axes";
import { blend } from "./color";
import { passes } from "./head_map";
import { kLegendRow, classLegend } from "./legend";
import type { Drawing, Pen } from "./pen";
import { logAxis } from "./scale";

export interface Mark extends HeadId {
  rank: number;
  ratio: number;
  name: ClassName;
  sequence: number | null;
}

/// One mark per head that has sink events, or one per event.
export function scatterMarks(page: Page, perEvent: boolean, filter: HeadFilter): Mark[] {
  const marks: Mark[] = [];
  const add = (
    layer: number,
    head: number,
    rank: unknown,
    ratio: unknown,
    name: ClassName,
    sequence: number | null,
  ) => {
    if (isNumber(rank) && isNumber(ratio) && passes(page.head(layer, head), filter)) {
      marks.push({ layer, head, rank, ratio, name, sequence });
    }
  };
  for (const row of page.measured()) {
    if (!perEvent) {
      add(row.layer, row.head, row["stable_rank"], row["ratio_out"], classInfo(row.class).name, null);
      continue;
    }
    for (const event of page.events(row.layer, row.head)) {
      add(row.layer, row.head, event[8], event[7], classOfCode(event[9]).name, event[0]);
    }
  }
  return marks;
}

export interface ScatterPlan {
  page: Page;
  marks: Mark[];
  palette: Palette;
}

/// Ratios below this are drawn on the lower border: their exact value says nothing.
const kSmallestRatio = 1e-3;

export function scatterDrawing(
  plan: ScatterPlan,
  width: number,
): Drawing & { frame: Frame; place(mark: Mark): [number, number] } {
  const { page, marks, palette } = plan;
  const nop = page.threshold("nop_ratio", 0.2);
  const broadcast = page.threshold("broadcast_ratio", 0.5);
  const rank = page.threshold("broadcast_stable_rank", 1.5);
  const plotHeight = Math.round(Math.min(440, Math.max(300, width * 0.75)));
  const xAxis = logAxis(
    marks.map((m) => m.rank),
    [1, 2],
  );
  const yAxis = logAxis(
    marks.map((m) => Math.max(kSmallestRatio, m.ratio)),
    [nop / 2, broadcast * 2],
  );
  const frame = makeFrame(width, plotHeight, xAxis, yAxis, 8);
  const place = (mark: Mark): [number, number] => [
    frame.x(Math.max(xAxis.low, mark.rank)),
    frame.y(Math.max(yAxis.low, mark.ratio)),
  ];
  const legend = (pen: Pen | null) =>
    classLegend(
      pen,
      kClasses.filter((c) => c.name !== "none" && marks.some((m) => m.name === c.name)),
      palette,
      false,
      (info) => `${info.label} ${{ nop: "●", broadcast: "▲", other: "■" }[info.name as string] ?? ""}`,
    );
  return {
    frame,
    place,
    width,
    height: plotHeight + Math.max(kLegendRow, legend(null).height(width)),
    draw(pen) {
      const region = (name: ClassName, x0: number, y0: number, x1: number, y1: number) => {
        pen.rect(x0, y0, x1 - x0, y1 - y0, blend(palette.classes[name], palette.background, 0.16));
      };
      region("nop", frame.left, frame.y(nop), frame.right, frame.bottom);
      region("broadcast", frame.left, frame.top, frame.x(rank), frame.y(broadcast));
      drawFrame(
        pen,
        frame,
        xAxis,
        yAxis,
        "stable rank (1 = one vector for every token)",
        "ratio_out (× other tokens)",
        palette,
      );
      const border = { color: palette.muted, dash: [5, 4] };
      pen.line(
        [
          [frame.left, frame.y(nop)],
          [frame.right, frame.y(nop)],
        ],
        border,
      );
      pen.line(
        [
          [frame.left, frame.y(broadcast)],
          [frame.x(rank), frame.y(broadcast)],
          [frame.x(rank), frame.top],
        ],
        border,
      );
      const radius = marks.length > 400 ? 3 : 4.5;
      for (const mark of marks) drawMark(pen, ...place(mark), mark.name, radius, palette);
      pen.text("NOP", frame.right - 8, frame.y(nop) + 14, {
        color: palette.text,
        align: "right",
        weight: "bold",
      });
      pen.text("broadcast", frame.left + 8, frame.top + 14, { color: palette.text, weight: "bold" });
      pen.text("other", frame.right - 8, frame.top + 14, {
        color: palette.text,
        align: "right",
        weight: "bold",
      });
      pen.moved(8, plotHeight, () => legend(pen).draw(width - 8));
    },
  };
}

function drawMark(pen: Pen, x: number, y: number, name: ClassName, r: number, palette: Palette): void {
  const fill = palette.classes[name];
  const edge = { color: palette.background, width: r < 4 ? 0.5 : 1 };
  if (name === "nop") pen.circle(x, y, r, fill, edge);
  else if (name === "broadcast")
    pen.polygon(
      [
        [x, y - r * 1.2],
        [x - r * 1.15, y + r * 0.9],
        [x + r * 1.15, y + r * 0.9],
      ],
      fill,
      edge,
    );
  else pen.rect(x - r * 0.85, y - r * 0.85, r * 1.7, r * 1.7, fill, edge);
}
