/// Numbers as people read them: enough digits, thousands separators, a dash for "no data".

export const kDash = "–";

const grouped = (digits: number) =>
  new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const formats = [grouped(0), grouped(1), grouped(2), grouped(3)];

export function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

export function fixed(value: unknown, digits: number): string {
  return isNumber(value) ? formats[digits]!.format(value) : kDash;
}

export function integer(value: unknown): string {
  return fixed(value, 0);
}

/// Shares in [0, 1].
export function share(value: unknown): string {
  return fixed(value, 3);
}

export function percent(value: unknown): string {
  if (!isNumber(value)) return kDash;
  const hundred = value * 100;
  return `${fixed(hundred, hundred > 0 && hundred < 1 ? 1 : 0)} %`;
}

/// About three significant digits for magnitudes of unknown size.
export function magnitude(value: unknown): string {
  if (!isNumber(value)) return kDash;
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size < 0.001 || size >= 1e9) return value.toExponential(1).replace("e+", "e");
  if (size < 1) return fixed(value, 3);
  if (size < 10) return fixed(value, 2);
  if (size < 100) return fixed(value, 1);
  return fixed(value, 0);
}

/// Axis ticks: short, without trailing zeros.
export function tick(value: number): string {
  if (value !== 0 && (Math.abs(value) >= 1e7 || Math.abs(value) < 1e-3)) {
    return Number(value.toPrecision(6)).toExponential().replace("e+", "e");
  }
  return (value + 0).toLocaleString("en-US", { maximumFractionDigits: 4 }); // + 0: no "-0"
}

/// Five significant digits, for numbers that people compare with others; whole numbers in full.
export function significant(value: unknown): string {
  if (!isNumber(value)) return kDash;
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return integer(value + 0);
  const rounded = Number(value.toPrecision(5));
  if (size < 1e-3 || size >= 1e9) return rounded.toExponential().replace("e+", "e");
  return rounded.toLocaleString("en-US", { maximumSignificantDigits: 5 });
}

/// The begin of a text of any length.
export function short(text: string, most = 40): string {
  return text.length > most ? `${text.slice(0, most - 1).trimEnd()}…` : text;
}

export function headName(layer: number, head: number): string {
  return `L${layer}H${head}`;
}

/// A value of any kind from the run facts.
export function fact(value: unknown): string {
  if (value === null || value === undefined || value === "") return kDash;
  if (typeof value === "number") {
    return Number.isInteger(value) ? integer(value) : String(Number(value.toPrecision(6)));
  }
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value))
    return value.length
      ? value.map((v) => (typeof v === "object" ? JSON.stringify(v) : String(v))).join(", ")
      : kDash;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
