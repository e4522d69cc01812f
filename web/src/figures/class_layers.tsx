import { useMemo } from "preact/hooks";

import { classCounts, classLayersDrawing } from "../plot/class_layers";
import { useReport } from "../ui/context";
import { useWidth } from "../ui/hooks";
import { Canvas } from "./canvas";
import { Figure } from "./figure";

/// How many heads of each class every layer has.
export function ClassLayers() {
  const { page, palette } = useReport();
  const [box, width] = useWidth<HTMLDivElement>();
  const drawing = useMemo(
    () => classLayersDrawing(page, palette, Math.max(240, width)),
    [page, palette, width],
  );
  return (
    <Figure
      id="class-layers"
      title="Sink classes by layer"
      definition="Number of heads of each class; a head has the class that it shows in most of the sequences with a sink event."
      drawing={(w) => classLayersDrawing(page, palette, w)}
      csv={() => ({
        header: ["layer", "none", "nop", "broadcast", "other", "too_short"],
        rows: classCounts(page).map((c, layer) => [layer, c.none, c.nop, c.broadcast, c.other, c.too_short]),
      })}
    >
      <div ref={box}>
        {width > 0 && <Canvas drawing={drawing} label="Stacked bars: heads by class for each layer" />}
      </div>
    </Figure>
  );
}
