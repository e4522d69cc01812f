import { useMemo, useState } from "preact/hooks";

import type { SheetCell, SheetPlot } from "../data/document";
import { kRunColumn, type Sheet } from "../data/sheet";
import type { LineSeries } from "../plot/lines";
import { panelsDrawing, type Panel } from "../plot/panels";
import { cellName, choicesOf, groupsOf, type RowGroup } from "../plot/row_groups";
import { sheetLines } from "../plot/sheet_lines";
import { useFrame } from "../ui/context";
import { integer, isNumber } from "../ui/format";
import { Figure, type Csv } from "./figure";
import { LineBox, lineCsv } from "./line_chart";
import { captionOf } from "./sheet_caption";

/// With more lines than this the reader can choose among them.
const kFewLines = 4;
const kPanelHeight = 250;

/// Lines of a table: one per series, with its band or its fitted power law.
export function SheetLineChart({ id, sheet, plot }: { id: string; sheet: Sheet; plot: SheetPlot }) {
  const { palette } = useFrame();
  const [chosen, setChosen] = useState<Record<string, string>>({});
  const groups = useMemo(() => groupsOf(sheet.table(plot.table)!, plot.series), [sheet, plot]);
  // The run of a training is chosen once for all figures.
  const choices =
    groups.length > kFewLines
      ? choicesOf(groups, plot.series).filter(({ name }) => !sheet.training || name !== kRunColumn)
      : [];
  const { panels, lines, drawn, left } = useMemo(() => {
    const keep = (group: RowGroup) =>
      plot.series.every((name, i) => !chosen[name] || chosen[name] === JSON.stringify(group.cells[i]));
    return sheetLines(sheet, plot, keep);
  }, [sheet, plot, chosen]);
  const choose = (name: string, value: string) => setChosen({ ...chosen, [name]: value });
  const several = panels.length > 1;
  if (panels.every(({ plan }) => plan.x.length === 0 || plan.series.every(isEmpty))) {
    return (
      <p class="card empty" id={id}>
        {plot.title}: no row of the table has a number to draw.
      </p>
    );
  }
  return (
    <Figure
      id={id}
      title={plot.title}
      definition={captionOf(sheet, plot)}
      drawing={(width) => panelsDrawing(panels, palette, width)}
      csv={() => panelsCsv(panels)}
    >
      {choices.length > 0 && (
        <div class="toolbar">
          {choices.map(({ name, values }) => (
            <Choice
              key={name}
              name={name}
              values={values}
              chosen={chosen[name] ?? ""}
              onChoose={(value) => choose(name, value)}
            />
          ))}
        </div>
      )}
      <div class={several ? "panels" : ""}>
        {panels.map(({ label, plan }) => (
          <div key={label}>
            {several && <h4>{label}</h4>}
            <LineBox
              plan={plan}
              label={several ? `${plot.title}, ${label}` : plot.title}
              height={several ? kPanelHeight : undefined}
            />
          </div>
        ))}
      </div>
      {panels.some(({ plan }) => plan.series.some((series) => series.bundle)) && (
        <p class="note">
          Thin lines are runs that differ in their seed; ×3 in the legend stands for three of them.
        </p>
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
    </Figure>
  );
}

function isEmpty({ values }: LineSeries): boolean {
  return !values.some(isNumber);
}

interface ChoiceProps {
  name: string;
  values: SheetCell[];
  /// "" for all
  chosen: string;
  onChoose: (value: string) => void;
}

function Choice({ name, values, chosen, onChoose }: ChoiceProps) {
  return (
    <label class="control">
      {name}{" "}
      <select value={chosen} onChange={(event) => onChoose(event.currentTarget.value)}>
        <option value="">all</option>
        {values.map((value) => (
          <option key={JSON.stringify(value)} value={JSON.stringify(value)}>
            {cellName(value)}
          </option>
        ))}
      </select>
    </label>
  );
}

/// One panel as it is; of several the first column names the panel, and each line keeps its column.
function panelsCsv(panels: Panel[]): Csv {
  const tables = panels.map(({ plan }) => lineCsv(plan));
  if (tables.length === 1) return tables[0]!;
  const names = [...new Set(tables.flatMap(({ header }) => header))];
  return {
    header: ["panel", ...names],
    rows: tables.flatMap(({ header, rows }, i) => {
      const places = names.map((name) => header.indexOf(name));
      return rows.map((row) => [panels[i]!.label, ...places.map((place) => row[place])]);
    }),
  };
}
