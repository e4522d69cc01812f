import { kFont, kTextSize, type Pen, type Points, type Stroke, type TextStyle } from "./pen";

export class CanvasPen implements Pen {
  constructor(private readonly context: CanvasRenderingContext2D) {}

  rect(x: number, y: number, width: number, height: number, fill: string | null, stroke?: Stroke): void {
    if (fill) {
      this.context.fillStyle = fill;
      this.context.fillRect(x, y, width, height);
    }
    if (stroke) {
      this.use(stroke);
      this.context.strokeRect(x, y, width, height);
    }
  }

  line(points: Points, stroke: Stroke): void {
    this.trace(points);
    this.use(stroke);
    this.context.stroke();
  }

  polygon(points: Points, fill: string, stroke?: Stroke): void {
    this.trace(points);
    this.context.closePath();
    this.paint(fill, stroke);
  }

  circle(x: number, y: number, radius: number, fill: string | null, stroke?: Stroke): void {
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 2 * Math.PI);
    this.paint(fill, stroke);
  }

  text(text: string, x: number, y: number, style: TextStyle): void {
    const context = this.context;
    context.font = `${style.weight ?? "normal"} ${style.size ?? kTextSize}px ${kFont}`;
    context.fillStyle = style.color;
    context.textAlign = style.align ?? "left";
    context.textBaseline = style.baseline ?? "middle";
    if (!style.upright) {
      context.fillText(text, x, y);
      return;
    }
    context.save();
    context.translate(x, y);
    context.rotate(-Math.PI / 2);
    context.fillText(text, 0, 0);
    context.restore();
  }

  moved(dx: number, dy: number, draw: () => void): void {
    this.context.save();
    this.context.translate(dx, dy);
    draw();
    this.context.restore();
  }

  private trace(points: Points): void {
    this.context.beginPath();
    points.forEach(([x, y], i) => (i ? this.context.lineTo(x, y) : this.context.moveTo(x, y)));
  }

  private paint(fill: string | null, stroke?: Stroke): void {
    if (fill) {
      this.context.fillStyle = fill;
      this.context.fill();
    }
    if (stroke) {
      this.use(stroke);
      this.context.stroke();
    }
  }

  private use(stroke: Stroke): void {
    this.context.strokeStyle = stroke.color;
    this.context.lineWidth = stroke.width ?? 1;
    this.context.setLineDash(stroke.dash ?? []);
  }
}

/// Gives the canvas its size in CSS pixels and as many device pixels as the screen has, and a
/// cleared pen in CSS pixels.
export function penOf(canvas: HTMLCanvasElement, width: number, height: number): Pen | null {
  const ratio = Math.max(1, devicePixelRatio || 1);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  if (!context) return null;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return new CanvasPen(context);
}
