import { kFont, kTextSize, type Pen, type Points, type Stroke, type TextStyle } from "./pen";

const kAnchor = { left: "start", center: "middle", right: "end" } as const;
const kBaseline = { top: "hanging", middle: "central", bottom: "text-after-edge" } as const;

function number(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function escape(text: string): string {
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

function paint(fill: string | null, stroke?: Stroke): string {
  const dash = stroke?.dash?.length ? ` stroke-dasharray="${stroke.dash.join(" ")}"` : "";
  const line = stroke ? ` stroke="${stroke.color}" stroke-width="${stroke.width ?? 1}"${dash}` : "";
  return ` fill="${fill ?? "none"}"${line}`;
}

export class SvgPen implements Pen {
  private readonly parts: string[] = [];

  rect(x: number, y: number, width: number, height: number, fill: string | null, stroke?: Stroke): void {
    this.parts.push(
      `<rect x="${number(x)}" y="${number(y)}" width="${number(width)}" height="${number(height)}"${paint(fill, stroke)}/>`,
    );
  }

  line(points: Points, stroke: Stroke): void {
    this.parts.push(`<polyline points="${join(points)}"${paint(null, stroke)}/>`);
  }

  polygon(points: Points, fill: string, stroke?: Stroke): void {
    this.parts.push(`<polygon points="${join(points)}"${paint(fill, stroke)}/>`);
  }

  circle(x: number, y: number, radius: number, fill: string | null, stroke?: Stroke): void {
    this.parts.push(
      `<circle cx="${number(x)}" cy="${number(y)}" r="${number(radius)}"${paint(fill, stroke)}/>`,
    );
  }

  text(text: string, x: number, y: number, style: TextStyle): void {
    const turn = style.upright ? ` transform="rotate(-90 ${number(x)} ${number(y)})"` : "";
    const weight = style.weight === "bold" ? ' font-weight="bold"' : "";
    this.parts.push(
      `<text x="${number(x)}" y="${number(y)}" fill="${style.color}" font-size="${style.size ?? kTextSize}"${weight}` +
        ` text-anchor="${kAnchor[style.align ?? "left"]}" dominant-baseline="${kBaseline[style.baseline ?? "middle"]}"${turn}>` +
        `${escape(text)}</text>`,
    );
  }

  moved(dx: number, dy: number, draw: () => void): void {
    this.parts.push(`<g transform="translate(${number(dx)} ${number(dy)})">`);
    draw();
    this.parts.push("</g>");
  }

  document(width: number, height: number): string {
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" font-family="${escape(kFont)}">\n${this.parts.join("\n")}\n</svg>\n`
    );
  }
}

function join(points: Points): string {
  return points.map(([x, y]) => `${number(x)},${number(y)}`).join(" ");
}
