import { useMemo } from "preact/hooks";

import { metricsOf, strongestHead } from "./data/metrics";
import type { Page } from "./data/page";
import { FrameContext, ReportContext, type Report } from "./ui/context";
import { fact } from "./ui/format";
import { formatRoute, kViews, useRoute, type ViewName } from "./ui/route";
import { Shell } from "./ui/shell";
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
  const file = String(page.scan.model["path"] ?? "run").replace(/[\\/]+$/, "");
  const selected = route.pinned ?? strongest;
  const report: Report = { page, file, metrics, metric, route, go, palette, selected };
  return (
    <FrameContext.Provider value={report}>
      <ReportContext.Provider value={report}>
        <Shell
          name={report.file.split(/[\\/]/).pop() || "model"}
          parts={factsOf(page)}
          theme={route.theme}
          onTheme={(theme) => go({ theme })}
          navigation="Views"
          links={views.map((name) => ({
            href: formatRoute({ ...route, view: name }),
            text: kViewTitle[name],
            current: name === view,
          }))}
          question={kQuestion[view]}
          notices={page.notices}
          tool={page.scan.tool}
          note="Layers, heads and positions count from 0. Unprocessed weights."
        >
          <Body />
        </Shell>
      </ReportContext.Provider>
    </FrameContext.Provider>
  );
}

function factsOf(page: Page): string[] {
  const { model, inputs } = page.scan;
  const patches = page.patches ? [`${page.patches.rows} × ${page.patches.columns} patches`] : [];
  return [
    fact(model["family"]),
    `${page.layers} layers × ${page.heads} heads`,
    ...(page.images
      ? [`${fact(inputs?.["sequences"])} images`, ...patches]
      : [
          `${fact(inputs?.["sequences"])} × ${fact(inputs?.["seq_len"])} tokens`,
          `BOS ${fact(inputs?.["bos"])}`,
        ]),
  ];
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
