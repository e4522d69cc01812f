import "uplot/dist/uPlot.min.css";
import "./style.css";

import { render } from "preact";

import { App, Problem } from "./app";
import { readPage } from "./data/page";

const root = document.getElementById("app");
if (root) {
  root.textContent = "";
  try {
    const page = readPage(document.getElementById("data")?.textContent ?? "");
    const name = String(page.scan.model["path"] ?? "")
      .replace(/[\\/]+$/, "")
      .split(/[\\/]/)
      .pop();
    document.title = `sinkscope: ${name || "report"}`;
    render(<App page={page} />, root);
  } catch (error) {
    render(<Problem text={error instanceof Error ? error.message : String(error)} />, root);
  }
}
