// A plausible page document of any size: `node test/synthetic.mjs FILE` writes the 12 x 12 sample.
// Deterministic, so that the sample in the repository can be made again.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const round = (value, digits = 5) => (value === null ? null : Number(value.toFixed(digits)));
const kClasses = ["none", "nop", "broadcast", "other", "too_short"];
const kWords = [
  "The",
  " cat",
  " sat",
  " on",
  " the",
  " mat",
  ".",
  "\\n",
  " and",
  " looked",
  " <b>",
  ' "up"',
  "\\xF0",
  " 雨",
];

function classOf(ratio, rank) {
  if (ratio <= 0.2) return "nop";
  return ratio >= 0.5 && rank <= 1.5 ? "broadcast" : "other";
}

/// One head: how strong its sink is grows over the first layers; kind decides what the sink does.
function makeHead(next, layer, layers, head) {
  const grown = 1 / (1 + Math.exp(-(layer - layers * 0.3) * 1.6));
  const strength = Math.min(0.985, grown * (0.35 + 0.65 * next()) + 0.03 * next());
  const event = strength > 0.72;
  const kind = next();
  const ratio = kind < 0.72 ? 0.02 + 0.16 * next() : kind < 0.88 ? 0.6 + 2.4 * next() : 0.22 + 0.5 * next();
  const rank = kind < 0.72 ? 1.3 + 5 * next() : kind < 0.88 ? 1.01 + 0.4 * next() : 1.2 + 3 * next();
  const sink = layer > 1 && next() < 0.04 ? 3 : 0;
  return {
    layer,
    head,
    strength,
    event,
    ratio,
    rank,
    sink,
    entropy: 0.95 - 0.8 * strength + 0.04 * next(),
    self: 0.3 * (1 - strength) * next(),
  };
}

function curve(next, made, positions) {
  const rest = (1 - made.strength) / Math.max(1, Math.log(positions));
  return Array.from({ length: positions }, (_v, k) => {
    if (k === made.sink) return round(made.strength);
    return round(
      Math.min(1, (rest * (0.5 + next())) / Math.sqrt(1 + k) + (0.6 * (1 - made.strength)) / (positions - k)),
    );
  });
}

function headRow(made, alpha, sequences) {
  const events = made.event
    ? Math.min(sequences, Math.max(1, Math.round(sequences * (0.6 + 0.4 * made.strength))))
    : 0;
  const share = made.strength > 0.3 ? Math.min(1, 0.5 + made.strength / 2) : 0;
  return {
    layer: made.layer,
    head: made.head,
    kv_head: Math.floor(made.head / 3),
    alpha: alpha.slice(0, 4),
    sink_share: round(share, 3),
    sink_index: made.sink,
    sink_index_share: 1,
    event_share: round(events / sequences, 3),
    class: made.event ? classOf(made.ratio, made.rank) : "none",
    ratio_head: made.event ? round(made.ratio * 1.1) : null,
    ratio_out: made.event ? round(made.ratio) : null,
    stable_rank: made.event ? round(made.rank) : null,
    common_mode: made.event ? round(0.9 / made.rank) : null,
    entropy: round(made.entropy * 3),
    self_mass: round(made.self),
    qk_top_share: round(0.1 + 0.3 * made.strength),
    alpha_sink: round(made.strength),
    routed: round(Math.min(1, made.strength * 1.25)),
    conditional: round(made.event ? 0.1 : made.strength * 0.6),
    lift: round(made.strength * 13.5),
    ratio_out_all: round(made.ratio * 1.3),
  };
}

function layerRow(layer, layers) {
  const write = Math.round(layers / 3);
  const marked = layer >= write && layer < layers - 1;
  const rest = 2.1 * (layer + 1) ** 1.1;
  const first = marked ? 3100 + 40 * layer : rest * (1.1 + 0.3 * layer);
  return {
    layer,
    resid_norm_p0: round(first, 3),
    resid_norm_median: round(rest, 3),
    top_activations: [
      [507, 0, marked ? 2490.4 : 6.2],
      [138, 0, marked ? -911.7 : -5.1],
      [507, 9, 4.4 + layer],
    ].map(([channel, position, value]) => ({ channel, position, value })),
    median_abs: round(0.08 + 0.03 * layer),
    cos_p0_max: round(marked ? 0.21 : 0.8),
    cos_p0_mean: round(marked ? 0.05 : 0.42),
    cos_pair_mean: round(0.3 + 0.4 * (layer / layers)),
    massive_count: marked ? 2 : 0,
  };
}

function eventPoints(next, made, row, sequences) {
  const count = Math.round(row.event_share * sequences);
  const vary = (value) => round(value * (0.85 + 0.3 * next()));
  return Array.from({ length: count }, (_v, sequence) => {
    const [ratio, rank] = [vary(made.ratio), Math.max(1, vary(made.rank))];
    return [
      sequence,
      made.layer,
      made.head,
      made.sink,
      round(Math.min(0.999, made.strength * (0.97 + 0.05 * next()))),
      round(0.9 + 0.1 * next()),
      vary(made.ratio * 1.1),
      ratio,
      rank,
      kClasses.indexOf(classOf(ratio, rank)),
    ];
  });
}

function imageLabels({ rows, columns, prefix }) {
  return Array.from({ length: prefix + rows * columns }, (_v, i) => {
    const patch = i - prefix;
    if (patch < 0) return i === 0 ? "CLS" : `register ${i - 1}`;
    return `patch (${Math.floor(patch / columns)}, ${patch % columns})`;
  });
}

