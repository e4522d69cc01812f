// The page of a calculator: documents sinkscope.theory/1.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, expectEqual, open, settle } from "./browser.mjs";
import { fill } from "./fill.mjs";
import { canvasColors, lookAt, saveAll } from "./page_checks.mjs";
import { hostileTheory, syntheticTheory } from "./synthetic_theory.mjs";

const texts = (page, rows) => page.locator(rows).allInnerTexts();
const column = async (page, table, index) =>
  (await texts(page, `#${table} tbody td:nth-child(${index})`)).map((text) => text.trim());

/// Number of pixels of a chart that have this colour.
async function pixels(page, figure, color) {
  const [seen] = await canvasColors(page, `#${figure} canvas`);
  return seen[`${color},255`] ?? 0;
}

async function textChecks(page, document) {
  expectEqual(await page.title(), "sinkscope theory: cost", "the title names the calculator");
  const header = await page.locator("header").innerText();
  expect(header.includes("patterns sink, diagonal"), `settings under the title: ${header}`);
  expect(header.includes("2, 3, 4 … 48 (10 values)"), "a long setting is told briefly");
  expectEqual(await texts(page, "#findings li"), document.findings, "every finding");
  expect(
    (await page.locator("#checks h3").innerText()) === "1 of 3 checks does not hold",
    "failed checks are counted",
  );
  expectEqual(
    await column(page, "check-table", 1),
    ["✗ does not hold", "✓ holds", "✓ holds"],
    "each check has its mark, what fails first",
  );
  expect((await texts(page, "#check-table tr"))[1].includes("<diagonal>"), "text of a check is data");
}

async function chartChecks(page) {
  const legend = await page.locator("#figure-1 .u-legend").innerText();
  expect(legend.includes("sink, nuclear ∝ T^0.5012"), `the fitted exponent stands in the legend: ${legend}`);
  expect(!/diagonal, frobenius ∝/.test(legend), "no exponent where there is no fit");
  expect(
    (await page.locator("#figure-1 .note").innerText()).startsWith("2 rows have no place"),
    "gaps are told",
  );
  expect((await pixels(page, "figure-1", "27,33,39")) > 20, "fitted lines are drawn");
  // The orange line's band: its colour at 22 % on white.
  expect((await pixels(page, "figure-2", "241,216,199")) > 200, "the band is filled");
  await page.locator("#figure-2 .u-over").hover({ position: { x: 1, y: 100 } });
  const live = await page.locator("#figure-2 .u-legend").innerText();
  expect(/sink, nuclear\s*1.994 \(1.9861 to 2.002\)/.test(live), `value and band under the pointer: ${live}`);
  await page.locator("#figure-5 .u-over").hover({ position: { x: 400, y: 100 } });
  const named = await page.locator("#figure-5 .u-legend").innerText();
  expect(/pattern\s*diagonal/.test(named), `texts on the x axis: ${named}`);
  await page.mouse.move(0, 0);
}

async function mapChecks(page, document) {
  const winners = document.tables[3].rows;
  const readout = (figure) => page.locator(`#${figure}-values`).innerText();
  await page.locator("#figure-3 .map").focus();
  for (const key of ["ArrowUp", "PageUp", "Home"]) await page.keyboard.press(key);
  const [tokens, width, ratio] = winners.find((row) => row[0] === 2 && row[1] === 128);
  const found = await readout("figure-3");
  expect(found.includes(`T ${tokens}`) && found.includes(`d ${width}`), `the largest d is on top: ${found}`);
  expect(found.includes(String(Number(ratio.toPrecision(5)))), `its value: ${found}, ${ratio}`);
  await page.keyboard.press("PageDown");
  await page.keyboard.press("End");
  expect((await readout("figure-3")).includes("not in the table"), "a cell without a row says so");
  await page.keyboard.press("Escape");
  await page.locator("#figure-4 .map").focus();
  for (const key of ["ArrowUp", "PageUp", "End"]) await page.keyboard.press(key);
  expect((await readout("figure-4")).includes("winner sink"), "a map of texts names them");
  await page.keyboard.press("Escape");
}

async function tableChecks(page, document) {
  const sweep = document.tables[1];
  expectEqual(await page.locator("#table-1 thead th").count(), sweep.columns.length, "every column");
  const dual = await column(page, "table-1", 8);
  expectEqual(dual[0], "3 numbers", "lists are counted");
  await page.locator("#table-1").getByRole("button", { name: "dual" }).click();
  expectEqual((await column(page, "table-1", 8))[0], "49 numbers", "lists sort by their length");
  const button = page.locator("#table-1").getByRole("button", { name: "cost" });
  await button.click();
  const costs = sweep.rows.map((row) => row[6]).filter((cost) => cost !== null);
  costs.sort((a, b) => b - a);
  const shown = await column(page, "table-1", 7);
  expectEqual(
    shown.slice(0, 3),
    costs.slice(0, 3).map((cost) => String(Number(cost.toPrecision(5)))),
    "five digits",
  );
  await page.locator("#tables .pager button", { hasText: "Next" }).first().click();
  expectEqual((await column(page, "table-1", 7)).slice(-2), ["–", "–"], "no data sorts last");
  const meaning = page.locator("#tables details").first();
  await meaning.locator("summary").click();
  expect((await meaning.innerText()).includes("certified lower bound"), "columns have their definitions");
  const title = await button.getAttribute("title");
  expect(title.includes("method.md 8"), `and as a tooltip: ${title}`);
}

