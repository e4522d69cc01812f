import type { ClassName } from "./document";

export interface ClassInfo {
  name: ClassName;
  letter: string;
  label: string;
  meaning: string;
}

/// In the order of the class codes. Each class has a letter and a shape beside its colour.
export const kClasses: ClassInfo[] = [
  {
    name: "none",
    letter: "",
    label: "none",
    meaning: "no sink event: no position takes most of this head's attention",
  },
  {
    name: "nop",
    letter: "N",
    label: "NOP",
    meaning: "the sink's value is near zero: attending to it does nothing",
  },
  {
    name: "broadcast",
    letter: "B",
    label: "broadcast",
    meaning: "the sink's value is large and every token receives the same vector",
  },
  {
    name: "other",
    letter: "o",
    label: "other",
    meaning: "a sink event that is neither clearly NOP nor clearly broadcast",
  },
  {
    name: "too_short",
    letter: "s",
    label: "too short",
    meaning: "no key is seen by enough queries to be judged",
  },
];

const byName = new Map(kClasses.map((info) => [info.name, info]));

export function classInfo(name: string | null | undefined): ClassInfo {
  return byName.get((name ?? "none") as ClassName) ?? kClasses[0]!;
}

export function classOfCode(code: number): ClassInfo {
  return kClasses[code] ?? kClasses[0]!;
}
