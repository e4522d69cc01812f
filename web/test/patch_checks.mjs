// VIT-2: a run of images shows where in the image a head looks, and names tokens as people do.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, expectEqual, open, settle } from "./browser.mjs";
import { fill } from "./fill.mjs";
import { lookAt } from "./page_checks.mjs";
import { synthetic } from "./synthetic.mjs";

/// The head whose sink is the patch (row, column); CLS keeps what it had.
function putSink(document, layer, head, row, column) {
  const { prefix, columns } = document.scan.inputs.patch_grid;
  const position = prefix + row * columns + column;
  document.alpha.heads[layer][head][position] = 0.91234;
  document.scan.heads.find((h) => h.layer === layer && h.head === head).sink_index = position;
}

async function openHead(browser, bundle, folder, troubles, name, document, head, options = {}) {
  const file = join(folder, name);
  writeFileSync(file, fill(bundle, document));
  const page = await open(browser, file, troubles, { hash: `#head?head=${head}`, ...options });
  await settle(page);
  return page;
}

async function download(page, kind) {
  const button = page.getByRole("button", { name: `Download ${kind} of: Attention that each patch` });
  const [file] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return readFileSync(await file.path(), "utf8");
}

async function mapChecks(page, document) {
  const { rows, columns, prefix } = document.scan.inputs.patch_grid;
  const alpha = document.alpha.heads[7][4];
  const readout = () => page.locator("#patches-values").innerText();
  expect((await readout()).includes("patch (28, 3) with 0.912"), `the strongest patch: ${await readout()}`);
  expect(
    (await page.locator("#patches [role=img]").getAttribute("aria-label")).includes("patch (28, 3)"),
    "the map has a text",
  );
  await page.locator("#patches .map").focus();
  await page.keyboard.press("ArrowUp");
  expect((await readout()).startsWith("patch (28, 3)"), "arrows begin at the dominant key");
  for (const key of ["PageUp", "Home"]) await page.keyboard.press(key);
  const shown = async () => Number(/[\d.e-]+$/.exec((await readout()).trim())?.[0]);
  expect((await readout()).startsWith("patch (0, 0)"), `the first patch: ${await readout()}`);
  expect(Math.abs((await shown()) - alpha[prefix]) < 1e-3, "the first patch comes after the prefix tokens");
  for (const key of ["PageDown", "End", "ArrowRight", "ArrowDown"]) await page.keyboard.press(key);
  expect((await readout()).startsWith(`patch (${rows - 1}, ${columns - 1})`), "the last patch ends the map");
  await page.keyboard.press("Escape");

  const canvas = page.locator("#patches canvas.overlay");
  const box = await canvas.boundingBox();
  await canvas.hover({ position: { x: box.width * 0.4, y: box.height * 0.4 } });
  const [, row, column, value] = /^patch \((\d+), (\d+)\)\s+alpha\s+([\d.]+)/.exec(await readout()) ?? [];
  const expected = alpha[prefix + Number(row) * columns + Number(column)];
  expect(Math.abs(Number(value) - expected) < 1e-3, `the pointer names a patch: ${await readout()}`);
  await page.mouse.move(0, 0);

  const chart = page.locator("#alpha .u-over");
  await chart.hover({ position: { x: 300, y: 100 } });
  const legend = await page.locator("#alpha .u-legend").innerText();
  expect(/patch \(\d+, \d+\)/.test(legend), `the curve names the patch under the pointer: ${legend}`);
  await page.mouse.move(0, 0);

  const lines = (await page.locator("#prefix-tokens tbody tr").allInnerTexts()).map((t) => t.split("\t")[0]);
  expectEqual(
    lines,
    ["CLS", "register 0", "register 1", "register 2", "register 3"],
    "the prefix tokens are listed",
  );
}

