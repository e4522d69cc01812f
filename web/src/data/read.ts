import type { PageDocument, SheetDocument } from "./document";
import { Page } from "./page";
import { Sheet } from "./sheet";

const kSchema = /^(sinkscope\.(?:page|theory|train)\/1)(\.|$)/;

/// The document of the page. Throws an Error whose message is for the reader of the page.
export function readDocument(text: string): Page | Sheet {
  if (text.trim() === "") {
    throw new Error("this page carries no data; `sinkscope report RUN.db` writes one that does");
  }
  let document: { schema?: unknown } | null;
  try {
    document = JSON.parse(text) as { schema?: unknown } | null;
  } catch (error) {
    throw new Error(`the data of this page is damaged (${String(error)}); write the report again`);
  }
  switch (kSchema.exec(String(document?.schema))?.[1]) {
    case "sinkscope.page/1":
      return new Page(document as PageDocument);
    case "sinkscope.theory/1":
    case "sinkscope.train/1":
      return new Sheet(document as SheetDocument);
    default:
      throw new Error(
        `the data has schema ${JSON.stringify(document?.schema)}, this page reads sinkscope.page/1, ` +
          "sinkscope.theory/1 and sinkscope.train/1",
      );
  }
}
