import type { SheetCell } from "../data/document";
import { kRunColumn } from "../data/sheet";
import { isNumber } from "../ui/format";
import { nameRow, type RowGroup } from "./row_groups";

/// How one line is told from the others.
export interface LineLook {
  group: RowGroup;
  label: string;
  color: number;
  ramp?: number;
  dash?: number[];
  /// the legend leaves it out
  unlisted?: boolean;
  /// lines that look like this one, when there are several: they are drawn thin, and the first
  /// stands for all in the legend
  alike?: LineLook[];
}

/// Lines that share a pair of axes.
export interface PanelLook {
  /// "" for the only one
  label: string;
  lines: LineLook[];
}

/// A line and what its look depends on: the cells of its columns, or the arm instead of the run.
interface Line {
  group: RowGroup;
  cells: SheetCell[];
}

const kDashes = [undefined, [8, 4], [2, 3], [8, 3, 2, 3]];
const kColors = 4;
/// More looks than colours times dashes could not be told apart.
const kMostLooks = kColors * kDashes.length;
/// More panels are left to the choice of the reader.
export const kMostPanels = 9;
/// A legend of a ramp names its first colours and the last.
const kMostRampNames = 10;
const kFirstRampNames = 4;

/// Few lines have a colour each. Of more lines the last column that differs gives the colour (a ramp
/// where it holds many numbers) and the others the dash; where that is not enough, each value of the
/// others has a panel. Many runs of a training look like their arm, so that seeds make a bundle.
export function layOutLines(
  groups: RowGroup[],
  names: string[],
  arms: ReadonlyMap<string, string>,
): PanelLook[] {
  const lines = linesOf(groups, names, arms);
  const differing = names.flatMap((_name, i) => (distinct(lines, [i]).length > 1 ? [i] : []));
  const last = differing[differing.length - 1];
  if (last === undefined || distinct(lines, differing).length <= kColors)
    return [plain(lines, names, differing)];
  const values = distinct(lines, [last]).map((line) => line.cells[last] ?? null);
  const ramp = values.length > kColors && values.every(isNumber);
  if (values.length > kColors && !ramp) return [plain(lines, names, differing)];
  if (values.every(isNumber)) values.sort((a, b) => Number(a) - Number(b));

  const others = differing.slice(0, -1);
  const apart = ramp ? others : columnsApart(lines, names, others);
  const panels = distinct(lines, apart);
  if (panels.length > kMostPanels && !names.includes(kRunColumn)) return [plain(lines, names, differing)];
  const within = others.filter((i) => !apart.includes(i));
  return panels.map((first) => {
    const own = lines.filter((line) => agree(line, first, apart));
    const kinds = distinct(own, within);
    const looks = own.map(({ group, cells }): LineLook => {
      const place = values.indexOf(cells[last] ?? null);
      return {
        group,
        label: nameRow(names, cells, [...within, last]),
        ...(ramp
          ? { color: 0, ramp: place / (values.length - 1), unlisted: !isNamed(place, values.length) }
          : { color: place, dash: kDashes[kinds.findIndex((kind) => agree(kind, { cells }, within))] }),
      };
    });
    return { label: nameRow(names, first.cells, apart), lines: bundled(looks) };
  });
}

function linesOf(groups: RowGroup[], names: string[], arms: ReadonlyMap<string, string>): Line[] {
  const run = names.indexOf(kRunColumn);
  const runs = new Set(groups.map((group) => group.cells[run]));
  const known = new Set([...runs].map((name) => arms.get(String(name))));
  const useArms = runs.size > kDashes.length && known.size < runs.size && !known.has(undefined);
  return groups.map((group) => {
    if (!useArms) return { group, cells: group.cells };
    const cells = [...group.cells];
    cells[run] = arms.get(String(cells[run]))!;
    return { group, cells };
  });
}

/// The columns whose values have panels: none where dashes suffice, else all but that of the runs,
/// and that too where dashes do not suffice for it.
function columnsApart(lines: Line[], names: string[], others: number[]): number[] {
  const run = names.indexOf(kRunColumn);
  for (const apart of [[], others.filter((i) => i !== run)]) {
    const within = others.filter((i) => !apart.includes(i));
    if (distinct(lines, within).length <= kDashes.length) return apart;
  }
  return others;
}

/// A colour each, then a dash each.
function plain(lines: Line[], names: string[], differing: number[]): PanelLook {
  const looks = distinct(lines, differing);
  const shown = lines.flatMap(({ group, cells }): LineLook[] => {
    const i = looks.findIndex((look) => agree(look, { cells }, differing));
    if (i >= kMostLooks) return [];
    const columns = differing.length ? differing : names.map((_name, k) => k);
    const label = nameRow(names, cells, columns);
    return [{ group, label, color: i % kColors, dash: kDashes[Math.floor(i / kColors)] }];
  });
  return { label: "", lines: bundled(shown) };
}

function isNamed(place: number, count: number): boolean {
  return count <= kMostRampNames || place < kFirstRampNames || place === count - 1;
}

/// Lines of one look make a bundle.
function bundled(lines: LineLook[]): LineLook[] {
  const bundles = new Map<string, LineLook[]>();
  for (const line of lines) {
    const look = JSON.stringify([line.color, line.ramp, line.dash]);
    const own = bundles.get(look);
    if (own) own.push(line);
    else bundles.set(look, [line]);
  }
  for (const alike of bundles.values()) {
    if (alike.length < 2) continue;
    alike.forEach((line, i) => Object.assign(line, { alike, unlisted: line.unlisted || i > 0 }));
  }
  return lines;
}

function agree(a: Pick<Line, "cells">, b: Pick<Line, "cells">, columns: number[]): boolean {
  return columns.every((i) => a.cells[i] === b.cells[i]);
}

/// The first line of each combination of values in these columns.
function distinct(lines: Line[], columns: number[]): Line[] {
  const seen = new Map<string, Line>();
  for (const line of lines) {
    const key = JSON.stringify(columns.map((i) => line.cells[i]));
    if (!seen.has(key)) seen.set(key, line);
  }
  return [...seen.values()];
}
