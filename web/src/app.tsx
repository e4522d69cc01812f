import { useMemo } from "preact/hooks";

import { metricsOf, strongestHead } from "./data/metrics";
import type { Page } from "./data/page";
import { ReportContext, type Report } from "./ui/context";
import { fact, integer } from "./ui/format";
import { formatRoute, kViews, useRoute, type ThemeName, type ViewName } from "./ui/route";
import { usePalette } from "./ui/theme";
import { Circuit, hasCircuit } from "./views/circuit";
import { HeadDetail } from "./views/head_detail";
import { Heads } from "./views/heads";
import { kViewTitle, Overview } from "./views/overview";

const kViewBody: Record<ViewName, () => preact.JSX.Element> = {
  overview: Overview,
  heads: Heads,
  head: HeadDetail,
  circuit: Circuit,
};

const kQuestion: Record<ViewName, string> = {
  overview: "Where are the attention sinks, and what do they do?",
  heads: "Which heads are sinks, and of which kind?",
  head: "What does this head do?",
  circuit: "What makes the sink?",
};

export function App({ page }: { page: Page }) {
  const [route, go] = useRoute(page);
  const palette = usePalette(route.theme);
  const metrics = useMemo(() => metricsOf(page), [page]);
  const strongest = useMemo(() => strongestHead(page), [page]);
  const views = kViews.filter((view) => view !== "circuit" || hasCircuit(page));
  const view = views.includes(route.view) ? route.view : "overview";
  const metric = metrics.find((m) => m.id === route.metric) ?? metrics[0];
  const Body = kViewBody[view];
  if (!metric) return <Problem text="the scan document holds no head with a metric" />;
  const report: Report = { page, metrics, metric, route, go, palette, selected: route.pinned ?? strongest };
  return (
    <ReportContext.Provider value={report}>
      <header>
        <Title page={page} />
        <label class="control theme">
          Theme{" "}
          <select
            id="theme"
            value={route.theme}
            onChange={(event) => go({ theme: event.currentTarget.value as ThemeName })}
          >
            <option value="system">system</option>
            <option value="light">light</option>
            <option value="dark">dark</option>
          </select>
        </label>
        <nav aria-label="Views">
          {views.map((name) => (
            <a
              key={name}
              href={formatRoute({ ...route, view: name })}
              aria-current={name === view ? "page" : undefined}
            >
              {kViewTitle[name]}
            </a>
          ))}
        </nav>
      </header>
      <main>
        <p class="question">{kQuestion[view]}</p>
        {page.notices.length > 0 && (
          <details class="card warning">
            <summary>
              {integer(page.notices.length)} parts of the data do not fit the rest and are not shown
            </summary>
            <ul>
              {page.notices.slice(0, 20).map((text) => (
                <li key={text}>{text}</li>
              ))}
            </ul>
          </details>
        )}
        <Body />
      </main>
      <footer>
        Written by {fact(page.scan.tool?.["name"])} {fact(page.scan.tool?.["version"])}. Layers, heads and
        positions count from 0. Unprocessed weights. This page needs no network.
      </footer>
    </ReportContext.Provider>
  );
}

function Title({ page }: { page: Page }) {
  const { model, inputs } = page.scan;
  const name = String(model["path"] ?? "model")
    .replace(/[\\/]+$/, "")
    .split(/[\\/]/)
    .pop();
  const patches = page.patches ? [`${page.patches.rows} × ${page.patches.columns} patches`] : [];
  const parts = [
    fact(model["family"]),
    `${page.layers} layers × ${page.heads} heads`,
    ...(page.images
      ? [`${fact(inputs?.["sequences"])} images`, ...patches]
      : [
          `${fact(inputs?.["sequences"])} × ${fact(inputs?.["seq_len"])} tokens`,
          `BOS ${fact(inputs?.["bos"])}`,
        ]),
  ];
  return (
    <div class="title">
      <h1>
        <span class="brand">sinkscope</span> {name}
      </h1>
      <p>{parts.join(" · ")}</p>
    </div>
  );
}

export function Problem({ text }: { text: string }) {
  return (
    <main>
      <h1>sinkscope</h1>
      <p class="empty" role="alert">
        This report cannot be shown: {text}.
      </p>
    </main>
  );
}
