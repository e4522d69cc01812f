import { createContext } from "preact";
import { useContext } from "preact/hooks";

import type { Metric } from "../data/metrics";
import type { Page } from "../data/page";
import type { Go, HeadId, Route } from "./route";
import type { Palette } from "./theme";

/// What figures and tables need, whatever document the page shows.
export interface Frame {
  palette: Palette;
  /// a path or name; the names of downloads begin with its last part
  file: string;
}

export const FrameContext = createContext<Frame | null>(null);

export function useFrame(): Frame {
  const frame = useContext(FrameContext);
  if (!frame) throw new Error("useFrame outside of a page");
  return frame;
}

/// What every view of a run needs. `selected` is the pinned head, or the strongest one while none is pinned.
export interface Report extends Frame {
  page: Page;
  metrics: Metric[];
  metric: Metric;
  route: Route;
  go: Go;
  selected: HeadId;
}

export const ReportContext = createContext<Report | null>(null);

export function useReport(): Report {
  const report = useContext(ReportContext);
  if (!report) throw new Error("useReport outside of the report");
  return report;
}
