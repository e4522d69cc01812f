import { useState } from "preact/hooks";

import { kClasses } from "../data/classes";
import { ClassLayers } from "../figures/class_layers";
import { HeadMap } from "../figures/head_map";
import { MetricSelect } from "../ui/controls";
import { useReport } from "../ui/context";
import { fixed, headName, integer, percent } from "../ui/format";
import { formatRoute, kViews, type HeadId, type ViewName } from "../ui/route";
import { RunFacts } from "./run_facts";

const kMapHeight = 520;

export function Overview() {
  const { page } = useReport();
  const [hover, setHover] = useState<HeadId | null>(null);
  return (
    <>
      <Findings />
      <KeyNumbers />
      <div class="columns">
        <div>
          <MetricSelect />
          <HeadMap id="overview-map" maxHeight={kMapHeight} hover={hover} onHover={setHover} />
        </div>
        <div>
          <ClassLayers />
          <Explanation />
        </div>
      </div>
      <RunFacts page={page} />
    </>
  );
}

function Findings() {
  const { page, route } = useReport();
  const findings = page.document.findings ?? [];
  if (!findings.length) return null;
  return (
    <section class="findings" aria-labelledby="findings-title">
      <h2 id="findings-title">Findings</h2>
      <ol>
        {findings.map((finding) => {
          const view = kViews.includes(finding.view as ViewName) ? (finding.view as ViewName) : null;
          const { layer, head } = finding;
          const pinned =
            typeof layer === "number" && typeof head === "number" && page.holds(layer, head)
              ? { layer, head }
              : null;
          return (
            <li key={finding.text}>
              {finding.text}{" "}
              {view && (
                <a href={formatRoute({ ...route, view, pinned: pinned ?? route.pinned })}>
                  {pinned ? `See ${headName(pinned.layer, pinned.head)}` : `See ${kViewTitle[view]}`}
                </a>
              )}
            </li>
          );
        })}
      </ol>
    </section>
  );
}

export const kViewTitle: Record<ViewName, string> = {
  overview: "Overview",
  heads: "Heads",
  head: "Head detail",
  circuit: "Circuit",
};

function KeyNumbers() {
  const { page } = useReport();
  const summary = page.scan.summary ?? {};
  const epsilon = fixed(page.threshold("epsilon", 0.3), 1);
  const numbers: [string, string, string][] = [
    [
      "sink rate",
      percent(summary["sink_rate"]),
      `share of (sequence, layer, head) whose position 0 has alpha > ${epsilon}`,
    ],
    ["from layer 2", percent(summary["sink_rate_from_layer_2"]), "the same, without layers 0 and 1"],
    [
      "sinks form in layer",
      integer(summary["formation_layer"]),
      "first layer above half of the strongest layer's rate",
    ],
    ["perplexity", fixed(summary["perplexity"], 1), "exp of the mean next-token loss on these inputs"],
  ];
  return (
    <dl class="numbers">
      {numbers.map(([name, value, meaning]) => (
        <div key={name} title={meaning}>
          <dt>{name}</dt>
          <dd>{value}</dd>
          <dd class="meaning">{meaning}</dd>
        </div>
      ))}
    </dl>
  );
}

function Explanation() {
  return (
    <details class="card" open>
      <summary>What is an attention sink?</summary>
      <p>
        Each attention head of a transformer looks, from every token, at earlier tokens. In many heads nearly
        all tokens look at one and the same position, usually the first, whatever the text says. That position
        is called a sink. Its strength, alpha, is the mean share of attention that it receives: 0 is none, 1
        is all.
      </p>
      <ul>
        {kClasses.slice(1, 4).map((info) => (
          <li key={info.name}>
            <b>
              {info.letter} {info.label}
            </b>
            : {info.meaning}.
          </li>
        ))}
      </ul>
    </details>
  );
}
