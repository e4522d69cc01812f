import "uplot/dist/uPlot.min.css";
import "./style.css";

import { render } from "preact";

import { App, Problem } from "./app";
import { readDocument } from "./data/read";
import { Sheet } from "./data/sheet";
import { SheetPage } from "./views/sheet";

const root = document.getElementById("app");
if (root) {
  root.textContent = "";
  try {
    const data = readDocument(document.getElementById("data")?.textContent ?? "");
    if (data instanceof Sheet) {
      document.title = `sinkscope ${data.training ? "train" : "theory"}: ${data.subject || "report"}`;
      render(<SheetPage sheet={data} />, root);
    } else {
      const name = String(data.scan.model["path"] ?? "")
        .replace(/[\\/]+$/, "")
        .split(/[\\/]/)
        .pop();
      document.title = `sinkscope: ${name || "report"}`;
      render(<App page={data} />, root);
    }
  } catch (error) {
    render(<Problem text={error instanceof Error ? error.message : String(error)} />, root);
  }
}
