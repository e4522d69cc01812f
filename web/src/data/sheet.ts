import { isNumber, short } from "../ui/format";
import type { Section, SheetCell, SheetColumn, SheetDocument, SheetPlot, SheetTable } from "./document";
import { list } from "./page";

const kMostColumns = 100;
const kMostTitle = 300;
const kPlotKinds = ["lines", "log-x", "log-log", "map"];
const kTrainSchema = /^sinkscope\.train\//;

/// Of a training: the columns that name a row's run, its step and the run's arm, and the table of
/// the results.
export const kRunColumn = "run";
const kStepColumn = "step";
const kArmColumn = "arm";
const kResultsTable = "results";

/// What the view of a calculator or of a training reads: tables whose rows fit their columns, and
/// plots whose columns exist. What does not fit is left out and named in `notices`.
export class Sheet {
  /// of a training, not of a calculator
  readonly training: boolean;
  /// the calculator or the task
  readonly subject: string;
  readonly settings: Section;
  readonly findings: string[];
  readonly warnings: string[];
  readonly notices: string[] = [];
  readonly tables: SheetTable[] = [];
  readonly plots: SheetPlot[] = [];

  constructor(readonly document: SheetDocument) {
    this.training = kTrainSchema.test(document.schema);
    this.subject = text(this.training ? document.task : document.what);
    this.settings = section(document.settings);
    this.findings = list<unknown>(document.findings).filter(isText);
    this.warnings = list<unknown>(document.warnings).filter(isText);
    list<unknown>(document.tables).forEach((table, i) => this.readTable(section(table), `tables[${i}]`));
    list<unknown>(document.plots).forEach((plot, i) => this.readPlot(section(plot), `plots[${i}]`));
  }

  table(name: string): SheetTable | undefined {
    return this.tables.find((table) => table.name === name);
  }

  /// The runs of a training, in the order of its tables.
  runs(): string[] {
    const names = new Set<string>();
    if (!this.training) return [];
    for (const table of this.tables) {
      const column = columnOf(table, kRunColumn);
      for (const row of table.rows) {
        const name = row[column];
        if (isText(name)) names.add(name);
      }
    }
    return [...names];
  }

  /// The arm of each run, as the table of results has it.
  arms(): Map<string, string> {
    const arms = new Map<string, string>();
    const table = this.training ? this.table(kResultsTable) : undefined;
    if (!table) return arms;
    const [run, arm] = [kRunColumn, kArmColumn].map((name) => columnOf(table, name));
    for (const row of table.rows) {
      const [name, of] = [row[run!], row[arm!]];
      if (isText(name) && isText(of)) arms.set(name, of);
    }
    return arms;
  }

  /// Whether a training adds to the table while it goes on.
  isRecord(table: SheetTable): boolean {
    return this.training && table.name !== kResultsTable && columnOf(table, kStepColumn) >= 0;
  }

  /// The same sheet with the rows of one run alone; tables without runs as they are.
  ofRun(run: string): Sheet {
    const tables = this.tables.map((table) => {
      const column = columnOf(table, kRunColumn);
      return column < 0 ? table : { ...table, rows: table.rows.filter((row) => row[column] === run) };
    });
    return Object.assign(Object.create(Sheet.prototype) as Sheet, this, { tables });
  }

  private note(text: string): void {
    this.notices.push(short(text, kMostTitle));
  }

  private readTable(table: Section, place: string): void {
    const name = text(table["name"]);
    const columns = list<unknown>(table["columns"]).map(readColumn);
    const names = new Set(columns.map((column) => column.name));
    const fault =
      name === ""
        ? "has no name"
        : this.table(name)
          ? `is a second table "${name}"`
          : names.size !== columns.length || names.has("")
            ? `"${name}" has columns without a name of their own`
            : columns.length === 0 || columns.length > kMostColumns
              ? `"${name}" has ${columns.length} columns, 1 to ${kMostColumns} can be shown`
              : "";
    if (fault) {
      this.note(`${place} ${fault}; not shown`);
      return;
    }
    const given = list<unknown>(table["rows"]);
    const fitting = given.filter(
      (row): row is unknown[] => Array.isArray(row) && row.length === columns.length,
    );
    if (fitting.length < given.length) {
      this.note(
        `${place} "${name}": ${given.length - fitting.length} of ${given.length} rows do not have ` +
          `${columns.length} cells; not shown`,
      );
    }
    let strange = 0;
    const rows = fitting.map((row) =>
      row.map((cell): SheetCell => {
        const known = readCell(cell);
        if (known !== undefined) return known;
        ++strange;
        return null;
      }),
    );
    if (strange > 0) {
      this.note(
        `${place} "${name}": ${strange} cells are no number, text or list of numbers; shown as no data`,
      );
    }
    this.tables.push({ name, title: short(text(table["title"]) || name, kMostTitle), columns, rows });
  }

