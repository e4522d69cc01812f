import type {
  EventPoint,
  HeadRow,
  LayerRow,
  Maybe,
  PageDocument,
  ScanDocument,
  SequenceRow,
} from "./document";
import { integer, isNumber } from "../ui/format";

const kMaxSide = 4096;

/// The patches of a run whose images all have the same: `prefix` tokens, then the patches row by row.
export interface PatchGrid {
  rows: number;
  columns: number;
  prefix: number;
}

/// What the views read: the document with its heads, layers and events indexed. Parts that do not
/// fit the rest (a curve of another length, an event of a head that does not exist) are left out
/// and named in `notices`: nothing is drawn with shifted labels.
export class Page {
  readonly scan: ScanDocument;
  readonly layers: number;
  readonly heads: number;
  readonly notices: string[] = [];
  readonly sequences = new Map<number, SequenceRow>();
  readonly layerRows: LayerRow[];
  /// The inputs are images, from files or as arrays of pixels.
  readonly images: boolean;
  /// null for texts and where images have different grids
  readonly patches: PatchGrid | null;
  private readonly byHead: (HeadRow | undefined)[];
  private readonly eventsByHead = new Map<number, EventPoint[]>();

  constructor(readonly document: PageDocument) {
    if (!document.scan) throw new Error("the data has no `scan` document");
    this.scan = document.scan;
    this.layers = side(this.scan.model?.layers, "scan.model.layers");
    this.heads = side(this.scan.model?.heads, "scan.model.heads");
    this.byHead = new Array<HeadRow | undefined>(this.layers * this.heads).fill(undefined);
    for (const row of list<HeadRow>(this.scan.heads)) {
      if (this.holds(row.layer, row.head)) this.byHead[this.index(row.layer, row.head)] = row;
      else this.notices.push(`heads: L${row.layer}H${row.head} is outside ${this.layers} x ${this.heads}`);
    }
    this.layerRows = list<LayerRow>(this.scan.layers)
      .filter((row) => Number.isInteger(row.layer) && row.layer >= 0 && row.layer < this.layers)
      .sort((a, b) => a.layer - b.layer);
    this.readSequences();
    this.readEvents();
    this.checkCurves();
    this.images = ["images", "pixels"].includes(String(this.scan.inputs?.["kind"]));
    this.patches = this.readPatches();
  }

  index(layer: number, head: number): number {
    return layer * this.heads + head;
  }

  holds(layer: number, head: number): boolean {
    return (
      Number.isInteger(layer) &&
      Number.isInteger(head) &&
      layer >= 0 &&
      head >= 0 &&
      layer < this.layers &&
      head < this.heads
    );
  }

  head(layer: number, head: number): HeadRow | undefined {
    return this.byHead[this.index(layer, head)];
  }

  measured(): HeadRow[] {
    return this.byHead.filter((row): row is HeadRow => row !== undefined);
  }

  /// alpha by position, or null where the run stored no curve for this head.
  curve(layer: number, head: number): Maybe[] | null {
    const alpha = this.document.alpha;
    const values = alpha?.heads?.[layer]?.[head];
    return values && values.length === alpha.positions ? values : null;
  }

  extra(name: string, layer: number, head: number): Maybe {
    const value = this.document.extra?.[name]?.[layer]?.[head];
    return isNumber(value) ? value : null;
  }

  events(layer: number, head: number): EventPoint[] {
    return this.eventsByHead.get(this.index(layer, head)) ?? [];
  }

  eventCount(): number {
    let count = 0;
    for (const events of this.eventsByHead.values()) count += events.length;
    return count;
  }

  /// Shown on a token label, null when the run stored none for this position.
  label(sequence: number, position: number): string | null {
    return this.sequences.get(sequence)?.labels?.[position] ?? null;
  }

  /// What people call a position: "CLS" or "patch (2, 5)" in an image, its number in a text; -1
  /// stands for the learned sink logit.
  positionName(position: unknown): string {
    if (position === -1) return "sink logit";
    const patch = this.patchAt(position);
    if (patch) return `patch (${patch.row}, ${patch.column})`;
    const label =
      this.patches && isNumber(position) && position < this.patches.prefix
        ? this.prefixLabels()[position]
        : undefined;
    return label ?? integer(position);
  }

  /// The patch that a position is; null for the tokens before the patches and for texts.
  patchAt(position: unknown): { row: number; column: number } | null {
    if (!this.patches || !isNumber(position)) return null;
    const { rows, columns, prefix } = this.patches;
    const patch = position - prefix;
    if (patch < 0 || patch >= rows * columns) return null;
    return { row: Math.floor(patch / columns), column: patch % columns };
  }

  /// Names of the tokens before the patches, from any sequence with labels: all have the same.
  private prefixLabels(): string[] {
    for (const row of this.sequences.values()) if (row.labels?.length) return row.labels;
    return [];
  }

  threshold(name: string, fallback: number): number {
    const value = this.scan.thresholds?.[name];
    return isNumber(value) ? value : fallback;
  }

  private readSequences(): void {
    for (const row of list<SequenceRow>(this.document.sequences)) {
      const labels = list<string>(row.labels);
      const expected = Math.min(64, row.tokens ?? labels.length);
      if (labels.length && labels.length !== expected) {
        this.notices.push(
          `sequence ${row.id}: ${labels.length} labels for ${expected} tokens; its labels are not shown`,
        );
        this.sequences.set(row.id, { ...row, labels: [] });
      } else {
        this.sequences.set(row.id, row);
      }
    }
  }

  private readPatches(): PatchGrid | null {
    const grid = this.scan.inputs?.["patch_grid"] as Partial<PatchGrid> | null | undefined;
    if (!grid) return null;
    const { rows, columns, prefix } = grid;
    const counts = [rows, columns, prefix].every((count) => Number.isInteger(count) && count! >= 0);
    const positions = this.document.alpha?.positions;
    if (counts && rows! * columns! > 0 && (!positions || rows! * columns! + prefix! === positions)) {
      return { rows: rows!, columns: columns!, prefix: prefix! };
    }
    this.notices.push(
      `inputs.patch_grid ${JSON.stringify(grid)} does not give ${positions} positions; no patch is named or drawn`,
    );
    return null;
  }

  private readEvents(): void {
    for (const event of list<EventPoint>(this.document.points)) {
      if (!this.holds(event[1], event[2])) {
        this.notices.push(`points: L${event[1]}H${event[2]} is outside ${this.layers} x ${this.heads}`);
        continue;
      }
      const key = this.index(event[1], event[2]);
      const known = this.eventsByHead.get(key);
      if (known) known.push(event);
      else this.eventsByHead.set(key, [event]);
    }
  }

  private checkCurves(): void {
    const alpha = this.document.alpha;
    if (!alpha) return;
    list<(Maybe[] | null)[] | null>(alpha.heads).forEach((row, layer) =>
      row?.forEach((values, head) => {
        if (values && values.length !== alpha.positions) {
          this.notices.push(
            `alpha of L${layer}H${head}: ${values.length} values for ${alpha.positions} positions; not drawn`,
          );
        }
      }),
    );
  }
}

export function list<T>(value: unknown): T[] {
  return Array.isArray(value) ? (value as T[]) : [];
}

function side(value: unknown, name: string): number {
  if (!Number.isInteger(value) || (value as number) < 1 || (value as number) > kMaxSide) {
    throw new Error(`${name} is ${JSON.stringify(value)}, a whole number from 1 to ${kMaxSide} expected`);
  }
  return value as number;
}