async function fileChecks(page, shots) {
  const files = await saveAll(page, shots);
  const text = (name) => files.get(name)?.toString("utf8") ?? "";
  const picture = text("theory-cost-figure-1.svg");
  expect(picture.includes("∝ T^0.9987"), "the picture has the exponents");
  expectEqual(picture.match(/stroke-dasharray="7 4"/g)?.length, 3, "and one dashed line per fit");
  expectEqual(text("theory-cost-figure-2.svg").match(/<polygon/g)?.length, 4, "and a band per line");
  expect(
    text("theory-cost-figure-2.csv").startsWith(
      'T,"sink, nuclear","sink, nuclear lower","sink, nuclear upper"',
    ),
    "the CSV of a chart has its bounds",
  );
  const [first, second] = text("theory-cost-figure-4.csv").split("\r\n");
  expectEqual([first, second], ["T,d,winner", "2,128,diagonal"], "the CSV of a map has its cells");
  const table = text("theory-cost-table-1.csv");
  expect(table.includes(",-0.3333333333333333 -0.25 -0.2\r\n"), "lists stand in the CSV in full");
  expectEqual(files.size, 5 * 3 + 4, "files of five figures, three tables and the checks");
}

/// What does not fit is told, the rest is shown, and nothing of the text becomes markup.
async function hostileChecks(browser, bundle, folder, troubles) {
  const file = join(folder, "theory-hostile.html");
  writeFileSync(file, fill(bundle, hostileTheory()));
  const page = await open(browser, file, troubles, { viewport: { width: 400, height: 800 } });
  await settle(page);
  expectEqual(await page.locator("img").count(), 0, "theory: text never becomes markup");
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width <= 400, `hostile theory at 400 px: ${width} px wide`);
  await page.locator(".warning summary").click();
  const notices = await page.locator(".warning").innerText();
  for (const part of [
    "1 of 5 rows do not have 4 cells",
    "2 of 84 rows do not have 8 cells",
    "2 cells are no number, text or list of numbers",
    'a second table "winners"',
    "columns without a name of their own",
    '"none" has 0 columns',
    'no table "absent"; not drawn',
    'has no column "absent"; not drawn',
    'column "dual" holds lists; not drawn',
    'column "norm" holds texts; not drawn',
    'kind "pie" is not known',
    "its fitted lines are not drawn",
  ]) {
    expect(notices.includes(part), `theory: "${part}" is told: ${notices}`);
  }
  const body = await page.locator("main").innerText();
  expect(body.includes("2 of 4 checks do not hold"), "a check that does not say that it holds does not");
  expect(body.includes("16 of 46 lines are drawn"), "lines that are not drawn are counted");
  expect(body.includes("too large: too many cells to draw"), "a map that is too large says so");
  expect(body.includes("empty: the table has no row to draw"), "an empty map says so");
  expect(!/NaN|undefined|Infinity/.test(body), "theory: dashes for no data");
  const select = page.locator("#figure-1 select").first();
  await select.selectOption({ label: "pattern 39" });
  await settle(page);
  const legend = await page.locator("#figure-1 .u-legend").innerText();
  expect(/nuclear|pattern 39/.test(legend) && !legend.includes("diagonal"), `lines are chosen: ${legend}`);
  await saveAll(page);
  await page.context().close();
}

async function bareChecks(browser, bundle, folder, troubles) {
  const file = join(folder, "theory-bare.html");
  writeFileSync(file, fill(bundle, { schema: "sinkscope.theory/1" }));
  const page = await open(browser, file, troubles);
  await settle(page);
  const body = await page.locator("body").innerText();
  expect(
    body.includes("Run facts") && !/NaN|undefined|null/.test(body),
    "theory: an empty document is shown",
  );
  await page.context().close();
}

export async function theoryChecks(browser, bundle, folder, troubles, shots) {
  const document = syntheticTheory();
  const file = join(folder, "theory.html");
  writeFileSync(file, fill(bundle, document));
  const page = await open(browser, file, troubles, { hash: "#findings?theme=light" });
  await settle(page);
  await lookAt(page, "theory", "theory-light", shots);
  await textChecks(page, document);
  await chartChecks(page);
  await mapChecks(page, document);
  await tableChecks(page, document);
  await fileChecks(page, shots);
  await page.selectOption("#theme", "dark");
  await settle(page);
  await lookAt(page, "theory", "theory-dark", shots);
  await page.waitForFunction(() => location.hash.includes("theme=dark"));
  await page.context().close();

  const narrow = await open(browser, file, troubles, {
    hash: "#tables?theme=dark",
    viewport: { width: 400, height: 800 },
  });
  await settle(narrow);
  const top = await narrow.evaluate(
    () => globalThis.document.getElementById("tables").getBoundingClientRect().top,
  );
  expect(Math.abs(top) < 40, `the address opens the tables: ${top} px from the top`);
  const width = await narrow.evaluate(() => globalThis.document.documentElement.scrollWidth);
  expect(width <= 400, `theory at 400 px: ${width} px wide`);
  await lookAt(narrow, "theory", "theory-400px", shots);
  await narrow.context().close();
  await hostileChecks(browser, bundle, folder, troubles);
  await bareChecks(browser, bundle, folder, troubles);
}
