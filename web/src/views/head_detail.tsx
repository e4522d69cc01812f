import { useMemo, useState } from "preact/hooks";

import { classOfCode } from "../data/classes";
import type { EventPoint, HeadRow, Maybe } from "../data/document";
import type { Page } from "../data/page";
import { LineChart } from "../figures/line_chart";
import { PatchMap } from "../figures/patch_map";
import type { LinePlan } from "../plot/lines";
import { ClassBadge } from "../ui/class_badge";
import { useReport } from "../ui/context";
import { headName, integer, isNumber, magnitude, share } from "../ui/format";
import { Table, type Column } from "../ui/table";
import { Verdict } from "./verdict";

export function HeadDetail() {
  const { page, selected } = useReport();
  const { layer, head } = selected;
  const row = page.head(layer, head);
  return (
    <>
      <HeadPicker />
      {row ? (
        <>
          <div class="columns">
            {page.patches && page.curve(layer, head) ? (
              <>
                <div>
                  <AlphaChart row={row} />
                  <Verdict page={page} row={row} />
                </div>
                <PatchMap row={row} />
              </>
            ) : (
              <>
                <AlphaChart row={row} />
                <Verdict page={page} row={row} />
              </>
            )}
          </div>
          <Events row={row} />
          <AllValues row={row} />
        </>
      ) : (
        <p class="empty">{headName(layer, head)} was not measured in this run.</p>
      )}
    </>
  );
}

function HeadPicker() {
  const { page, selected, route, go } = useReport();
  const { layer, head } = selected;
  const step = (by: number) => {
    const next = (page.index(layer, head) + by + page.layers * page.heads) % (page.layers * page.heads);
    go({ pinned: { layer: Math.floor(next / page.heads), head: next % page.heads } });
  };
  const options = (count: number) =>
    Array.from({ length: count }, (_v, i) => (
      <option key={i} value={i}>
        {i}
      </option>
    ));
  const kv = page.head(layer, head)?.kv_head;
  return (
    <div class="toolbar">
      <h2>Head {headName(layer, head)}</h2>
      <label class="control">
        layer{" "}
        <select
          id="pick-layer"
          value={layer}
          onChange={(e) => go({ pinned: { layer: Number(e.currentTarget.value), head } })}
        >
          {options(page.layers)}
        </select>
      </label>
      <label class="control">
        head{" "}
        <select
          id="pick-head"
          value={head}
          onChange={(e) => go({ pinned: { layer, head: Number(e.currentTarget.value) } })}
        >
          {options(page.heads)}
        </select>
      </label>
      <button type="button" onClick={() => step(-1)}>
        Previous head
      </button>
      <button type="button" onClick={() => step(1)}>
        Next head
      </button>
      <span class="note">
        {isNumber(kv) ? `reads key/value head ${kv}. ` : ""}
        {route.pinned ? "" : "The head with the strongest sink; pin another in Heads."}
      </span>
    </div>
  );
}

/// What a uniform head gives each key: (H_T - H_k) / (T - k) under a causal mask, 1 / T without one.
function uniformAlpha(positions: number, causal: boolean): number[] {
  if (!causal) return new Array<number>(positions).fill(1 / positions);
  const alpha = new Array<number>(positions);
  let tail = 0;
  for (let k = positions - 1; k >= 0; --k) {
    tail += 1 / (k + 1);
    alpha[k] = tail / (positions - k);
  }
  return alpha;
}

function alphaPlan(page: Page, curve: Maybe[], log: boolean): LinePlan {
  const positions = curve.length;
  const epsilon = page.threshold("epsilon", 0.3);
  return {
    x: curve.map((_v, i) => i),
    xName: "position (key)",
    xText: page.patches ? (x) => page.positionName(x) : undefined,
    yName: "alpha (share of attention)",
    log,
    include: log ? [1] : [0, 1],
    series: [
      { label: "alpha of this head", values: curve, color: 0 },
      {
        label: "uniform head",
        values: uniformAlpha(positions, page.scan.model["causal"] !== false),
        color: 2,
        dash: [6, 4],
      },
      { label: `threshold epsilon ${epsilon}`, values: curve.map(() => epsilon), color: 1, dash: [2, 4] },
    ],
  };
}

function AlphaChart({ row }: { row: HeadRow }) {
  const { page } = useReport();
  const curve = page.curve(row.layer, row.head);
  const [log, setLog] = useState(false);
  const plan = useMemo(() => curve && alphaPlan(page, curve, log), [page, curve, log]);
  if (!plan) return <p class="empty">The run stored no attention by position for this head.</p>;
  const judged = plan.x.length - page.threshold("min_queries", 16);
  return (
    <LineChart
      id="alpha"
      title={`Attention that each position receives in ${headName(row.layer, row.head)}`}
      definition={
        `Mean attention that the key at a position receives from the queries that see it, over all ${page.images ? "images" : "sequences"}.` +
        (page.scan.model["causal"] !== false && judged > 0
          ? ` Positions after ${integer(judged)} are seen by too few queries to be judged.`
          : "")
      }
      formula="alpha_k = (1/n_k) Σ_i A_ik, n_k = number of queries that see key k; uniform: (1/n_k) Σ_i 1/|V(i)|"
      plan={plan}
    >
      <label class="check">
        <input type="checkbox" checked={log} onChange={(event) => setLog(event.currentTarget.checked)} />
        log axis
      </label>
    </LineChart>
  );
}