  private readPlot(given: Section, place: string): void {
    const plot: SheetPlot = {
      kind: text(given["kind"]) as SheetPlot["kind"],
      table: text(given["table"]),
      title: text(given["title"]),
      x: text(given["x"]),
      y: text(given["y"]),
      series: list<unknown>(given["series"]).filter(isText),
      lower: text(given["lower"]),
      upper: text(given["upper"]),
      value: text(given["value"]),
      fit: text(given["fit"]),
    };
    plot.title = short(plot.title || [plot.y, plot.x].filter(Boolean).join(" by "), kMostTitle);
    const fault = this.faultOf(plot);
    if (fault) {
      this.note(`${place} "${plot.title}": ${fault}; not drawn`);
      return;
    }
    const fitFault = plot.fit && this.faultOfFit(plot);
    if (fitFault) {
      this.note(`${place} "${plot.title}": ${fitFault}; its fitted lines are not drawn`);
      plot.fit = "";
    }
    this.plots.push(plot);
  }

  private faultOf(plot: SheetPlot): string {
    if (!kPlotKinds.includes(plot.kind)) return `kind ${JSON.stringify(plot.kind)} is not known`;
    const table = this.table(plot.table);
    if (!table) return `no table "${plot.table}"`;
    const map = plot.kind === "map";
    const numbers = map ? [] : [plot.y, ...[plot.lower, plot.upper].filter((name) => name !== "")];
    if (plot.kind.startsWith("log-")) numbers.push(plot.x);
    const columns = [plot.x, plot.y, ...(map ? [plot.value] : []), ...plot.series, ...numbers];
    for (const name of columns) {
      if (columnOf(table, name) < 0) return `table "${plot.table}" has no column "${name}"`;
      const kind = kindOf(table, name);
      if (kind === "list" || (kind === "text" && numbers.includes(name)))
        return `column "${name}" holds ${kind === "list" ? "lists" : "texts"}`;
    }
    return "";
  }

  private faultOfFit(plot: SheetPlot): string {
    const table = this.table(plot.fit);
    if (!table) return `no table "${plot.fit}"`;
    const missing = [...plot.series, ...kFitColumns].find((name) => columnOf(table, name) < 0);
    return missing === undefined ? "" : `table "${plot.fit}" has no column "${missing}"`;
  }
}

/// Columns of a table of fits, beside those of the series.
export const kFitColumns = ["exponent", "factor", "from", "to"] as const;

/// -1 where there is none.
export function columnOf(table: SheetTable, name: string): number {
  return table.columns.findIndex((column) => column.name === name);
}

/// What a column holds: lists or texts where at least one cell is one.
export function kindOf(table: SheetTable, name: string): "number" | "text" | "list" {
  const column = columnOf(table, name);
  let kind: "number" | "text" = "number";
  for (const row of table.rows) {
    if (Array.isArray(row[column])) return "list";
    if (isText(row[column])) kind = "text";
  }
  return kind;
}

export interface Check {
  check: string;
  expected: string;
  measured: string;
  holds: boolean;
}

export const kChecksTable = "checks";

/// null without a table of checks; one that says nothing of `holds` does not hold.
export function checksOf(sheet: Sheet): Check[] | null {
  const table = sheet.table(kChecksTable);
  if (!table) return null;
  return table.rows.map((row) => {
    const cell = (name: string) => row[columnOf(table, name)];
    const words = (name: string) => {
      const value = cell(name);
      return isText(value) || isNumber(value) ? String(value) : "–";
    };
    return {
      check: words("check"),
      expected: words("expected"),
      measured: words("measured"),
      holds: cell("holds") === 1,
    };
  });
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function text(value: unknown): string {
  return isText(value) ? value : "";
}

function section(value: unknown): Section {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? (value as Section) : {};
}

function readColumn(value: unknown): SheetColumn {
  const column = section(value);
  return {
    name: text(column["name"]),
    unit: text(column["unit"]),
    definition: text(column["definition"]),
  };
}

/// undefined for what no cell can be.
function readCell(value: unknown): SheetCell | undefined {
  if (value === null || isNumber(value) || isText(value)) return value;
  if (Array.isArray(value) && value.every((entry) => entry === null || isNumber(entry)))
    return value as SheetCell;
  return undefined;
}
