import { useMemo, useState } from "preact/hooks";

import type { HeadRow } from "../data/document";
import type { Page } from "../data/page";
import type { Cell } from "../plot/grid";
import { patchMapDrawing, type PatchPlan, type PatchScale, patchValue } from "../plot/patch_map";
import { useReport } from "../ui/context";
import { headName, magnitude } from "../ui/format";
import { Figure, type Csv } from "./figure";
import { GridMap } from "./grid_map";

/// Where in the image a head looks: the mean attention that each patch receives. Only for runs
/// whose images have one grid.
export function PatchMap({ row }: { row: HeadRow }) {
  const { page, palette } = useReport();
  const [hover, setHover] = useState<Cell | null>(null);
  const [pinned, setPinned] = useState<Cell | null>(null);
  const [scale, setScale] = useState<PatchScale>("linear");
  const values = page.curve(row.layer, row.head);
  const grid = page.patches;
  const sink = row["sink_index"];
  const plan = useMemo((): PatchPlan | null => {
    if (!grid || !values) return null;
    const marked = page.patchAt(sink);
    const prefixNames = Array.from({ length: grid.prefix }, (_v, i) => page.positionName(i));
    return { grid, values, prefixNames, marked, scale, palette };
  }, [page, grid, values, sink, scale, palette]);
  const drawing = useMemo(() => plan && ((width: number) => patchMapDrawing(plan, width, false)), [plan]);
  if (!plan || !drawing) return null;
  const { rows, columns, prefix } = plan.grid;
  const strongest = strongestPatch(plan);
  const name = ({ row: r, column }: Cell) => page.positionName(prefix + r * columns + column);
  const most = `${name(strongest)} with ${magnitude(patchValue(plan, strongest))}`;
  const cell = hover ?? pinned;
  return (
    <Figure
      id="patches"
      title={`Attention that each patch receives in ${headName(row.layer, row.head)}`}
      definition={
        "Mean attention that the patch receives from the queries, over all images. The grid is that of the image, " +
        "without the tokens before the patches" +
        (plan.marked ? "; the framed patch is the most frequent dominant key." : ".")
      }
      formula="alpha_k = (1/n_k) Σ_i A_ik, k = tokens before the patches + row × columns + column"
      drawing={(width) => patchMapDrawing(plan, width, true)}
      csv={() => patchCsv(plan, page)}
    >
      <label class="control">
        Colours{" "}
        <select
          id="patch-scale"
          value={scale}
          onChange={(event) => setScale(event.currentTarget.value as PatchScale)}
        >
          <option value="linear">from 0 to the largest patch</option>
          <option value="share">from 0 to 1, to compare heads</option>
          <option value="log">logarithmic, to see the weak</option>
        </select>
      </label>
      <GridMap
        drawing={drawing}
        label={`Attention received by ${rows} by ${columns} patches; the most by ${most}`}
        keys="Map of the image's patches. Arrow keys choose a patch, Escape lets go."
        describedBy="patches-values"
        hover={hover}
        pinned={pinned}
        start={plan.marked ?? strongest}
        onHover={setHover}
        onPin={setPinned}
      />
      <p class="readout" id="patches-values" aria-live="polite">
        {cell ? (
          <>
            <b>{name(cell)}</b>
            <span>
              alpha <b>{magnitude(patchValue(plan, cell))}</b>
            </span>
          </>
        ) : (
          <span>
            The most by <b>{most}</b>. Point at a patch for its value.
          </span>
        )}
      </p>
      {prefix > 0 && <PrefixTokens plan={plan} sink={sink} />}
    </Figure>
  );
}

/// The tokens that are no part of the image.
function PrefixTokens({ plan, sink }: { plan: PatchPlan; sink: unknown }) {
  return (
    <table id="prefix-tokens">
      <caption>Tokens before the patches</caption>
      <thead>
        <tr>
          <th scope="col">token</th>
          <th scope="col" class="number">
            alpha
          </th>
        </tr>
      </thead>
      <tbody>
        {plan.prefixNames.map((name, i) => (
          <tr key={i}>
            <th scope="row">{i === sink ? `${name} (dominant key)` : name}</th>
            <td class="number">{magnitude(plan.values[i])}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function strongestPatch(plan: PatchPlan): Cell {
  const { rows, columns } = plan.grid;
  let best: Cell = { row: 0, column: 0 };
  for (let row = 0; row < rows; ++row) {
    for (let column = 0; column < columns; ++column) {
      if ((patchValue(plan, { row, column }) ?? -1) > (patchValue(plan, best) ?? -1)) best = { row, column };
    }
  }
  return best;
}

function patchCsv(plan: PatchPlan, page: Page): Csv {
  return {
    header: ["token", "row", "column", "alpha"],
    rows: plan.values.map((value, i) => {
      const patch = page.patchAt(i);
      return [page.positionName(i), patch?.row, patch?.column, value];
    }),
  };
}
