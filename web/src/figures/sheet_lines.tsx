import { useMemo, useState } from "preact/hooks";

import type { SheetPlot } from "../data/document";
import { type Sheet } from "../data/sheet";
import { cellName, choicesOf, groupsOf, sheetLines, type RowGroup } from "../plot/sheet_lines";
import { integer } from "../ui/format";
import { LineChart } from "./line_chart";
import { captionOf } from "./sheet_caption";

/// With more lines than this the reader can choose among them.
const kFewLines = 4;

/// Lines of a table: one per series, with its band or its fitted power law.
export function SheetLineChart({ id, sheet, plot }: { id: string; sheet: Sheet; plot: SheetPlot }) {
  const [chosen, setChosen] = useState<Record<string, string>>({});
  const groups = useMemo(() => groupsOf(sheet.table(plot.table)!, plot.series), [sheet, plot]);
  const choices = groups.length > kFewLines ? choicesOf(groups, plot.series) : [];
  const { plan, lines, drawn, left } = useMemo(() => {
    const keep = (group: RowGroup) =>
      plot.series.every((name, i) => !chosen[name] || chosen[name] === JSON.stringify(group.cells[i]));
    return sheetLines(sheet, plot, keep);
  }, [sheet, plot, chosen]);
  return (
    <LineChart id={id} title={plot.title} definition={captionOf(sheet, plot)} plan={plan}>
      {choices.length > 0 && (
        <div class="toolbar">
          {choices.map(({ name, values }) => (
            <label class="control" key={name}>
              {name}{" "}
              <select
                value={chosen[name] ?? ""}
                onChange={(event) => setChosen({ ...chosen, [name]: event.currentTarget.value })}
              >
                <option value="">all</option>
                {values.map((value) => (
                  <option key={JSON.stringify(value)} value={JSON.stringify(value)}>
                    {cellName(value)}
                  </option>
                ))}
              </select>
            </label>
          ))}
        </div>
      )}
      {drawn < lines && (
        <p class="note">
          {integer(drawn)} of {integer(lines)} lines are drawn; choose among them to see the others.
        </p>
      )}
      {left > 0 && (
        <p class="note">
          {integer(left)} {left === 1 ? "row has" : "rows have"} no place here: no data
          {plot.kind === "log-log" ? ", or 0 or less on a log axis" : ""}.
        </p>
      )}
    </LineChart>
  );
}
