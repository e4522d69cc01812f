// Checks that hold for every report page, whatever it shows.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, expectEqual, open, pageData, settle } from "./browser.mjs";

const kViews = {
  overview: ["Colour by", "Sink classes by layer", "What is an attention sink?", "Run facts"],
  heads: ["What the sinks write", "All heads with every metric"],
  head: ["Previous head", "Each criterion beside its threshold", "Every stored value of this head"],
  circuit: ["Residual norm of position 0", "Cosines between token states", "Largest activations"],
};
const kTexts = {
  ...kViews,
  theory: ["Findings", "checks does not hold", "Power laws over", "What the columns are", "Run facts"],
  train: ["Findings", "Query-key spectrum", "Trained models", "rows recorded while training", "Run facts"],
};
const kMaxNodes = 4000;

export function staticChecks(file) {
  const html = readFileSync(file, "utf8").replace(/(<script id="data"[^>]*>)[^<]*/, "$1");
  expect(!/(src|href|action)\s*=\s*["']?\s*(https?:)?\/\//i.test(html), "OUT-3: no address outside the file");
  expect(
    !/@import|url\(\s*["']?https?:|\bfetch\(|XMLHttpRequest|WebSocket|importScripts/i.test(html),
    "OUT-3: nothing that requests",
  );
  expect(
    /http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-/.test(html),
    "policy in the file",
  );
}

/// How many pixels of each colour ("r,g,b,a") each canvas has.
export function canvasColors(page, selector = "canvas:not(.overlay)") {
  return page.evaluate(
    (wanted) =>
      [...document.querySelectorAll(wanted)].map((canvas) => {
        // Of a copy: reading the page's own canvas again and again would make the browser warn.
        const context = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {
          willReadFrequently: true,
        });
        context.drawImage(canvas, 0, 0);
        const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
        const seen = {};
        for (let i = 0; i < data.length; i += 4) {
          const color = `${data[i]},${data[i + 1]},${data[i + 2]},${data[i + 3]}`;
          seen[color] = (seen[color] ?? 0) + 1;
        }
        return seen;
      }),
    selector,
  );
}

/// Text under 14 px, or with less contrast than WCAG AA asks for.
function textFaults(page) {
  return page.evaluate(() => {
    const rgb = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
    const light = (c) => {
      const [r, g, b] = c.map((v) =>
        v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4,
      );
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const [r, g, b, a = 1] = rgb(getComputedStyle(at).backgroundColor);
        if (a === 1) return [r, g, b];
      }
      return [255, 255, 255];
    };
    const faults = [];
    for (const element of document.body.querySelectorAll("*")) {
      const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
      if (
        !own ||
        !element.checkVisibility() ||
        element.disabled ||
        /^(SCRIPT|STYLE|OPTION)$/.test(element.tagName)
      )
        continue;
      const style = getComputedStyle(element);
      const what = `${element.tagName} "${element.textContent.trim().slice(0, 30)}"`;
      if (parseFloat(style.fontSize) < 14) faults.push(`${what}: ${style.fontSize}`);
      const [a, b] = [light(rgb(style.color).slice(0, 3)), light(behind(element))];
      const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (contrast < 4.5) faults.push(`${what}: contrast ${contrast.toFixed(2)}`);
    }
    return faults;
  });
}

/// Texts, canvases, contrast and size of the view that is open.
export async function lookAt(page, view, name, shots) {
  for (const text of kTexts[view]) {
    expect((await page.locator("main").innerText()).includes(text), `${name}: shows "${text}"`);
  }
  const colors = (await canvasColors(page)).map((seen) => Object.keys(seen).length);
  expect(
    colors.length > 0 && colors.every((count) => count > 3),
    `${name}: every canvas is drawn (${colors})`,
  );
  expectEqual(await textFaults(page), [], `${name}: text of 14 px and AA contrast`);
  const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
  expect(nodes < kMaxNodes, `${name}: ${nodes} nodes`);
  if (shots) await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
}

/// Every view in light, dark and at 400 px; returns the time to the first paint in ms.
export async function viewChecks(browser, file, troubles, shots) {
  const page = await open(browser, file, troubles);
  const { scan } = await pageData(page);
  const views = Object.keys(kViews).filter((view) => view !== "circuit" || scan.layers?.length);
  const paint = await page.evaluate(
    () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN,
  );
  const tabs = page.getByRole("navigation").getByRole("link");
  expectEqual(await tabs.count(), views.length, "one tab per view");
  for (const theme of ["light", "dark"]) {
    await page.selectOption("#theme", theme);
    for (const [i, view] of views.entries()) {
      await tabs.nth(i).click();
      await settle(page);
      expectEqual(await tabs.nth(i).getAttribute("aria-current"), "page", `${view}: its tab is current`);
      await lookAt(page, view, `${view}-${theme}`, shots);
    }
  }
  await page.context().close();
  const narrow = await open(browser, file, troubles, { viewport: { width: 400, height: 800 } });
  for (const view of views) {
    await narrow.evaluate((hash) => {
      location.hash = hash;
    }, view);
    await settle(narrow);
    const width = await narrow.evaluate(() => document.documentElement.scrollWidth);
    expect(width <= 400, `${view} at 400 px: ${width} px wide`);
    await lookAt(narrow, view, `${view}-400px`, shots);
  }
  await narrow.context().close();
  return paint;
}

/// Arrow keys reach every head (of a large map: the borders); a click pins; the address restores.
export async function selectionChecks(browser, file, troubles) {
  const page = await open(browser, file, troubles, { hash: "#heads" });
  const { scan } = await pageData(page);
  const { layers, heads } = scan.model;
  const map = page.locator("#heads-map .map");
  const named = () => page.locator("#heads-map-values b").first().innerText();
  await map.focus();
  for (const key of ["ArrowUp", "PageUp", "Home"]) await page.keyboard.press(key);
  const seen = new Set([await named()]);
  // A loaded machine draws later than the next key would come; at the last row nothing changes.
  const look = async () => {
    const before = [...seen].at(-1);
    for (let wait = 0; wait < 50 && (await named()) === before; ++wait) await page.waitForTimeout(20);
    const now = await named();
    seen.delete(now);
    seen.add(now);
  };
  const rows = layers * heads <= 1024 ? layers : 1;
  for (let layer = 0; layer < rows; ++layer) {
    for (let head = 1; head < heads; ++head) {
      await page.keyboard.press(layer % 2 ? "ArrowLeft" : "ArrowRight");
      await look();
    }
    await page.keyboard.press("ArrowDown");
    await look();
  }
  expect(seen.size >= rows * heads, `arrow keys reach ${seen.size} of ${rows * heads} heads`);
  await page.keyboard.press("Escape");
  expect(
    (await named().catch(() => "")) === "" ||
      !(await page.locator("#heads-map-values").innerText()).startsWith("L"),
    "Escape lets go",
  );

  const canvas = map.locator("canvas.overlay");
  const box = await canvas.boundingBox();
  const spot = { position: { x: box.width * 0.6, y: 44 + (box.height - 44) * 0.3 } };
  const ring = () => page.locator("#scatter canvas.overlay").evaluate((c) => c.toDataURL());
  await page.mouse.move(0, 0);
  const before = await ring();
  const withEvent = scan.heads.find(
    (head) => typeof head.ratio_out === "number" && typeof head.stable_rank === "number",
  );
  await canvas.click(spot);
  const pinned = await named();
  expect(/^L\d+H\d+$/.test(pinned), `a click pins a head (${pinned})`);
  await page.selectOption("#metric", "ratio_out").catch(() => page.selectOption("#metric", { index: 1 }));
  await page.selectOption("#theme", "dark");
  await page.selectOption("#filter", "event");
  await page.waitForFunction(
    (name) =>
      location.hash.includes(`head=${name}`) &&
      location.hash.includes("dark") &&
      location.hash.includes("class=event"),
    pinned,
  );
  const hash = await page.evaluate(() => location.hash);
  await page.mouse.move(0, 0);
  const restored = await open(browser, file, troubles, { hash });
  await settle(restored);
  expectEqual(
    await restored.locator("#heads-map-values b").first().innerText(),
    pinned,
    "the address restores the head",
  );
  for (const id of ["metric", "theme", "filter"]) {
    expectEqual(
      await restored.inputValue(`#${id}`),
      await page.inputValue(`#${id}`),
      `the address restores the ${id}`,
    );
  }
  const image = (p) =>
    p
      .locator("#heads-map canvas")
      .first()
      .evaluate((c) => c.toDataURL());
  expectEqual((await image(restored)) === (await image(page)), true, "the restored map is the same picture");
  await restored.context().close();
  if (withEvent) {
    await page.evaluate((h) => {
      location.hash = `heads?head=${h}`;
    }, `L${withEvent.layer}H${withEvent.head}`);
    await settle(page);
    expect((await ring()) !== before, "the scatter marks the head that is pinned in the map");
  }
  await map.focus();
  await page.keyboard.press("Enter");
  await settle(page);
  expect((await page.evaluate(() => location.hash)).startsWith("#head?"), "Enter opens the head");
  await page.goBack();
  await settle(page);
  expect((await page.evaluate(() => location.hash)).startsWith("#heads"), "back returns to the map");
  await page.context().close();
}

/// OUT-5: canvases keep their size.
export async function sizeChecks(browser, file, troubles) {
  const page = await open(browser, file, troubles, { hash: "#head" });
  const sizes = () =>
    page.evaluate(() =>
      [...document.querySelectorAll("canvas")].map((c) =>
        [c.width, c.height, c.clientWidth, c.clientHeight].join(),
      ),
    );
  await settle(page);
  const first = await sizes();
  for (let i = 0; i < 20; ++i) {
    await page.getByRole("button", { name: "Next head" }).click();
    await page.getByRole("button", { name: "Previous head" }).click();
  }
  await settle(page);
  expectEqual(await sizes(), first, "OUT-5: sizes after 20 switches");
  for (const view of ["head", "heads", "overview"]) {
    await page.evaluate((hash) => {
      location.hash = hash;
    }, view);
    await settle(page);
    const start = await sizes();
    for (const width of [700, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      await settle(page);
    }
    expectEqual(await sizes(), start, `OUT-5: ${view} after two resizes`);
  }
  await page.context().close();
}

let saved = 0;

/// Every figure and table of the view that is open gives its files: their bytes by name.
export async function saveAll(page, shots) {
  const files = new Map();
  for (const button of await page.locator("button[aria-label^=Download]:visible").all()) {
    const label = await button.getAttribute("aria-label");
    // Chromium drops the eleventh download of a burst; a second without any ends the burst.
    if (++saved % 8 === 0) await page.waitForTimeout(1100);
    const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
    const bytes = readFileSync(await download.path());
    const name = download.suggestedFilename();
    files.set(name, bytes);
    const text = bytes.toString("utf8");
    if (name.endsWith(".png"))
      expect(bytes.subarray(1, 4).toString() === "PNG" && bytes.length > 5000, `${label}: a picture`);
    else if (name.endsWith(".svg"))
      expect(
        text.startsWith("<svg ") && text.includes("</svg>") && !/NaN|undefined/.test(text),
        `${label}: SVG`,
      );
    else
      expect(
        name.endsWith(".csv") &&
          /^[\w (),.]+(,|\r)/.test(text) &&
          text.split("\r\n").length > 1 &&
          !/NaN|undefined/.test(text),
        `${label}: CSV`,
      );
    if (shots) await download.saveAs(join(shots, "files", name));
  }
  return files;
}

export async function downloadChecks(browser, file, troubles, shots) {
  const page = await open(browser, file, troubles);
  for (const view of ["overview", "heads", "head", "circuit"]) {
    await page.evaluate((hash) => {
      location.hash = hash;
    }, view);
    await settle(page);
    await saveAll(page, shots);
  }
  await page.context().close();
}
