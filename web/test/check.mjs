// node test/check.mjs [--screenshots DIR] [FILE.html]
// Without FILE: the built bundle with the sample in it, and documents of other sizes and states.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { expectEqual, launch, results } from "./browser.mjs";
import { damageChecks, largeChecks, lengthChecks } from "./document_checks.mjs";
import { fill } from "./fill.mjs";
import { patchChecks } from "./patch_checks.mjs";
import { downloadChecks, selectionChecks, sizeChecks, staticChecks, viewChecks } from "./page_checks.mjs";
import { theoryChecks } from "./theory_checks.mjs";
import { trainChecks } from "./train_checks.mjs";

const { values, positionals } = parseArgs({
  options: { screenshots: { type: "string" } },
  allowPositionals: true,
});
const shots = values.screenshots && resolve(values.screenshots);
if (shots) mkdirSync(shots, { recursive: true });

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const bundle = join(web, "dist", "index.html");
const folder = mkdtempSync(join(tmpdir(), "sinkscope-page-"));
const troubles = [];
const browser = await launch();
try {
  let file = positionals[0] && resolve(positionals[0]);
  if (!file) {
    file = join(folder, "sample.html");
    writeFileSync(file, fill(bundle, readFileSync(join(web, "test", "sample.json"), "utf8").trim()));
    await lengthChecks(browser, bundle, folder, troubles);
    await damageChecks(browser, bundle, folder, troubles);
    await patchChecks(browser, bundle, folder, troubles, shots);
    await theoryChecks(browser, bundle, folder, troubles, shots);
    await trainChecks(browser, bundle, folder, troubles, shots);
    const paint = await largeChecks(browser, bundle, folder, troubles, shots);
    console.log(`first paint of 80 x 64 heads: ${Math.round(paint)} ms`);
  }
  staticChecks(file);
  const paint = await viewChecks(browser, file, troubles, shots);
  console.log(`first paint: ${Math.round(paint)} ms`);
  await selectionChecks(browser, file, troubles);
  await sizeChecks(browser, file, troubles);
  await downloadChecks(browser, file, troubles, shots);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
expectEqual(troubles, [], "no console message, page error or request");
const { checks, failures } = results();
console.log(`${checks - failures.length} of ${checks} checks hold`);
process.exitCode = failures.length ? 1 : 0;
