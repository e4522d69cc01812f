import type { ComponentChildren } from "preact";

import { CanvasPen } from "../plot/canvas_pen";
import { kTextSize, type Drawing, type Pen, wrapText } from "../plot/pen";
import { SvgPen } from "../plot/svg_pen";
import { useFrame } from "../ui/context";
import { csvText, fileName, save, type Cell } from "../ui/download";
import type { Palette } from "../ui/theme";

export interface Csv {
  header: string[];
  rows: Cell[][];
}

interface FigureProps {
  id: string;
  title: string;
  definition: string;
  formula?: string;
  /// The figure for a file, laid out for this width.
  drawing: (width: number) => Drawing;
  csv: () => Csv;
  children: ComponentChildren;
}

const kFileWidth = 900;
const kMargin = 20;
const kTitleSize = 17;

/// The figure with title and definition, as it goes into a file.
function printed(props: FigureProps, palette: Palette): Drawing {
  const inner = props.drawing(kFileWidth - 2 * kMargin);
  const lines = wrapText(props.definition, kFileWidth - 2 * kMargin);
  const top = kMargin + 30 + lines.length * 20 + 12;
  return {
    width: kFileWidth,
    height: Math.ceil(top + inner.height + kMargin),
    draw(pen: Pen) {
      pen.rect(0, 0, kFileWidth, this.height, palette.background);
      pen.text(props.title, kMargin, kMargin + 8, { color: palette.text, size: kTitleSize, weight: "bold" });
      lines.forEach((line, i) =>
        pen.text(line, kMargin, kMargin + 36 + i * 20, { color: palette.muted, size: kTextSize }),
      );
      pen.moved(kMargin, top, () => inner.draw(pen));
    },
  };
}

function savePng(name: string, drawing: Drawing): void {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [drawing.width * 2, drawing.height * 2];
  const context = canvas.getContext("2d");
  if (!context) return;
  context.scale(2, 2);
  drawing.draw(new CanvasPen(context));
  // Not toBlob: it waits for the browser to be idle, on a busy machine for seconds.
  const text = atob(canvas.toDataURL("image/png").split(",")[1] ?? "");
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  save(name, new Blob([bytes], { type: "image/png" }));
}

function saveSvg(name: string, drawing: Drawing): void {
  const pen = new SvgPen();
  drawing.draw(pen);
  save(name, pen.document(drawing.width, drawing.height), "image/svg+xml");
}

/// Frame of every figure: title, definition, formula on demand, downloads.
export function Figure(props: FigureProps) {
  const { file, palette } = useFrame();
  const name = (extension: string) => fileName(file, props.id, extension);
  const button = (label: string, action: () => void) => (
    <button type="button" aria-label={`Download ${label} of: ${props.title}`} onClick={action}>
      {label}
    </button>
  );
  return (
    <figure id={props.id}>
      <div class="figure-head">
        <h3>{props.title}</h3>
        <span class="downloads">
          {button("PNG", () => savePng(name("png"), printed(props, palette)))}
          {button("SVG", () => saveSvg(name("svg"), printed(props, palette)))}
          {button("CSV", () => {
            const { header, rows } = props.csv();
            save(name("csv"), csvText(header, rows), "text/csv");
          })}
        </span>
      </div>
      <figcaption>
        {props.definition}
        {props.formula && (
          <details class="formula">
            <summary>Formula</summary>
            <code>{props.formula}</code>
          </details>
        )}
      </figcaption>
      {props.children}
    </figure>
  );
}
