import { useEffect, useMemo, useState } from "preact/hooks";

import type { ClassName } from "../data/document";
import type { ThemeName } from "./route";

/// The colours that figures use, read from the style sheet so that they stand in one place.
export interface Palette {
  dark: boolean;
  background: string;
  text: string;
  muted: string;
  grid: string;
  accent: string;
  classes: Record<ClassName, string>;
  series: string[];
}

function readPalette(dark: boolean): Palette {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    dark,
    background: color("card"),
    text: color("text"),
    muted: color("muted"),
    grid: color("grid"),
    accent: color("accent"),
    classes: {
      none: color("class-none"),
      nop: color("class-nop"),
      broadcast: color("class-broadcast"),
      other: color("class-other"),
      too_short: color("class-too-short"),
    },
    series: [color("series-1"), color("series-2"), color("series-3"), color("series-4")],
  };
}

const kDarkQuery = "(prefers-color-scheme: dark)";

export function usePalette(theme: ThemeName): Palette {
  const [system, setSystem] = useState(() => matchMedia(kDarkQuery).matches);
  useEffect(() => {
    const query = matchMedia(kDarkQuery);
    const follow = () => setSystem(query.matches);
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, []);
  const dark = theme === "system" ? system : theme === "dark";
  return useMemo(() => {
    // Before the colours are read: the attribute selects them.
    document.documentElement.dataset["theme"] = dark ? "dark" : "light";
    return readPalette(dark);
  }, [dark]);
}
