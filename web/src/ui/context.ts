import { createContext } from "preact";
import { useContext } from "preact/hooks";

import type { Metric } from "../data/metrics";
import type { Page } from "../data/page";
import type { Go, HeadId, Route } from "./route";
import type { Palette } from "./theme";

/// What every view needs. `selected` is the pinned head, or the strongest one while none is pinned.
export interface Report {
  page: Page;
  metrics: Metric[];
  metric: Metric;
  route: Route;
  go: Go;
  palette: Palette;
  selected: HeadId;
}

export const ReportContext = createContext<Report | null>(null);

export function useReport(): Report {
  const report = useContext(ReportContext);
  if (!report) throw new Error("useReport outside of the report");
  return report;
}
