import { useMemo, useState } from "preact/hooks";

import { classInfo } from "../data/classes";
import type { HeadRow } from "../data/document";
import { HeadMap } from "../figures/head_map";
import { Scatter } from "../figures/scatter";
import { passes } from "../plot/head_map";
import { ClassBadge } from "../ui/class_badge";
import { FilterSelect, MetricSelect } from "../ui/controls";
import { useReport } from "../ui/context";
import { headName, isNumber } from "../ui/format";
import { formatRoute, type HeadId } from "../ui/route";
import { Table, type Column } from "../ui/table";

const kMapHeight = 960;

export function Heads() {
  const { page, route } = useReport();
  const [hover, setHover] = useState<HeadId | null>(null);
  const shown = useMemo(
    () => page.measured().filter((row) => passes(row, route.filter)),
    [page, route.filter],
  );
  return (
    <>
      <div class="toolbar">
        <MetricSelect />
        <FilterSelect />
      </div>
      <div class="columns">
        <HeadMap id="heads-map" maxHeight={kMapHeight} hover={hover} onHover={setHover} />
        <Scatter hover={hover} onHover={setHover} />
      </div>
      <HeadTable rows={shown} />
    </>
  );
}

function HeadTable({ rows }: { rows: HeadRow[] }) {
  const { page, metrics, metric, route } = useReport();
  const columns = useMemo(() => {
    const list: Column<HeadRow>[] = [
      {
        key: "name",
        label: "head",
        text: true,
        value: (row) => headName(row.layer, row.head),
        show: (row) => (
          <a href={formatRoute({ ...route, view: "head", pinned: { layer: row.layer, head: row.head } })}>
            {headName(row.layer, row.head)}
          </a>
        ),
      },
      { key: "layer", label: "layer", value: (row) => row.layer },
      { key: "head", label: "no.", title: "head, counted in its layer", value: (row) => row.head },
      {
        key: "class",
        label: "class",
        text: true,
        value: (row) => classInfo(row.class).name,
        show: (row) => <ClassBadge name={row.class} />,
      },
      {
        key: "sink_index",
        label: "sink at",
        title: "most frequent dominant position",
        value: (row) => (isNumber(row["sink_index"]) ? row["sink_index"] : null),
        show: (row) => page.positionName(row["sink_index"]),
      },
    ];
    for (const m of [metric, ...metrics.filter((other) => other !== metric)]) {
      if (m.scale === "class") continue;
      list.push({
        key: m.id,
        label: m.label,
        title: m.definition,
        value: m.value,
        show: (row) => m.format(m.value(row)),
      });
    }
    return list;
  }, [page, metrics, metric, route]);
  const key = metric.scale === "class" ? "alpha_sink" : metric.id;
  return (
    <Table
      key={key}
      id="head-table"
      caption="All heads with every metric; a heading sorts"
      columns={columns}
      rows={rows}
      sort={{ key, down: true }}
      current={(row) => row.layer === route.pinned?.layer && row.head === route.pinned?.head}
    />
  );
}
