/// The documents that the program puts into the page; docs/json.md defines them. Every part that
/// may be absent is optional here: the page shows what is there.

export type Maybe = number | null;
export type ClassName = "none" | "nop" | "broadcast" | "other" | "too_short";

export interface HeadRow {
  layer: number;
  head: number;
  kv_head?: Maybe;
  alpha?: Maybe[];
  class?: ClassName | null;
  [metric: string]: unknown;
}

export interface TopActivation {
  channel: number;
  position: number;
  value: number;
}

export interface LayerRow {
  layer: number;
  top_activations?: TopActivation[];
  [metric: string]: unknown;
}

export type Section = Record<string, unknown>;

export interface ScanDocument {
  schema: string;
  tool?: Section;
  model: Section & { layers: number; heads: number };
  inputs?: Section;
  thresholds?: Record<string, Maybe>;
  summary?: Section;
  heads: HeadRow[];
  layers?: LayerRow[];
  warnings?: string[];
  timing?: Section;
}

export interface Finding {
  text: string;
  view?: string | null;
  layer?: Maybe;
  head?: Maybe;
}

/// [sequence, layer, head, sink_index, alpha_sink, routed, ratio_head, ratio_out, stable_rank, class code]
export type EventPoint = [number, number, number, number, Maybe, Maybe, Maybe, Maybe, Maybe, number];

export interface SequenceRow {
  id: number;
  source?: string;
  start?: number;
  tokens?: number;
  labels?: string[];
}

export interface MetricText {
  name: string;
  unit?: string;
  definition?: string;
}

export interface PageDocument {
  schema: string;
  scan: ScanDocument;
  findings?: Finding[];
  classes?: string[];
  alpha?: { positions: number; heads: ((Maybe[] | null)[] | null)[] } | null;
  points?: EventPoint[];
  points_total?: number;
  extra?: Record<string, ((Maybe[] | null)[] | null) | undefined>;
  layers_extra?: Record<string, Maybe[] | undefined>;
  sequences?: SequenceRow[];
  metrics?: MetricText[];
}

/// A list is the vector of a certificate or the like.
export type SheetCell = Maybe | string | Maybe[];

export interface SheetColumn {
  name: string;
  unit: string;
  definition: string;
}

export interface SheetTable {
  name: string;
  title: string;
  columns: SheetColumn[];
  rows: SheetCell[][];
}

/// A picture of one table; every name is one of its columns, "" for none.
export interface SheetPlot {
  kind: "lines" | "log-x" | "log-log" | "map";
  table: string;
  title: string;
  x: string;
  y: string;
  series: string[];
  lower: string;
  upper: string;
  value: string;
  fit: string;
}

/// sinkscope.theory/1, and sinkscope.train/1 with `task` in place of `what`
export interface SheetDocument {
  schema: string;
  tool?: Section;
  what?: string | null;
  task?: string | null;
  settings?: Section;
  tables?: SheetTable[];
  plots?: SheetPlot[];
  findings?: string[];
  warnings?: string[];
  timing?: Section;
}
