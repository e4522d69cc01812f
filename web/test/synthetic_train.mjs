// A plausible document of `train`: the tables and plots that the program writes, with curves that look
// like a sink that forms between steps 30 and 300.

/// Seeded, so that every check sees the same page.
function noiseOf(seed) {
  let state = seed * 2654435761 + 12345;
  return () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648 - 0.5;
  };
}

/// Step 0, the powers of two, every `every`, the last.
function stepsUpTo(last, every) {
  const steps = new Set([0, last]);
  for (let step = 1; step <= last; step *= 2) steps.add(step);
  for (let step = every; step <= last; step += every) steps.add(step);
  return [...steps].sort((a, b) => a - b);
}

const column = (name, unit, definition) => ({ name, unit, definition });
const kRun = column("run", "", "arm or swept value, and seed");
const kLayer = column("layer", "", "block, from 0");
const kHead = column("head", "", "query head, from 0");
const kStep = column("step", "", "steps done when it was measured");
const kKind = column("kind", "", "what a query has to do");
const kMeasures = [
  column("selected", "share", "sequences whose dominant key is the one that the task expects"),
  column("value_ratio", "", "||W_O v|| at that key / mean over the others (method.md section 2)"),
  column("alpha_sink", "share", "mean attention that the dominant key receives (method.md section 1)"),
  column("ratio_out", "", "||W_O v|| at the dominant key / mean over the others"),
  column("stable_rank", "", "of the head's update over the tokens (method.md section 3)"),
  column("common_mode", "share", "energy of the update's mean over the tokens (method.md section 3)"),
  column("sigma_ratio", "", "sigma_1 / sigma_2 of W_Q^T W_K (method.md section 4)"),
];
const kSigmas = 8;

/// From 0 to 1 around the step at which this run's sink forms.
const risen = (step, at) => (step === 0 ? 0 : 1 / (1 + (at / step) ** 2.5));

function headCells(step, formed, noise) {
  const sigmas = Array.from(
    { length: kSigmas },
    (_v, i) => 1.6 - 0.1 * i + (i === 0 ? 14 : 0.8) * formed * 0.9 ** i + 0.05 * noise(),
  );
  const ratio = Math.max(0.006, 1.02 - 1.01 * formed + 0.02 * noise());
  return {
    sigmas,
    measures: [
      formed > 0.5 ? 1 : 0,
      ratio,
      0.03 + 0.46 * formed,
      ratio,
      // An untrained head gives no update.
      step === 0 ? null : 28 - 20 * formed + noise(),
      step === 0 ? null : 0.02 + 0.04 * formed,
      sigmas[0] / sigmas[1],
    ],
  };
}

function addRun(rows, { run, arm, seed, layers, steps }) {
  const noise = noiseOf(seed + 1);
  const gone = arm === "gate";
  const at = 90 * (1 + 0.3 * noise());
  for (const step of steps) {
    const formed = risen(step, at);
    const loss = 0.019 + 0.5 * (1 - formed) * (1 + 0.03 * noise());
    const rate = step === 0 ? null : 0.003;
    rows.losses.push([
      run,
      step,
      loss,
      step === 0 ? null : loss * 1.05,
      step === 0 ? null : 0.3 * loss,
      rate,
    ]);
    const kinds = { nop: 0.98 * loss, active: 1.02 * loss };
    for (const [kind, value] of Object.entries(kinds)) rows.kind_losses.push([run, step, kind, value, value]);
    for (let layer = 0; layer < layers; ++layer) {
      const here = gone ? 0.02 : formed * (layer === 0 ? 1 : 0.6);
      const { measures, sigmas } = headCells(step, here, noise);
      const mass = [0.031 + 0.957 * here + 0.004 * noise(), 0.031 - 0.017 * here];
      rows.attention.push([run, layer, 0, step, "nop", mass[0]], [run, layer, 0, step, "active", mass[1]]);
      rows.heads.push([run, layer, 0, step, ...measures]);
      sigmas.forEach((sigma, i) => rows.spectrum.push([run, layer, 0, step, i + 1, sigma]));
      rows.layers.push([run, layer, step, 0.2 + 5 * here, 8 + noise()]);
      if (step !== steps[steps.length - 1]) continue;
      const verdict = gone ? "none" : "nop";
      rows.results.push([
        run,
        arm,
        seed,
        step,
        loss,
        kinds.nop,
        kinds.active,
        layer,
        0,
        ...mass,
        ...measures,
        verdict,
        verdict,
      ]);
    }
  }
}

