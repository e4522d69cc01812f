import type { MetricText, Section } from "../data/document";
import type { Page } from "../data/page";
import { fact, integer } from "../ui/format";

const kSections: [string, (page: Page) => Section | undefined][] = [
  ["Model", (page) => page.scan.model],
  ["Inputs", (page) => page.scan.inputs],
  ["Thresholds", (page) => page.scan.thresholds],
  ["Summary", (page) => page.scan.summary],
  ["Program", (page) => page.scan.tool],
  ["Timing", (page) => page.scan.timing],
];

/// Where every number comes from: one click away, not in the way.
export function RunFacts({ page }: { page: Page }) {
  const metrics = page.document.metrics ?? [];
  return (
    <>
      <Warnings texts={page.scan.warnings ?? []} />
      <details class="card" id="facts">
        <summary>Run facts: model, inputs, thresholds, versions</summary>
        <div class="facts">
          {kSections.map(([title, get]) => (
            <FactTable key={title} title={title} section={get(page)} />
          ))}
        </div>
      </details>
      {metrics.length > 0 && (
        <details class="card" id="definitions">
          <summary>Definitions of all {integer(metrics.length)} stored quantities</summary>
          <Definitions of={metrics} />
        </details>
      )}
    </>
  );
}

export function Warnings({ texts }: { texts: string[] }) {
  return (
    <details class="card" id="warnings">
      <summary>Warnings ({integer(texts.length)})</summary>
      {texts.length ? (
        <ul>
          {texts.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      ) : (
        <p>None.</p>
      )}
    </details>
  );
}

export function Definitions({ of }: { of: MetricText[] }) {
  return (
    <dl class="definitions">
      {of.map(({ name, unit, definition }) => (
        <div key={name}>
          <dt>
            <code>{name}</code>
            {unit ? ` (${unit})` : ""}
          </dt>
          <dd>{definition || "–"}</dd>
        </div>
      ))}
    </dl>
  );
}

export function FactTable({ title, section }: { title: string; section: Section | undefined }) {
  const entries = Object.entries(section ?? {}).flatMap(([key, value]): [string, unknown][] =>
    value && typeof value === "object" && !Array.isArray(value)
      ? Object.entries(value).map(([inner, part]) => [`${key}.${inner}`, part])
      : [[key, value]],
  );
  if (!entries.length) return null;
  return (
    <table class="fact-table">
      <caption>{title}</caption>
      <tbody>
        {entries.map(([key, value]) => (
          <tr key={key}>
            <th scope="row">{key}</th>
            <td>{fact(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
