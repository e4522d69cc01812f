import { classInfo } from "../data/classes";

/// Colour, letter and word of a class.
export function ClassBadge({ name }: { name: string | null | undefined }) {
  const info = classInfo(name);
  return (
    <span class={`badge ${info.name}`} title={info.meaning}>
      {info.letter && <b aria-hidden="true">{info.letter}</b>}
      {info.label}
    </span>
  );
}