function startColumn(page: Page): Column<EventPoint> {
  const value = (e: EventPoint) => page.sequences.get(e[0])?.start ?? null;
  return {
    key: "start",
    label: page.images ? "place in source" : "from token",
    value,
    show: (e) => integer(value(e)),
  };
}

function tokenColumn(page: Page): Column<EventPoint> {
  const value = (e: EventPoint) => page.label(e[0], e[3]);
  return {
    key: "label",
    label: "token",
    text: true,
    value,
    show: (e) => (value(e) === null ? "–" : <code class="token">{value(e)}</code>),
  };
}

function Events({ row }: { row: HeadRow }) {
  const { page } = useReport();
  const events = page.events(row.layer, row.head);
  const columns = useMemo(() => {
    const number = (
      key: string,
      label: string,
      place: 4 | 5 | 6 | 7 | 8,
      show: (v: unknown) => string,
    ): Column<EventPoint> => ({ key, label, value: (e) => e[place], show: (e) => show(e[place]) });
    const source = (e: EventPoint) => page.sequences.get(e[0])?.source ?? null;
    const list: Column<EventPoint>[] = [
      { key: "sequence", label: page.images ? "image" : "sequence", value: (e) => e[0] },
      { key: "source", label: "source", text: true, value: source },
      ...(page.scan.inputs?.["kind"] === "images" ? [] : [startColumn(page)]),
      { key: "sink_index", label: "sink at", value: (e) => e[3], show: (e) => page.positionName(e[3]) },
      ...(page.patches ? [] : [tokenColumn(page)]),
      number("alpha_sink", "alpha at sink", 4, share),
      number("routed", "routed", 5, share),
      number("ratio_head", "ratio_head", 6, magnitude),
      number("ratio_out", "ratio_out", 7, magnitude),
      number("stable_rank", "stable rank", 8, magnitude),
      {
        key: "class",
        label: "class",
        text: true,
        value: (e) => classOfCode(e[9]).name,
        show: (e) => <ClassBadge name={classOfCode(e[9]).name} />,
      },
    ];
    return list;
  }, [page]);
  const total = page.document.points_total;
  const shown = page.eventCount();
  if (!events.length)
    return (
      <p class="empty">
        No sequence shows a sink event in this head
        {total && total > shown ? " in the sample of events that this page holds" : ""}.
      </p>
    );
  return (
    <Table
      key={headName(row.layer, row.head)}
      id="events"
      caption={`Sink events of ${headName(row.layer, row.head)}, one row per ${page.images ? "image" : "sequence"}`}
      columns={columns}
      rows={events}
    />
  );
}

interface Value {
  name: string;
  value: string;
  unit: string;
  definition: string;
}

/// Everything the scan holds on this head, by its name in the documents.
function AllValues({ row }: { row: HeadRow }) {
  const { page } = useReport();
  const values = useMemo(() => {
    const texts = new Map((page.document.metrics ?? []).map((m) => [m.name, m]));
    const list: Value[] = [];
    const add = (name: string, value: unknown, key = name) =>
      list.push({
        name,
        value: typeof value === "string" ? value : magnitude(value),
        unit: texts.get(key)?.unit ?? "",
        definition: texts.get(key)?.definition ?? "",
      });
    for (const [name, value] of Object.entries(row)) {
      if (Array.isArray(value)) value.forEach((part, i) => add(`${name}[${i}]`, part, name));
      else if (!["layer", "head", "kv_head"].includes(name)) add(name, value);
    }
    for (const name of Object.keys(page.document.extra ?? {})) {
      if (!(name in row)) add(name, page.extra(name, row.layer, row.head));
    }
    return list;
  }, [page, row]);
  const columns = useMemo(
    (): Column<Value>[] => [
      {
        key: "name",
        label: "quantity",
        text: true,
        value: (v) => v.name,
        show: (v) => <code>{v.name}</code>,
      },
      { key: "value", label: "value", value: (v) => v.value },
      { key: "unit", label: "unit", text: true, value: (v) => v.unit },
      { key: "definition", label: "definition", text: true, value: (v) => v.definition },
    ],
    [],
  );
  return (
    <details class="card">
      <summary>Every stored value of this head ({integer(values.length)})</summary>
      <Table
        id="values"
        caption={`Values of ${headName(row.layer, row.head)}`}
        columns={columns}
        rows={values}
      />
    </details>
  );
}
