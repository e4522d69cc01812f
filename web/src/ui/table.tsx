import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";

import { csvText, fileName, save, type Cell } from "./download";
import { integer } from "./format";
import { useFrame } from "./context";

export interface Column<Row> {
  key: string;
  label: string;
  title?: string;
  value: (row: Row) => Cell;
  show?: (row: Row) => ComponentChildren;
  text?: boolean;
}

interface TableProps<Row> {
  id: string;
  caption: string;
  columns: Column<Row>[];
  rows: Row[];
  sort?: { key: string; down: boolean };
  current?: (row: Row) => boolean;
  /// below the rows
  children?: ComponentChildren;
}

const kPageRows = 20;

function compare(a: Cell, b: Cell, down: boolean): number {
  const [noA, noB] = [a === null || a === undefined, b === null || b === undefined];
  if (noA || noB) return Number(noA) - Number(noB);
  const [left, right] = [a, b].map((value) => (Array.isArray(value) ? value.length : value));
  const order =
    typeof left === "number" && typeof right === "number"
      ? left - right
      : String(left).localeCompare(String(right));
  return down ? -order : order;
}

/// A table that sorts by its headings (lists by their length) and shows twenty rows at a time. No data
/// sorts last.
export function Table<Row>({ id, caption, columns, rows, sort, current, children }: TableProps<Row>) {
  const { file } = useFrame();
  const [order, setOrder] = useState(sort ?? null);
  const [first, setFirst] = useState(0);
  const sorted = useMemo(() => {
    const column = columns.find((c) => c.key === order?.key);
    if (!column || !order) return rows;
    return [...rows].sort((a, b) => compare(column.value(a), column.value(b), order.down));
  }, [rows, columns, order]);
  const start = first < sorted.length ? first : 0;
  const shown = sorted.slice(start, start + kPageRows);

  const sortBy = (column: Column<Row>) => {
    setFirst(0);
    setOrder((old) => ({ key: column.key, down: old?.key === column.key ? !old.down : !column.text }));
  };
  const saveCsv = () =>
    save(
      fileName(file, id, "csv"),
      csvText(
        columns.map((c) => c.key),
        sorted.map((row) => columns.map((c) => c.value(row))),
      ),
      "text/csv",
    );

  return (
    <section class="table" aria-labelledby={`${id}-title`}>
      <h3 id={`${id}-title`}>{caption}</h3>
      <div class="scroll" tabIndex={0} role="region" aria-label={`${caption}, scrolls sideways`}>
        <table id={id} aria-labelledby={`${id}-title`}>
          <thead>
            <tr>
              {columns.map((column) => (
                <th
                  key={column.key}
                  scope="col"
                  class={column.text ? "" : "number"}
                  aria-sort={order?.key !== column.key ? undefined : order.down ? "descending" : "ascending"}
                >
                  <button type="button" title={column.title} onClick={() => sortBy(column)}>
                    {column.label}
                    <span aria-hidden="true">
                      {order?.key === column.key ? (order.down ? " ▾" : " ▴") : ""}
                    </span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, i) => (
              <tr key={start + i} aria-current={current?.(row) ? "true" : undefined}>
                {columns.map((column) => (
                  <td key={column.key} class={column.text ? "" : "number"}>
                    {column.show ? column.show(row) : (column.value(row) ?? "–")}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="pager">
        <button type="button" disabled={start === 0} onClick={() => setFirst(start - kPageRows)}>
          Previous
        </button>
        <span>
          {rows.length
            ? `${integer(start + 1)}–${integer(start + shown.length)} of ${integer(rows.length)}`
            : "no rows"}
        </span>
        <button
          type="button"
          disabled={start + kPageRows >= rows.length}
          onClick={() => setFirst(start + kPageRows)}
        >
          Next
        </button>
        <button type="button" aria-label={`Download table as CSV: ${caption}`} onClick={saveCsv}>
          CSV
        </button>
      </div>
      {children}
    </section>
  );
}
