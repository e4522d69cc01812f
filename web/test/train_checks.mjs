// The page of a training: documents sinkscope.train/1.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, expectEqual, open, settle } from "./browser.mjs";
import { fill } from "./fill.mjs";
import { lookAt, saveAll } from "./page_checks.mjs";
import { syntheticTrain } from "./synthetic_train.mjs";

const legend = (page, figure) => page.locator(`#${figure} .u-legend`).first().innerText();
const panels = (page, figure) => page.locator(`#${figure} h4`).allInnerTexts();

async function begin(browser, folder, bundle, troubles, name, document, options = {}) {
  const file = join(folder, `train-${name}.html`);
  writeFileSync(file, fill(bundle, document));
  const page = await open(browser, file, troubles, { hash: "#findings?theme=light", ...options });
  await settle(page);
  return page;
}

async function textChecks(page, document) {
  expectEqual(await page.title(), "sinkscope train: conditional-damping", "the title names the task");
  const header = await page.locator("header").innerText();
  expect(header.includes("3 runs · batch 256"), `runs, then settings under the title: ${header}`);
  expect(header.includes("variant output") && !header.includes("sha256"), "settings of the task, no hash");
  expectEqual(await page.locator("#findings li").allInnerTexts(), document.findings, "train: every finding");
  const tables = await page.locator("#tables h3, #tables summary").allInnerTexts();
  expectEqual(
    tables.slice(0, 3),
    ["Trained models", "What the columns are", "Loss: 183 rows recorded while training"],
    "results first, records folded",
  );
}

async function figureChecks(page) {
  const kinds = await legend(page, "figure-3");
  expect(kinds.includes("softmax-1, nop") && kinds.includes("softmax-1, active"), `a line each: ${kinds}`);
  expectEqual(
    await panels(page, "figure-5"),
    ["softmax-0", "softmax-1", "softmax-2"],
    "the spectrum has a panel per run",
  );
  expect((await legend(page, "figure-5")).includes("index = 8"), "and a line per singular value");
  const stray = page.locator("#figure-6 .note");
  expect((await stray.innerText()).startsWith("3 rows have no place"), "no data before training is told");
  await page.locator("#figure-1 .u-over").hover({ position: { x: 1, y: 100 } });
  const edge = await legend(page, "figure-1");
  expect(/^step\s*0\s*softmax-0/.test(edge), `the left edge is step 0: ${edge}`);
  await page.mouse.move(0, 0);
}

async function runChecks(page) {
  await page.selectOption("#run", "softmax-1");
  await settle(page);
  expectEqual(await panels(page, "figure-5"), [], "one run: one spectrum");
  const kinds = await legend(page, "figure-3");
  expect(/nop/.test(kinds) && !kinds.includes("softmax"), `one run: kinds alone: ${kinds}`);
  const names = await page.locator("#table-1 tbody td:first-child").allInnerTexts();
  expectEqual(names, ["softmax-1"], "one run: its result alone");
  const record = page.locator("details.record").first();
  await record.locator("summary").first().click();
  await settle(page);
  const rows = await record.innerText();
  expect(rows.includes("1–20 of 61"), `a record opens, twenty rows at a time: ${rows}`);
  await page.waitForFunction(() => location.hash.includes("run=softmax-1"));
}

async function fileChecks(page, shots) {
  const files = await saveAll(page, shots);
  const text = (name) => files.get(name)?.toString("utf8") ?? "";
  const csv = text("train-conditional-damping-softmax-1-figure-1.csv");
  expect(/^step,[^\r]*\r\n0,0\.\d+\r\n1,/.test(csv), `the CSV of a figure has step 0: ${csv.slice(0, 60)}`);
  expect(
    text("train-conditional-damping-softmax-1-table-2.csv").startsWith("run,step,loss,running_loss"),
    "a record as CSV",
  );
  const picture = text("train-conditional-damping-softmax-1-figure-1.svg");
  expect(
    />0<\/text>[\s\S]*>1<\/text>[\s\S]*>1,000<\/text>/.test(picture),
    "the picture has steps 0 to 1,000",
  );
}

