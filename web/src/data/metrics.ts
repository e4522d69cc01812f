import type { HeadRow, Maybe } from "./document";
import type { Page } from "./page";
import { isNumber, magnitude, share } from "../ui/format";

/// How values become colours: shares on 0..1, magnitudes on a log or linear axis, differences on a
/// two-sided one, classes by letter.
export type MetricScale = "share" | "log" | "linear" | "diverging" | "class";

export interface Metric {
  id: string;
  label: string;
  axis: string;
  definition: string;
  formula?: string;
  scale: MetricScale;
  format: (value: unknown) => string;
  value: (row: HeadRow) => Maybe;
}

type Source = (page: Page, row: HeadRow) => unknown;

interface Known {
  id: string;
  label: string;
  axis: string;
  definition: string;
  formula?: string;
  scale: MetricScale;
  source: Source;
}

const field =
  (name: string): Source =>
  (_page, row) =>
    row[name];
const extra =
  (name: string): Source =>
  (page, row) =>
    isNumber(row[name]) ? row[name] : page.extra(name, row.layer, row.head);

function alphaAtSink(page: Page, row: HeadRow): unknown {
  if (isNumber(row["alpha_sink"])) return row["alpha_sink"];
  const sink = row["sink_index"];
  if (!isNumber(sink)) return null;
  return page.curve(row.layer, row.head)?.[sink] ?? row.alpha?.[sink];
}

const kKnown: Known[] = [
  {
    id: "alpha_sink",
    label: "sink strength",
    axis: "alpha at the sink (share)",
    scale: "share",
    source: alphaAtSink,
    definition: "Mean attention that the head's dominant position receives from the queries that see it.",
    formula: "alpha_s = (1/n_s) Σ_i A_is, s = the eligible key with the largest alpha",
  },
  {
    id: "alpha_0",
    label: "alpha at position 0",
    axis: "alpha_0 (share)",
    scale: "share",
    source: (_page, row) => row.alpha?.[0],
    definition: "Mean attention that position 0 receives, averaged over the sequences.",
    formula: "alpha_0 = (1/n_0) Σ_i A_i0, n_0 = number of queries that see position 0",
  },
  {
    id: "class",
    label: "class",
    axis: "class",
    scale: "class",
    source: (_page, row) => row.class,
    definition:
      "What the sink does: N nothing (NOP), B broadcast, o other; the most frequent class over the sequences with a sink event.",
    formula:
      "event, then ratio_out ≤ nop_ratio: NOP; ratio_out ≥ broadcast_ratio and stable rank ≤ broadcast_stable_rank: broadcast; else other",
  },
  {
    id: "sink_share",
    label: "sink share",
    axis: "share of sequences",
    scale: "share",
    source: field("sink_share"),
    definition: "Share of the sequences in which the head has a sink.",
    formula: "alpha_s > epsilon and alpha_s ≥ min_lift × the alpha of a uniform head",
  },
  {
    id: "event_share",
    label: "event share",
    axis: "share of sequences",
    scale: "share",
    source: field("event_share"),
    definition: "Share of the sequences in which nearly every query gives most of its attention to the sink.",
    formula: "share of queries with A_is ≥ event_mass is at least event_query_share",
  },
  {
    id: "ratio_out",
    label: "ratio_out",
    axis: "ratio_out (× other tokens)",
    scale: "log",
    source: field("ratio_out"),
    definition:
      "Length of the sink's value after the output projection, relative to the other tokens; mean over sink events.",
    formula: "ratio_out = ‖u_s‖ / mean_{j≠s} ‖u_j‖, u_j = γ · W_O v_j",
  },
  {
    id: "ratio_head",
    label: "ratio_head",
    axis: "ratio_head (× other tokens)",
    scale: "log",
    source: field("ratio_head"),
    definition:
      "Length of the sink's value before the output projection, relative to the other tokens; mean over sink events.",
    formula: "ratio_head = ‖v_s‖ / mean_{j≠s} ‖v_j‖",
  },
  {
    id: "ratio_out_all",
    label: "ratio_out, all sequences",
    axis: "ratio_out (× other tokens)",
    scale: "log",
    source: extra("ratio_out_all"),
    definition: "ratio_out of the dominant position over all sequences, with or without a sink event.",
    formula: "ratio_out = ‖u_s‖ / mean_{j≠s} ‖u_j‖",
  },
  {
    id: "stable_rank",
    label: "stable rank",
    axis: "stable rank (1 = one vector)",
    scale: "log",
    source: field("stable_rank"),
    definition:
      "How many directions the head's update has: 1 when it writes one vector to every token; mean over sink events.",
    formula: "‖U‖_F² / ‖U‖_op², U = the head's updates o_i as rows",
  },
  {
    id: "common_mode",
    label: "common mode",
    axis: "share of the update's energy",
    scale: "share",
    source: field("common_mode"),
    definition: "Share of the head's update that is the same for every token; mean over sink events.",
    formula: "‖mean over tokens‖² n / ‖U‖_F²",
  },
  {
    id: "entropy_norm",
    label: "entropy, normalised",
    axis: "share of a uniform row's entropy",
    scale: "share",
    source: extra("entropy_norm"),
    definition: "How evenly a query spreads its attention: 0 all on one position, 1 uniform.",
    formula: "−Σ_j A_ij log A_ij / log |V(i)|, mean over queries",
  },
  {
    id: "entropy",
    label: "entropy",
    axis: "entropy (nats)",
    scale: "linear",
    source: field("entropy"),
    definition: "Mean entropy of the attention rows in nats.",
    formula: "−Σ_j A_ij log A_ij",
  },
  {
    id: "self_mass",
    label: "self mass",
    axis: "attention to itself (share)",
    scale: "share",
    source: field("self_mass"),
    definition: "Mean attention that a token gives to itself.",
    formula: "mean_i A_ii",
  },
  {
    id: "lift",
    label: "lift",
    axis: "lift (× uniform head)",
    scale: "log",
    source: extra("lift"),
    definition: "Attention of the dominant position relative to what a uniform head would give it.",
    formula: "alpha_s / u_s, u_s = (1/n_s) Σ_i 1/|V(i)|",
  },
  {
    id: "conditional_share",
    label: "conditional share",
    axis: "share of sequences",
    scale: "share",
    source: extra("conditional_share"),
    definition: "Share of the sequences in which some queries use the sink and others do not.",
    formula: "0.1 ≤ share of queries with A_is ≥ event_mass < event_query_share",
  },
  {
    id: "sink_index_share",
    label: "sink position agreement",
    axis: "share of sequences",
    scale: "share",
    source: field("sink_index_share"),
    definition: "Share of the sequences in which the most frequent sink position is the dominant one.",
  },
  {
    id: "qk_top_share",
    label: "QK top share",
    axis: "share of the spectrum",
    scale: "share",
    source: field("qk_top_share"),
    definition: "Share of the query-key matrix's singular values that the largest one holds.",
    formula: "σ_1 / Σ σ of W_Qᵀ W_K",
  },
];