async function fileChecks(page, document) {
  const { rows, columns, prefix } = document.scan.inputs.patch_grid;
  const svg = await download(page, "SVG");
  const sizes = [...svg.matchAll(/<rect [^>]*width="([\d.]+)" height="([\d.]+)"[^>]*>/g)].map((m) =>
    m.slice(1).join(),
  );
  const cells = Math.max(...[...new Set(sizes)].map((size) => sizes.filter((s) => s === size).length));
  expectEqual(cells, rows * columns, "VIT-2: one cell per patch, none for CLS and registers");
  expect(svg.includes("CLS") && svg.includes("register 3"), "the picture names the prefix tokens");
  const csv = (await download(page, "CSV")).trim().split("\r\n");
  expectEqual(csv.length, 1 + prefix + rows * columns, "the CSV has every token");
  expect(csv[1].startsWith("CLS,,,"), `the CSV begins with CLS: ${csv[1]}`);
  const strong = 1 + prefix + 28 * columns + 3;
  expectEqual(csv[strong], '"patch (28, 3)",28,3,0.91234', "the CSV has rows and columns");
}

export async function patchChecks(browser, bundle, folder, troubles, shots) {
  const document = synthetic({ layers: 12, heads: 6, patches: { rows: 29, columns: 29, prefix: 5 } });
  putSink(document, 7, 4, 28, 3);
  const openAs = (name, doc, head, options) =>
    openHead(browser, bundle, folder, troubles, name, doc, head, options);
  const page = await openAs("patches.html", document, "L7H4");
  expect((await page.locator("header").innerText()).includes("29 × 29 patches"), "the title names the grid");
  expect((await page.locator("#verdict-title").count()) === 1, "an image's head has its verdict");
  await lookAt(page, "head", "patches-light", shots);
  await mapChecks(page, document);
  await fileChecks(page, document);
  await page.context().close();
  const dark = await openAs("patches.html", document, "L7H4&theme=dark");
  const pictures = [];
  for (const scale of ["linear", "share", "log"]) {
    await dark.selectOption("#patch-scale", scale);
    await settle(dark);
    pictures.push(
      await dark
        .locator("#patches canvas")
        .first()
        .evaluate((c) => c.toDataURL()),
    );
  }
  expectEqual(new Set(pictures).size, 3, "three colour scales");
  await lookAt(dark, "head", "patches-dark", shots);
  await dark.context().close();
  const narrow = await openAs("patches.html", document, "L7H4", { viewport: { width: 400, height: 800 } });
  const width = await narrow.evaluate(() => globalThis.document.documentElement.scrollWidth);
  expect(width <= 400, `patches at 400 px: ${width} px wide`);
  await lookAt(narrow, "head", "patches-400px", shots);
  await narrow.context().close();

  const oblong = synthetic({ layers: 2, heads: 2, patches: { rows: 3, columns: 5, prefix: 1 } });
  putSink(oblong, 1, 1, 2, 4);
  const sequence = { ...oblong.sequences[0], id: 99, labels: [] };
  oblong.sequences.unshift(sequence); // one without labels: the names come from the next
  oblong.points = [[99, 1, 1, 15, 0.9, 1, 0.1, 0.1, 1.2, 1]];
  const other = await openAs("oblong.html", oblong, "L1H1");
  expect((await other.locator("#events").innerText()).includes("patch (2, 4)"), "events name the patch");
  expectEqual(
    await other.locator("#prefix-tokens tbody th").allInnerTexts(),
    ["CLS"],
    "names of any labelled image",
  );
  await other.evaluate(() => {
    location.hash = "heads";
  });
  await settle(other);
  const table = await other.locator("#head-table").innerText();
  expect(table.includes("patch (2, 4)") && table.includes("CLS"), "the table of heads names tokens");
  await other.context().close();

  oblong.scan.inputs.patch_grid = { rows: 4, columns: 5, prefix: 1 };
  const wrong = await openAs("wrong.html", oblong, "L1H1");
  expect((await wrong.locator(".warning").innerText()).includes("1 parts of the data"), "OUT-4: another grid");
  expectEqual(await wrong.locator("#patches").count(), 0, "OUT-4: a grid that does not fit is not drawn");
  await wrong.context().close();
}
