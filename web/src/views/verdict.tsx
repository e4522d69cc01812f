import { classInfo } from "../data/classes";
import type { HeadRow } from "../data/document";
import type { Page } from "../data/page";
import { ClassBadge } from "../ui/class_badge";
import { isNumber, magnitude, share } from "../ui/format";

interface Criterion {
  question: string;
  name: string;
  value: unknown;
  relation: "≤" | "≥" | ">";
  threshold: number;
  yes: string;
  no: string;
  share?: boolean;
}

/// The rules in the order in which they are asked, each beside its threshold.
function criteria(page: Page, row: HeadRow): Criterion[] {
  const alphaSink =
    row["alpha_sink"] ??
    (isNumber(row["sink_index"]) ? page.curve(row.layer, row.head)?.[row["sink_index"]] : null);
  return [
    {
      question: "Is one position strong?",
      name: "alpha at the sink",
      value: alphaSink,
      relation: ">",
      threshold: page.threshold("epsilon", 0.3),
      yes: "a sink",
      no: "no sink",
      share: true,
    },
    {
      question: "Stronger than in a uniform head?",
      name: "lift",
      value: row["lift"] ?? page.extra("lift", row.layer, row.head),
      relation: "≥",
      threshold: page.threshold("min_lift", 2),
      yes: "yes",
      no: "no sink",
    },
    {
      question: "Do nearly all queries use it?",
      name: "routed share of queries",
      value: row["routed"],
      relation: "≥",
      threshold: page.threshold("event_query_share", 0.9),
      yes: "a sink event",
      no: "no event",
      share: true,
    },
    {
      question: "Is its value near zero?",
      name: "ratio_out",
      value: row["ratio_out"],
      relation: "≤",
      threshold: page.threshold("nop_ratio", 0.2),
      yes: "NOP",
      no: "not NOP",
    },
    {
      question: "Is its value large?",
      name: "ratio_out",
      value: row["ratio_out"],
      relation: "≥",
      threshold: page.threshold("broadcast_ratio", 0.5),
      yes: "broadcast, if one direction",
      no: "not broadcast",
    },
    {
      question: "Does it write one direction?",
      name: "stable rank",
      value: row["stable_rank"],
      relation: "≤",
      threshold: page.threshold("broadcast_stable_rank", 1.5),
      yes: "one direction",
      no: "several directions",
    },
  ];
}

function holds(criterion: Criterion): boolean | null {
  const { value, relation, threshold } = criterion;
  if (!isNumber(value)) return null;
  return relation === "≤" ? value <= threshold : relation === "≥" ? value >= threshold : value > threshold;
}

const kOpposite = { "≤": ">", "≥": "<", ">": "≤" } as const;

export function Verdict({ page, row }: { page: Page; row: HeadRow }) {
  const list = criteria(page, row).filter((c) => c.value !== undefined);
  return (
    <section class="card" aria-labelledby="verdict-title">
      <h3 id="verdict-title">
        Class: <ClassBadge name={row.class} />
      </h3>
      <p>{sentence(page, row)}</p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Criteria">
        <table id="criteria">
          <caption>Each criterion beside its threshold (means over the sequences)</caption>
          <thead>
            <tr>
              <th scope="col">question</th>
              <th scope="col">measured and threshold</th>
            </tr>
          </thead>
          <tbody>
            {list.map((criterion) => {
              const result = holds(criterion);
              const show = criterion.share ? share : magnitude;
              return (
                <tr key={criterion.question}>
                  <th scope="row">{criterion.question}</th>
                  <td>
                    {result === null ? (
                      `${criterion.name} –`
                    ) : (
                      <>
                        {criterion.name} {show(criterion.value)}{" "}
                        {result ? criterion.relation : kOpposite[criterion.relation]}{" "}
                        {magnitudeOf(criterion.threshold)}: <b>{result ? criterion.yes : criterion.no}</b>
                      </>
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <p class="note">
        The class is decided for each sequence and the most frequent one is kept, so it can differ from what
        the means would give.
      </p>
    </section>
  );
}

/// Thresholds as they are written: 0.2, not 0.200.
function magnitudeOf(threshold: number): string {
  return threshold.toLocaleString("en-US", { maximumFractionDigits: 6 });
}

function sinkName(page: Page, index: unknown): string {
  if (index === -1) return "the learned sink logit";
  if (!isNumber(index)) return "its sink";
  return page.patches ? page.positionName(index) : `position ${index}`;
}

function sentence(page: Page, row: HeadRow): string {
  const at = sinkName(page, row["sink_index"]);
  const ratio = isNumber(row["ratio_out"])
    ? `${magnitude(row["ratio_out"])} times the length of the others'`
    : null;
  const info = classInfo(row.class);
  switch (info.name) {
    case "nop":
      return `Nearly all queries attend to ${at}, whose value is ${ratio ?? "near zero"}: attending there does nothing.`;
    case "broadcast":
      return `Nearly all queries attend to ${at}, whose value is ${ratio ?? "large"}: every token receives the same vector.`;
    case "other":
      return `Nearly all queries attend to ${at}, whose value is ${ratio ?? "of unknown length"}: neither clearly nothing nor one broadcast vector.`;
    case "too_short":
      return "No key is seen by enough queries: the inputs are too short to judge this head.";
    case "none":
      return "No position takes most of this head's attention from nearly all queries.";
  }
}
