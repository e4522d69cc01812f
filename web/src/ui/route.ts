import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import type { ClassName } from "../data/document";
import type { Page } from "../data/page";
import { kClasses } from "../data/classes";
import { headName } from "./format";

export type ViewName = "overview" | "heads" | "head" | "circuit";
export type ThemeName = "system" | "light" | "dark";
export type HeadFilter = ClassName | "event" | "all";

export interface HeadId {
  layer: number;
  head: number;
}

/// All that a link restores. It lives in the address after #, for example
/// `#heads?head=L5H3&metric=ratio_out&theme=dark`.
export interface Route {
  view: ViewName;
  pinned: HeadId | null;
  metric: string | null;
  filter: HeadFilter;
  theme: ThemeName;
}

export const kViews: ViewName[] = ["overview", "heads", "head", "circuit"];
const kThemes: ThemeName[] = ["system", "light", "dark"];
const kFilters: HeadFilter[] = ["all", "event", ...kClasses.map((info) => info.name)];

function oneOf<T extends string>(value: string | null | undefined, known: T[], fallback: T): T {
  return known.includes(value as T) ? (value as T) : fallback;
}

export function parseRoute(hash: string, page: Page): Route {
  const [view = "", query = ""] = hash.replace(/^#/, "").split("?");
  const values = new URLSearchParams(query);
  const match = /^L(\d{1,5})H(\d{1,5})$/.exec(values.get("head") ?? "");
  const head = match ? { layer: Number(match[1]), head: Number(match[2]) } : null;
  return {
    view: oneOf(view, kViews, "overview"),
    pinned: head && page.holds(head.layer, head.head) ? head : null,
    metric: values.get("metric"),
    filter: oneOf(values.get("class"), kFilters, "all"),
    theme: oneOf(values.get("theme"), kThemes, "system"),
  };
}

export function formatRoute(route: Route): string {
  const values = new URLSearchParams();
  if (route.pinned) values.set("head", headName(route.pinned.layer, route.pinned.head));
  if (route.metric) values.set("metric", route.metric);
  if (route.filter !== "all") values.set("class", route.filter);
  if (route.theme !== "system") values.set("theme", route.theme);
  return withQuery(route.view, values);
}

function withQuery(view: string, values: URLSearchParams): string {
  const query = values.toString();
  return `#${view}${query ? `?${query}` : ""}`;
}

/// Of a page of tables: the section to look at and the run of a training that is shown, "" for all
/// of them; for example `#figures?run=softmax-0&theme=dark`.
export interface SheetRoute {
  view: SheetSection;
  run: string;
  theme: ThemeName;
}

export type SheetSection = "findings" | "checks" | "figures" | "tables";
const kSheetSections: SheetSection[] = ["findings", "checks", "figures", "tables"];

export function parseSheetRoute(hash: string): SheetRoute {
  const [view = "", query = ""] = hash.replace(/^#/, "").split("?");
  const values = new URLSearchParams(query);
  return {
    view: oneOf(view, kSheetSections, "findings"),
    run: values.get("run") ?? "",
    theme: oneOf(values.get("theme"), kThemes, "system"),
  };
}

export function formatSheetRoute({ view, run, theme }: SheetRoute): string {
  const values = new URLSearchParams();
  if (run) values.set("run", run);
  if (theme !== "system") values.set("theme", theme);
  return withQuery(view, values);
}

export type Go = (change: Partial<Route>) => void;

export function useRoute(page: Page): [Route, Go] {
  return useAddress(
    useCallback((hash: string) => parseRoute(hash, page), [page]),
    formatRoute,
  );
}

const kAddressDelayMs = 300;

/// The route and how to change it. Opening another view makes an entry in the history; changes
/// within a view only replace the address, and not more often than browsers allow (they drop
/// writes, with a warning, when a held arrow key makes hundreds).
/// `parse` must keep its identity.
export function useAddress<R extends { view: string }>(
  parse: (hash: string) => R,
  format: (route: R) => string,
): [R, (change: Partial<R>) => void] {
  const [route, setRoute] = useState(() => parse(location.hash));
  // The last address seen. When the real one differs, someone followed a link and the event that
  // tells us is on its way: writing ours now would take them back.
  const known = useRef(location.hash);

  useEffect(() => {
    const follow = () => {
      known.current = location.hash;
      setRoute(parse(location.hash));
    };
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, [parse]);

  useEffect(() => {
    const address = format(route);
    const current = parse(known.current);
    if (format(current) === address) return;
    const write = (use: (address: string) => void) => {
      if (location.hash !== known.current) return;
      use(address);
      known.current = location.hash;
    };
    if (current.view !== route.view) {
      write((to) => {
        location.hash = to;
      });
      return;
    }
    const timer = setTimeout(() => write((to) => location.replace(to)), kAddressDelayMs);
    return () => clearTimeout(timer);
  }, [route, parse, format]);

  return [route, (change) => setRoute((old) => ({ ...old, ...change }))];
}