function tablesOf(rows) {
  const table = (name, title, columns) => ({ name, title, columns, rows: rows[name] });
  return [
    table("results", "Trained models", [
      kRun,
      column("arm", "", "variant or swept value"),
      column("seed", "", "of data and initial values"),
      kStep,
      column("loss", "", "on the evaluation sequences"),
      column("loss_nop", "", "of these queries: nothing is asked of them"),
      column("loss_active", "", "of these queries: their value must be undone"),
      kLayer,
      kHead,
      column("attention_nop", "share", "mean attention of these queries to the key that the task expects"),
      column("attention_active", "share", "mean attention of these queries to the key that the task expects"),
      ...kMeasures,
      column("class", "", "most frequent class of the head, as `scan` gives it"),
      column("class_routed", "", "the same of a conditional sink by its routed queries"),
    ]),
    table("losses", "Loss", [
      kRun,
      kStep,
      column("loss", "", "on the evaluation sequences"),
      column("running_loss", "", "exponential mean over training batches"),
      column("gradient_norm", "", "of the step before, not clipped"),
      column("rate", "", "learning rate of the step before"),
    ]),
    table("kind_losses", "Loss by what a query has to do", [
      kRun,
      kStep,
      kKind,
      column("loss", "", "mean over these queries"),
      column("over_oracle", "", "minus the loss of the best possible model"),
    ]),
    table("attention", "Attention to the key that the task expects", [
      kRun,
      kLayer,
      kHead,
      kStep,
      kKind,
      column("mass", "share", "mean over these queries"),
    ]),
    table("heads", "Heads", [kRun, kLayer, kHead, kStep, ...kMeasures]),
    table("spectrum", "Singular values of W_Q^T W_K", [
      kRun,
      kLayer,
      kHead,
      kStep,
      column("index", "", "1: the largest"),
      column("sigma", "", "with the gain of the norm before folded in"),
    ]),
    table("layers", "Residual norms", [
      kRun,
      kLayer,
      kStep,
      column("norm_key", "", "behind the block, at the key that the task expects"),
      column("norm_rest", "", "mean over the other positions"),
    ]),
  ];
}

function lines(table, title, y, series) {
  return { kind: "log-x", table, title, x: "step", y, series, lower: "", upper: "", value: "", fit: "" };
}

const kPlots = [
  lines("losses", "Loss", "loss", ["run"]),
  lines("kind_losses", "Loss over the best possible, by what a query has to do", "over_oracle", [
    "run",
    "kind",
  ]),
  lines("attention", "Attention to the expected key, by what a query has to do", "mass", [
    "run",
    "layer",
    "head",
    "kind",
  ]),
  lines("heads", "Value drain: length of the expected key's value over the others", "value_ratio", [
    "run",
    "layer",
    "head",
  ]),
  lines("spectrum", "Query-key spectrum: a spike leaves the bulk", "sigma", [
    "run",
    "layer",
    "head",
    "index",
  ]),
  lines("heads", "Stable rank of the update", "stable_rank", ["run", "layer", "head"]),
  lines("heads", "Common-mode share of the update", "common_mode", ["run", "layer", "head"]),
  lines("layers", "Residual norm at the expected key", "norm_key", ["run", "layer"]),
];

export function syntheticTrain({ arms = ["softmax"], seeds = 3, layers = 1, last = 1000, every = 20 } = {}) {
  const names = ["results", "losses", "kind_losses", "attention", "heads", "spectrum", "layers"];
  const rows = Object.fromEntries(names.map((name) => [name, []]));
  const steps = stepsUpTo(last, every);
  const runs = arms.flatMap((arm) =>
    Array.from({ length: seeds }, (_v, seed) => ({ run: `${arm}-${seed}`, arm, seed })),
  );
  for (const run of runs) addRun(rows, { ...run, layers, steps });
  const formed = runs.filter(({ arm }) => arm !== "gate").length;
  return {
    schema: "sinkscope.train/1",
    tool: { name: "sinkscope", version: "0.1.0", git: "0000000" },
    task: "conditional-damping",
    settings: {
      batch: 256,
      lr: 0.003,
      optimiser: "adamw",
      record_sequences: 256,
      runs: runs.map(({ run }) => run),
      settings: { variant: "output", gamma: 0, theta: 0 },
      variants_sha256: "00".repeat(32),
      steps: last,
    },
    tables: tablesOf(rows),
    plots: kPlots,
    findings: [
      `conditional-damping, runs: ${runs.length}, with a sink on position 0: ${formed}.`,
      ...runs.map(
        ({ run, arm }) =>
          `${run}: loss 0.0191; L0H0 gives the expected key ${arm === "gate" ? "0.041" : "0.987"} (nop), ` +
          `0.014 (active); its value is 0.009 of the others'; class ${arm === "gate" ? "none" : "nop"}`,
      ),
    ],
    warnings: [],
    timing: { seconds: 183.2 },
  };
}