/// `patches`, { rows, columns, prefix }: of images instead of texts.
export function synthetic({
  layers = 12,
  heads = 12,
  patches = null,
  positions = patches ? patches.prefix + patches.rows * patches.columns : 64,
  sequences = 16,
  seed = 7,
} = {}) {
  const next = random(seed);
  const made = Array.from({ length: layers }, (_l, layer) =>
    Array.from({ length: heads }, (_h, head) => makeHead(next, layer, layers, head)),
  );
  const curves = made.map((row) => row.map((one) => curve(next, one, positions)));
  const rows = made.flatMap((row, l) => row.map((one, h) => headRow(one, curves[l][h], sequences)));
  const points = rows
    .flatMap((row) => eventPoints(next, made[row.layer][row.head], row, sequences))
    .sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2])
    .slice(0, 20000);
  const grid = (value) => made.map((row) => row.map((one) => round(value(one))));
  const byLayer = (value) =>
    made.map((_row, l) =>
      round(rows.filter((row) => row.layer === l).reduce((sum, row) => sum + value(row), 0) / heads),
    );
  const count = (name) => rows.filter((row) => row.class === name).length;
  const rate = rows.filter((row) => row.alpha[0] > 0.3).length / rows.length;
  const best = rows.reduce((a, b) => (b.alpha_sink > a.alpha_sink ? b : a));
  const write = Math.round(layers / 3);
  return {
    schema: "sinkscope.page/1",
    scan: {
      schema: "sinkscope.scan/1",
      tool: { name: "sinkscope", version: "0.1.0", git: "0000000" },
      model: {
        path: "models/synthetic-12x12",
        format: "safetensors",
        family: patches ? "dinov2" : "llama",
        sha256: "5e".repeat(32),
        layers,
        heads,
        kv_heads: Math.ceil(heads / 3),
        head_dim: 64,
        d_model: heads * 64,
        vocab: 49152,
        parameters: 134515008,
        causal: !patches,
        dtype: "f32",
        weights: "bf16",
      },
      inputs: {
        kind: patches ? "images" : "text",
        sequences,
        seq_len: positions,
        skipped: 1,
        bos: "always",
        bos_id: 1,
        first_tokens: [1, 504, 2366],
        sha256: "a1".repeat(32),
        patch_grid: patches,
      },
      thresholds: {
        epsilon: 0.3,
        min_queries: 16,
        event_query_share: 0.9,
        event_mass: 0.5,
        nop_ratio: 0.2,
        broadcast_ratio: 0.5,
        broadcast_stable_rank: 1.5,
        massive_abs: 100,
        massive_ratio: 1000,
        min_lift: 2,
      },
      summary: {
        sink_rate: round(rate),
        sink_rate_from_layer_2: round(Math.min(1, rate * 1.15)),
        formation_layer: write,
        classes: {
          none: count("none"),
          nop: count("nop"),
          broadcast: count("broadcast"),
          other: count("other"),
        },
        massive_channels: [507, 138],
        loss: 3.21,
        perplexity: 24.78,
      },
      heads: rows,
      layers: made.map((_row, layer) => layerRow(layer, layers)),
      warnings: ["1 input shorter than 64 tokens was skipped", "text is data: </script><b>not a tag</b>"],
      timing: { load_s: 0.4, forward_s: 1.9, tokens_per_s: 24900.5, peak_rss_mb: 812 },
    },
    findings: [
      {
        text: `${Math.round(rate * 100)} % of (layer, head, sequence) sink on position 0.`,
        view: "heads",
        layer: null,
        head: null,
      },
      {
        text: `The sink is written by layer ${write}: channel 507 of position 0 goes to 2,490 (median of all: 0.2).`,
        view: "circuit",
        layer: write,
        head: null,
      },
      {
        text: `The strongest sink receives ${Math.round(best.alpha_sink * 100)} % of the attention.`,
        view: "head",
        layer: best.layer,
        head: best.head,
      },
    ],
    classes: kClasses,
    alpha: { positions, heads: curves },
    points,
    points_total: points.length,
    extra: {
      entropy_norm: grid((one) => one.entropy),
      lift: grid((one) => one.strength * 13.5),
      conditional_share: grid((one) => (one.event ? 0 : one.strength * 0.5)),
      ratio_out_all: grid((one) => one.ratio * 1.3),
    },
    layers_extra: {
      sink_rate: byLayer((row) => Number(row.alpha[0] > 0.3)),
      alpha0_mean: byLayer((row) => row.alpha[0]),
      event_share: byLayer((row) => row.event_share),
    },
    sequences: Array.from({ length: sequences }, (_v, id) => ({
      id,
      source: patches ? `images/${id}.png` : `text/${id % 3}.txt`,
      start: patches ? 0 : id * positions,
      tokens: positions,
      labels: patches
        ? imageLabels(patches).slice(0, 64)
        : Array.from({ length: Math.min(64, positions) }, (_w, i) =>
            i === 0 ? "<s>" : kWords[(i * 5 + id) % kWords.length],
          ),
    })),
    metrics: [
      {
        name: "alpha",
        unit: "share",
        definition:
          "alpha_k = (1/n_k) sum_i A_ik: mean attention that key k receives from the queries that see it.",
      },
      {
        name: "ratio_out",
        unit: "",
        definition:
          "||u_s|| / mean_{j != s} ||u_j||: length of the sink's value after the output projection.",
      },
      {
        name: "stable_rank",
        unit: "",
        definition:
          "||U||_F^2 / ||U||_op^2 of the head's update: 1 when every token receives the same vector.",
      },
      {
        name: "massive_count",
        unit: "activations",
        definition: "Number of massive activations: |x| > 100 and > 1000 times the median.",
      },
    ],
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.argv[2]) {
  writeFileSync(process.argv[2], `${JSON.stringify(synthetic({ sequences: 8 }))}\n`);
}
