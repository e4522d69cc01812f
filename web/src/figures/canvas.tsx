import { useLayoutEffect, useRef } from "preact/hooks";

import { penOf } from "../plot/canvas_pen";
import type { Drawing, Pen } from "../plot/pen";

interface CanvasProps {
  drawing: Drawing;
  /// marks that change often, on a second canvas so that the figure is not drawn again
  overlay?: (pen: Pen) => void;
  label: string;
  onPoint?: (x: number, y: number) => void;
  onLeave?: () => void;
  onPick?: (x: number, y: number) => void;
}

export function Canvas({ drawing, overlay, label, onPoint, onLeave, onPick }: CanvasProps) {
  const base = useRef<HTMLCanvasElement>(null);
  const top = useRef<HTMLCanvasElement>(null);

  useLayoutEffect(() => {
    const pen = base.current && penOf(base.current, drawing.width, drawing.height);
    if (pen) drawing.draw(pen);
  }, [drawing]);
  useLayoutEffect(() => {
    const pen = overlay && top.current && penOf(top.current, drawing.width, drawing.height);
    if (pen) overlay(pen);
  }, [drawing, overlay]);

  const at = (event: MouseEvent, use?: (x: number, y: number) => void) => use?.(event.offsetX, event.offsetY);
  return (
    <div class="canvas" role="img" aria-label={label}>
      <canvas ref={base} />
      {overlay && (
        <canvas
          ref={top}
          class="overlay"
          onPointerMove={(event) => at(event, onPoint)}
          onPointerLeave={onLeave}
          onClick={(event) => at(event, onPick)}
        />
      )}
    </div>
  );
}
