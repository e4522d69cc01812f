import type { SheetPlot } from "../data/document";
import type { Sheet } from "../data/sheet";

/// What a figure of a table shows, in the words of its columns.
export function captionOf(sheet: Sheet, plot: SheetPlot): string {
  const columns = sheet.table(plot.table)?.columns ?? [];
  const meaning = (name: string) => columns.find((column) => column.name === name)?.definition ?? "";
  const told = (name: string) => sentence(meaning(name) ? `${name}: ${meaning(name)}` : name);
  if (plot.kind === "map") return `${told(plot.value)} By ${plot.x} and ${plot.y}.`;
  const parts = [told(plot.y), told(plot.x)];
  if (plot.lower && plot.upper) parts.push(`The band goes from ${plot.lower} to ${plot.upper}.`);
  if (plot.fit) parts.push("Dashed: fitted power laws; their exponents stand beside the lines.");
  return parts.join(" ");
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
