import { kClasses } from "../data/classes";
import { useReport } from "./context";
import type { HeadFilter } from "./route";

export function MetricSelect() {
  const { metrics, metric, go } = useReport();
  return (
    <label class="control">
      Colour by{" "}
      <select id="metric" value={metric.id} onChange={(event) => go({ metric: event.currentTarget.value })}>
        {metrics.map((m) => (
          <option key={m.id} value={m.id}>
            {m.label}
          </option>
        ))}
      </select>
    </label>
  );
}

export function FilterSelect() {
  const { route, go } = useReport();
  return (
    <label class="control">
      Show{" "}
      <select
        id="filter"
        value={route.filter}
        onChange={(event) => go({ filter: event.currentTarget.value as HeadFilter })}
      >
        <option value="all">all heads</option>
        <option value="event">heads with a sink event</option>
        {kClasses.map((info) => (
          <option key={info.name} value={info.name}>
            only: {info.label}
          </option>
        ))}
      </select>
    </label>
  );
}
