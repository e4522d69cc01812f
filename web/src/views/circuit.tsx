import { useMemo, useState } from "preact/hooks";

import type { LayerRow, Maybe, TopActivation } from "../data/document";
import type { Page } from "../data/page";
import { LineChart } from "../figures/line_chart";
import type { LinePlan, LineSeries } from "../plot/lines";
import { useReport } from "../ui/context";
import { fixed, isNumber, magnitude, share } from "../ui/format";
import { Table, type Column } from "../ui/table";

const kNorms = ["resid_norm_p0", "resid_norm_median"];
const kCosines = ["cos_p0_max", "cos_p0_mean", "cos_pair_mean"];
const kShown = new Set(["layer", "median_abs", ...kNorms, ...kCosines]);

function hasLayerData(page: Page, names: string[]): boolean {
  return page.layerRows.some((row) => names.some((name) => isNumber(row[name])));
}

export function hasCircuit(page: Page): boolean {
  return page.layerRows.length > 0;
}

/// Lines over the layers, with gaps where a layer was not measured.
function layerPlan(
  page: Page,
  yName: string,
  log: boolean,
  series: [string, string][],
  include?: number[],
): LinePlan {
  const rows = new Map(page.layerRows.map((row) => [row.layer, row]));
  const x = Array.from({ length: page.layers }, (_v, i) => i);
  return {
    x,
    xName: "layer",
    yName,
    log,
    include,
    series: series.map(([key, label], color): LineSeries => ({
      label,
      color,
      dash: kDashes[color],
      values: x.map((layer): Maybe => {
        const value = rows.get(layer)?.[key];
        return isNumber(value) ? value : null;
      }),
    })),
  };
}

const kDashes = [undefined, [8, 4], [2, 3], [8, 3, 2, 3]];

export function Circuit() {
  const { page } = useReport();
  return (
    <>
      <CircuitSentences page={page} />
      <div class="columns">
        {hasLayerData(page, kNorms) && <Norms />}
        <SinksByLayer />
        {hasLayerData(page, kCosines) && <Cosines />}
        <OtherLayerMetric />
      </div>
      <TopActivations />
      <LayerTable />
    </>
  );
}

interface Jump {
  layer: number;
  ratio: number;
  before: number;
}

/// The layers between which position 0 gains, and later loses, most against the rest.
function norms(page: Page): { write: Jump | null; erase: Jump | null } {
  const ratios = page.layerRows.flatMap((row): Jump[] => {
    const [first, rest] = kNorms.map((name) => row[name]);
    return isNumber(first) && isNumber(rest) && rest > 0
      ? [{ layer: row.layer, ratio: first / rest, before: NaN }]
      : [];
  });
  let [write, erase]: [Jump | null, Jump | null] = [null, null];
  ratios.forEach((jump, i) => {
    const before = ratios[i - 1];
    if (!before || before.layer !== jump.layer - 1) return;
    jump.before = before.ratio;
    if (jump.ratio >= 5 && jump.ratio / before.ratio > (write ? write.ratio / write.before : 2)) write = jump;
    if (before.ratio >= 5 && before.ratio / jump.ratio > (erase ? erase.before / erase.ratio : 2))
      erase = jump;
  });
  return { write, erase };
}

function CircuitSentences({ page }: { page: Page }) {
  const { write, erase } = useMemo(() => norms(page), [page]);
  if (!hasLayerData(page, kNorms)) return null;
  const row = page.layerRows.find((r) => r.layer === write?.layer);
  const top = row?.top_activations?.[0];
  const times = (value: number) => `${magnitude(value)} times`;
  return (
    <section class="findings" aria-labelledby="circuit-title">
      <h2 id="circuit-title">How position 0 is marked</h2>
      {write ? (
        <p>
          Layer <b>{write.layer}</b> writes the mark: behind it, position 0 has <b>{times(write.ratio)}</b>{" "}
          the norm of the other positions ({times(write.before)} one layer earlier).
          {top && (
            <>
              {" "}
              Its largest activation is channel <b>{top.channel}</b> of position {top.position}:{" "}
              <b>{magnitude(top.value)}</b>
              {isNumber(row?.["median_abs"]) && <> against a median of {magnitude(row["median_abs"])}</>}.
            </>
          )}
          {erase && (
            <>
              {" "}
              Layer <b>{erase.layer}</b> takes it away again ({times(erase.before)} to {times(erase.ratio)}).
            </>
          )}
        </p>
      ) : (
        <p>
          No single layer makes position 0 stand out: its norm never grows at once to five times that of the
          others.
        </p>
      )}
    </section>
  );
}

function Norms() {
  const { page } = useReport();
  const plan = useMemo(
    () =>
      layerPlan(page, "norm of the residual", true, [
        ["resid_norm_p0", "position 0"],
        ["resid_norm_median", "median of the other positions"],
      ]),
    [page],
  );
  return (
    <LineChart
      id="norms"
      title="Residual norm of position 0 and of the rest"
      plan={plan}
      definition="Length of the residual vector behind each layer, mean over the sequences: position 0 against the median of the other positions (log axis)."
      formula="‖x_0‖ and median_{t>0} ‖x_t‖ of the residual leaving the block"
    />
  );
}

