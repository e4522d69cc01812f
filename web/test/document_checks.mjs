// Checks of pages made from documents of our own: other lengths, missing and damaged parts.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, expectEqual, open, settle } from "./browser.mjs";
import { fill } from "./fill.mjs";
import { synthetic } from "./synthetic.mjs";

function write(folder, name, bundle, document) {
  const file = join(folder, name);
  const html = fill(bundle, document);
  writeFileSync(file, html);
  return { file, bytes: html.length };
}

/// OUT-2: all heads at every length; the page grows with T, not with its square.
export async function lengthChecks(browser, bundle, folder, troubles) {
  const bytes = [];
  for (const positions of [64, 512, 4096]) {
    const page = write(folder, `t${positions}.html`, bundle, synthetic({ positions }));
    bytes.push(page.bytes);
    const tab = await open(browser, page.file, troubles, { hash: "#heads" });
    await settle(tab);
    expect(
      (await tab.locator(".pager").first().innerText()).includes("of 144"),
      `OUT-2: 144 heads at T = ${positions}`,
    );
    await tab.evaluate(() => {
      location.hash = "head";
    });
    await settle(tab);
    expect((await tab.locator("#alpha canvas").count()) === 1, `OUT-2: alpha at T = ${positions}`);
    await tab.context().close();
  }
  const growth = (bytes[2] - bytes[1]) / (bytes[1] - bytes[0]);
  expect(
    growth > 6.4 && growth < 9.6,
    `OUT-2: bytes ${bytes.join(", ")}: growth ${growth.toFixed(2)} for 8 times the length`,
  );
}

/// 80 x 64 heads; returns the first paint in ms (printed, not judged: machines differ).
export async function largeChecks(browser, bundle, folder, troubles, shots) {
  const { file } = write(folder, "large.html", bundle, synthetic({ layers: 80, heads: 64 }));
  const tab = await open(browser, file, troubles, { hash: "#heads" });
  await settle(tab);
  const paint = await tab.evaluate(
    () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN,
  );
  const nodes = await tab.evaluate(() => document.querySelectorAll("*").length);
  expect(nodes < 4000, `80 x 64 heads: ${nodes} nodes`);
  if (shots) await tab.screenshot({ path: join(shots, "large.png"), fullPage: true });
  await tab.selectOption("#metric", "class");
  await settle(tab);
  if (shots) await tab.screenshot({ path: join(shots, "large-class.png"), fullPage: true });
  await tab.context().close();
  return paint;
}

async function textOf(browser, file, troubles, hash = "") {
  const tab = await open(browser, file, troubles, { hash });
  await settle(tab);
  const text = await tab.locator("body").innerText();
  const tabs = await tab.getByRole("navigation").getByRole("link").count();
  const bold = await tab.locator("#warnings li b").count();
  await tab.context().close();
  return { text, tabs, bold };
}

export async function damageChecks(browser, bundle, folder, troubles) {
  const show = (name, document, hash) =>
    textOf(browser, write(folder, name, bundle, document).file, troubles, hash);
  expect(
    (await textOf(browser, bundle, troubles)).text.includes("carries no data"),
    "a page without data says so",
  );
  expect((await show("damaged.html", '{"schema":')).text.includes("is damaged"), "damaged data is named");
  expect(
    (await show("schema.html", { schema: "sinkscope.page/2", scan: {} })).text.includes("sinkscope.page/2"),
    "another schema is named",
  );

  const full = synthetic();
  expectEqual((await show("hostile.html", full)).bold, 0, "text from the data never becomes markup");
  const { scan } = full;
  const bare = {
    schema: full.schema,
    scan: {
      schema: scan.schema,
      model: scan.model,
      heads: scan.heads.map(({ layer, head, alpha }) => ({ layer, head, alpha })),
    },
  };
  for (const hash of ["#overview", "#heads", "#head", "#circuit"]) {
    const { text, tabs } = await show("bare.html", bare, hash);
    expectEqual(tabs, 3, `only measured parts: no circuit tab (${hash})`);
    expect(!/NaN|undefined|null/.test(text), `only measured parts: dashes for no data (${hash})`);
  }
  const some = { ...full, scan: { ...scan, heads: scan.heads.filter((head) => head.layer === 3) } };
  expect(
    (await show("layer.html", some, "#head?head=L0H0")).text.includes("was not measured"),
    "a head that was not measured says so",
  );

  const labels = structuredClone(full);
  labels.sequences[0].labels.pop();
  expect(
    (await show("labels.html", labels)).text.includes("1 parts of the data do not fit"),
    "OUT-4: other number of labels",
  );
  const curves = structuredClone(full);
  curves.alpha.heads[5][3].pop();
  expect(
    (await show("curve.html", curves, "#head?head=L5H3")).text.includes("no attention by position"),
    "OUT-4: a curve of another length is not drawn",
  );
}
