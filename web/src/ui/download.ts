/// A list of numbers becomes one field, separated by spaces.
export type Cell = string | number | null | undefined | readonly (number | null)[];

function cell(value: Cell): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  if (typeof value === "object") return value.map((number) => number ?? "nan").join(" ");
  // A leading = + - @ would be run as a formula by spreadsheets; text is data here.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/// RFC 4180 with a header line; empty fields for no data.
export function csvText(header: string[], rows: Cell[][]): string {
  return [header, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

export function save(name: string, content: Blob | string, type = "text/plain"): void {
  const blob = typeof content === "string" ? new Blob([content], { type: `${type};charset=utf-8` }) : content;
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/// A file name from the last part of a path and the figure.
export function fileName(path: string, figure: string, extension: string): string {
  const base =
    path
      .replace(/[\\/]+$/, "")
      .split(/[\\/]/)
      .pop() ?? "run";
  return `${base.replace(/[^\w.-]+/g, "_").slice(0, 60) || "run"}-${figure}.${extension}`;
}