const kNotMetrics = new Set([
  "layer",
  "head",
  "kv_head",
  "sink_index",
  "class",
  "conditional",
  "sink",
  "event",
  "too_short",
]);

function formatOf(scale: MetricScale): (value: unknown) => string {
  return scale === "share" ? share : magnitude;
}

/// The metrics that have data in this page: the known ones first, then whatever else the heads hold.
export function metricsOf(page: Page): Metric[] {
  const rows = page.measured();
  const metrics: Metric[] = [];
  for (const known of kKnown) {
    const value = (row: HeadRow): Maybe => {
      const found = known.source(page, row);
      return isNumber(found) ? found : null;
    };
    const present = rows.some((row) => (known.scale === "class" ? row.class : value(row) !== null));
    if (present) metrics.push({ ...known, value, format: formatOf(known.scale) });
  }
  const taken = new Set([...kKnown.map((known) => known.id), ...kNotMetrics]);
  const others = new Set<string>();
  for (const row of rows)
    for (const key of Object.keys(row)) if (!taken.has(key) && isNumber(row[key])) others.add(key);
  for (const id of others) metrics.push(otherMetric(page, rows, id));
  return metrics;
}

function otherMetric(page: Page, rows: HeadRow[], id: string): Metric {
  const text = page.document.metrics?.find((metric) => metric.name === id);
  const value = (row: HeadRow): Maybe => (isNumber(row[id]) ? (row[id] as number) : null);
  const values = rows.map(value).filter(isNumber);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const scale: MetricScale = low < 0 ? "diverging" : high <= 1 ? "share" : "linear";
  return {
    id,
    scale,
    value,
    label: id.replaceAll("_", " "),
    axis: text?.unit ? `${id} (${text.unit})` : id,
    definition: text?.definition ?? `The value "${id}" of the scan document.`,
    format: formatOf(scale),
  };
}

/// The default head of the page: the one with the strongest sink.
export function strongestHead(page: Page): { layer: number; head: number } {
  let best: HeadRow | undefined;
  let bestValue = -1;
  for (const row of page.measured()) {
    const value = alphaAtSink(page, row);
    if (isNumber(value) && value > bestValue) [best, bestValue] = [row, value];
  }
  best ??= page.measured()[0];
  return { layer: best?.layer ?? 0, head: best?.head ?? 0 };
}