/// Arms of several seeds: the arm makes the look, and the seeds are a bundle.
async function armChecks(browser, bundle, folder, troubles, shots) {
  const arms = ["softmax", "gate", "sink-logit", "relu"];
  const document = syntheticTrain({ arms, layers: 3 });
  const page = await begin(browser, folder, bundle, troubles, "arms", document);
  const losses = await legend(page, "figure-1");
  expect(losses.includes("gate ×3") && !losses.includes("gate-0"), `seeds are a bundle: ${losses}`);
  await page.locator("#figure-1 .u-over").hover({ position: { x: 1, y: 100 } });
  expect(
    /gate ×3\s*0\.\d+ to 0\.\d+/.test(await legend(page, "figure-1")),
    "with its range under the pointer",
  );
  expectEqual(await panels(page, "figure-3"), ["layer = 0", "layer = 1", "layer = 2"], "layers have panels");
  expectEqual((await panels(page, "figure-5")).length, 9, "at most nine panels");
  const notes = await page.locator("#figure-5 .note").allInnerTexts();
  expect(notes.join(" ").includes("216 of 288 lines are drawn"), `what is not drawn is told: ${notes}`);
  expect(
    (await page.locator("#findings details").innerText()).includes("5 more findings"),
    "many are folded",
  );
  await lookAt(page, "train", "train-arms-light", shots);
  const files = await saveAll(page, shots);
  const csv = files.get("train-conditional-damping-figure-3.csv").toString("utf8");
  expect(csv.startsWith("panel,step,") && csv.includes("layer = 2,1000,"), "the CSV names the panel");
  await page.context().close();
}

/// Thousands of points per line, steps that are none, runs that are no text, a run that is not there.
async function oddChecks(browser, bundle, folder, troubles) {
  const long = syntheticTrain({ last: 30000, every: 10 });
  const begun = performance.now();
  const page = await begin(browser, folder, bundle, troubles, "long", long);
  const spent = performance.now() - begun;
  // Seconds on a free machine; a loaded one may take its time, a page that never comes may not.
  expect(spent < 120_000, `9,000 steps, 72,000 singular values: ${Math.round(spent)} ms`);
  await page.context().close();

  const odd = syntheticTrain({ seeds: 2 });
  const [results, losses] = odd.tables;
  results.rows.push(results.rows[0].map(() => null));
  losses.rows.push([7, -5, 0.5, null, null, null], ["softmax-0", null, 0.5, null, null, null]);
  odd.plots.push({ ...odd.plots[0], kind: "log-y" }, { ...odd.plots[0], x: "run" });
  odd.plots.push({ ...odd.plots[0], title: "Nothing", y: "gradient_norm" });
  for (const row of losses.rows) row[4] = null;
  const hash = "#figures?run=absent&theme=light";
  const strange = await begin(browser, folder, bundle, troubles, "odd", odd, { hash });
  expectEqual(await strange.locator("#run").inputValue(), "", "a run that is not there: all are shown");
  await strange.locator(".warning summary").click();
  const notices = await strange.locator(".warning").innerText();
  expect(notices.includes('kind "log-y" is not known'), `an unknown kind is told: ${notices}`);
  expect(notices.includes('column "run" holds texts'), "a logarithmic axis needs numbers");
  const body = await strange.locator("main").innerText();
  expect(body.includes("Nothing: no row of the table has a number to draw"), "a figure without data says so");
  expect(!/NaN|undefined|Infinity/.test(body), "train: dashes for no data");
  await strange.context().close();

  const bare = await begin(browser, folder, bundle, troubles, "bare", { schema: "sinkscope.train/1" });
  expect((await bare.locator("body").innerText()).includes("0 runs"), "train: an empty document is shown");
  await bare.context().close();
}

export async function trainChecks(browser, bundle, folder, troubles, shots) {
  const document = syntheticTrain();
  const page = await begin(browser, folder, bundle, troubles, "runs", document);
  await lookAt(page, "train", "train-light", shots);
  await textChecks(page, document);
  await figureChecks(page);
  await runChecks(page);
  await fileChecks(page, shots);
  await page.selectOption("#run", "");
  await page.selectOption("#theme", "dark");
  await settle(page);
  await lookAt(page, "train", "train-dark", shots);
  await page.context().close();

  const narrow = await begin(browser, folder, bundle, troubles, "400px", document, {
    hash: "#tables?run=softmax-2&theme=dark",
    viewport: { width: 400, height: 800 },
  });
  expectEqual(await narrow.locator("#run").inputValue(), "softmax-2", "the address restores the run");
  const width = await narrow.evaluate(() => globalThis.document.documentElement.scrollWidth);
  expect(width <= 400, `train at 400 px: ${width} px wide`);
  await lookAt(narrow, "train", "train-400px", shots);
  await narrow.context().close();
  await armChecks(browser, bundle, folder, troubles, shots);
  await oddChecks(browser, bundle, folder, troubles);
}
