import { readFileSync } from "node:fs";

const kMarker = '<script id="data" type="application/json"></script>';

/// The bundle with a page document in it, as the program writes it: every `<` as \u003c.
export function fill(bundleFile, document) {
  const bundle = readFileSync(bundleFile, "utf8");
  if (bundle.split(kMarker).length !== 2)
    throw new Error(`${bundleFile}: the data marker must stand there exactly once`);
  const json = (typeof document === "string" ? document : JSON.stringify(document)).replaceAll(
    "<",
    "\\u003c",
  );
  return bundle.replace(kMarker, () => kMarker.replace("></", `>${json}</`));
}
