// Builds into a temporary folder and compares with the committed web/dist/index.html.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "vite";

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = mkdtempSync(join(tmpdir(), "sinkscope-build-"));
try {
  await build({ root: web, logLevel: "warn", build: { outDir: folder, emptyOutDir: true } });
  const [built, kept] = [folder, join(web, "dist")].map((path) => readFileSync(join(path, "index.html")));
  if (built.equals(kept)) {
    console.log(`web/dist/index.html is current (${kept.length} bytes)`);
  } else {
    console.error(
      `web/dist/index.html (${kept.length} bytes) is not what the sources give (${built.length} bytes): npm run build`,
    );
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