function SinksByLayer() {
  const { page } = useReport();
  const plan = useMemo((): LinePlan | null => {
    const extra = page.document.layers_extra ?? {};
    const known: [string, string][] = [
      ["sink_rate", "sink rate"],
      ["alpha0_mean", "mean alpha_0"],
      ["event_share", "event share"],
    ];
    const series = known.flatMap(([key, label], color): LineSeries[] => {
      const values = extra[key];
      return values?.length === page.layers && values.some(isNumber)
        ? [{ label, color, values, dash: kDashes[color] }]
        : [];
    });
    const x = Array.from({ length: page.layers }, (_v, i) => i);
    return series.length ? { x, xName: "layer", yName: "share", log: false, include: [0, 1], series } : null;
  }, [page]);
  if (!plan) return null;
  return (
    <LineChart
      id="layer-sinks"
      title="Sinks by layer"
      plan={plan}
      definition="For the heads of each layer: share with a sink on position 0 (sink rate), mean attention to position 0, and share with a sink event."
      formula="sink rate: mean of 1[alpha_0 > epsilon]; event: share of queries with A_is ≥ event_mass is at least event_query_share"
    />
  );
}

function Cosines() {
  const { page } = useReport();
  const plan = useMemo(
    () =>
      layerPlan(
        page,
        "cosine",
        false,
        [
          ["cos_p0_max", "position 0 with the others, largest"],
          ["cos_p0_mean", "position 0 with the others, mean"],
          ["cos_pair_mean", "any two positions, mean"],
        ],
        [0, 1],
      ),
    [page],
  );
  return (
    <LineChart
      id="cosines"
      title="Cosines between token states"
      plan={plan}
      definition="How alike the states of two positions are in each layer: 1 the same direction, 0 unrelated. Position 0 apart from the rest makes it an easy key to find."
      formula="cos(z_0, z_t) over t ≥ 1 and cos(z_i, z_j) over i < j; z is the input of q, k and v, norm gain included"
    />
  );
}

/// Whatever else the run measured per layer, one at a time.
function OtherLayerMetric() {
  const { page } = useReport();
  const names = useMemo(() => {
    const found = new Set<string>();
    for (const row of page.layerRows)
      for (const key of Object.keys(row)) if (isNumber(row[key]) && !kShown.has(key)) found.add(key);
    return [...found];
  }, [page]);
  const [chosen, setChosen] = useState<string | null>(null);
  const name = chosen && names.includes(chosen) ? chosen : names[0];
  const text = page.document.metrics?.find((metric) => metric.name === name);
  const plan = useMemo(
    () => layerPlan(page, text?.unit || (name ?? ""), false, [[name ?? "", name ?? ""]]),
    [page, name, text],
  );
  if (!name) return null;
  return (
    <div>
      <label class="control">
        More layer quantities{" "}
        <select id="layer-metric" value={name} onChange={(event) => setChosen(event.currentTarget.value)}>
          {names.map((n) => (
            <option key={n} value={n}>
              {n}
            </option>
          ))}
        </select>
      </label>
      <LineChart
        id="layer-other"
        title={`${name} by layer`}
        plan={plan}
        definition={text?.definition ?? `The value "${name}" of the scan document, by layer.`}
      />
    </div>
  );
}

interface Top extends TopActivation {
  layer: number;
  median: Maybe;
}

function TopActivations() {
  const { page } = useReport();
  const rows = useMemo(
    () =>
      page.layerRows.flatMap((row): Top[] =>
        (row.top_activations ?? []).map((top) => ({
          ...top,
          layer: row.layer,
          median: isNumber(row["median_abs"]) ? row["median_abs"] : null,
        })),
      ),
    [page],
  );
  const columns = useMemo((): Column<Top>[] => {
    const times = (t: Top) => (t.median ? Math.abs(t.value) / t.median : null);
    const limits = [page.threshold("massive_abs", 100), page.threshold("massive_ratio", 1000)] as const;
    const massive = (t: Top) => Math.abs(t.value) > limits[0] && (times(t) ?? 0) > limits[1];
    return [
      { key: "layer", label: "layer", value: (t) => t.layer },
      {
        key: "position",
        label: "position",
        value: (t) => t.position,
        show: (t) => page.positionName(t.position),
      },
      { key: "channel", label: "channel", value: (t) => t.channel, show: (t) => String(t.channel) },
      {
        key: "value",
        label: "value",
        value: (t) => t.value,
        show: (t) => fixed(t.value, Math.abs(t.value) < 100 ? 1 : 0),
      },
      { key: "times_median", label: "× median", value: times, show: (t) => magnitude(times(t)) },
      {
        key: "massive",
        label: "massive",
        title: `|x| > ${limits[0]} and > ${limits[1]} × the median |x|`,
        text: true,
        value: (t) => (massive(t) ? "yes" : "no"),
      },
    ];
  }, [page]);
  if (!rows.length) return null;
  return (
    <Table
      id="activations"
      caption="Largest activations of each layer (mean over the sequences where they are among the three largest)"
      columns={columns}
      rows={rows}
    />
  );
}

function LayerTable() {
  const { page } = useReport();
  const columns = useMemo((): Column<LayerRow>[] => {
    const value = (name: string) => (row: LayerRow) => (isNumber(row[name]) ? (row[name] as number) : null);
    const shown: [string, string, (v: unknown) => string][] = [
      ["resid_norm_p0", "norm, position 0", magnitude],
      ["resid_norm_median", "norm, rest", magnitude],
      ["median_abs", "median |x|", magnitude],
      ["cos_p0_max", "cos p0, max", share],
      ["cos_p0_mean", "cos p0, mean", share],
      ["cos_pair_mean", "cos pairs, mean", share],
    ];
    return [
      { key: "layer", label: "layer", value: (row) => row.layer },
      ...shown.map(([key, label, show]): Column<LayerRow> => ({
        key,
        label,
        value: value(key),
        show: (row) => show(value(key)(row)),
      })),
    ];
  }, []);
  return <Table id="layers" caption="Layers" columns={columns} rows={page.layerRows} />;
}
