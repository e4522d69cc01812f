import { execFileSync } from "node:child_process";
import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

const kFlags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export async function launch() {
  const executablePath = execFileSync("which", ["chromium"], { encoding: "utf8" }).trim();
  return chromium.launch({ executablePath, args: kFlags });
}

/// Opens `file` with the network watched: whatever the page logs, throws or requests beyond itself
/// is added to `troubles`.
export async function open(browser, file, troubles, { hash = "", ...options } = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    acceptDownloads: true,
    ...options,
  });
  const page = await context.newPage();
  const address = pathToFileURL(file).href;
  page.on("console", (message) => troubles.push(`console ${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => troubles.push(`page error: ${error.message}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(address) && !/^(data|blob):/.test(url)) troubles.push(`request: ${url}`);
  });
  await page.goto(address + hash);
  return page;
}

/// Two frames and the delay of the address: everything that follows an action has happened.
export async function settle(page) {
  await page.evaluate(
    () =>
      new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50)))),
  );
}

export function pageData(page) {
  return page.evaluate(() => JSON.parse(document.getElementById("data").textContent));
}

let checks = 0;
const failures = [];

export function expect(holds, what) {
  ++checks;
  if (!holds) {
    failures.push(what);
    console.error(`FAILED ${what}`);
  }
}

export function expectEqual(found, expected, what) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  expect(a === b, a === b ? what : `${what}: found ${a}, expected ${b}`);
}

export function results() {
  return { checks, failures };
}
