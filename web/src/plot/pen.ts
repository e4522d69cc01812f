/// What a figure draws with. The same drawing code fills a canvas (screen, PNG) or an SVG file.
export interface Stroke {
  color: string;
  width?: number;
  dash?: number[];
}

export interface TextStyle {
  color: string;
  size?: number;
  weight?: "normal" | "bold";
  align?: "left" | "center" | "right";
  baseline?: "top" | "middle" | "bottom";
  /// quarter turn to the left, for the name of a vertical axis
  upright?: boolean;
}

/// A figure laid out for one width.
export interface Drawing {
  width: number;
  height: number;
  draw(pen: Pen): void;
}

export type Points = readonly (readonly [number, number])[];

export interface Pen {
  rect(x: number, y: number, width: number, height: number, fill: string | null, stroke?: Stroke): void;
  line(points: Points, stroke: Stroke): void;
  polygon(points: Points, fill: string, stroke?: Stroke): void;
  circle(x: number, y: number, radius: number, fill: string | null, stroke?: Stroke): void;
  text(text: string, x: number, y: number, style: TextStyle): void;
  /// What `draw` draws is moved by (dx, dy).
  moved(dx: number, dy: number, draw: () => void): void;
}

export const kFont = 'system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
export const kTextSize = 14;

let ruler: CanvasRenderingContext2D | null = null;

export function textWidth(text: string, size = kTextSize, weight = "normal"): number {
  ruler ??= document.createElement("canvas").getContext("2d");
  if (!ruler) return text.length * size * 0.6;
  ruler.font = `${weight} ${size}px ${kFont}`;
  return ruler.measureText(text).width;
}

/// Breaks a text into lines of at most `width` pixels.
export function wrapText(text: string, width: number, size = kTextSize): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line ? `${line} ${word}` : word;
    if (line && textWidth(longer, size) > width) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  if (line) lines.push(line);
  return lines;
}
