import { createHash } from "node:crypto";

const kMarker = '<script id="data" type="application/json"></script>';

function hash(text) {
  return `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
}

/// Puts the one script and the one style sheet of the bundle into the HTML file, under a content
/// security policy that allows these two, by hash, and nothing else.
export function singleFile() {
  return {
    name: "single-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      const files = Object.values(bundle);
      const page = files.find((file) => file.fileName === "index.html");
      const chunks = files.filter((file) => file.type === "chunk");
      const styles = files.filter((file) => file.fileName.endsWith(".css"));
      if (!page || chunks.length !== 1 || styles.length !== 1 || files.length !== 3) {
        throw new Error(`one page, script and style sheet expected, got ${Object.keys(bundle).join(", ")}`);
      }
      const script = chunks[0].code.trim();
      const style = String(styles[0].source).trim();
      if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style)) {
        throw new Error("the bundle contains text that would end its own element");
      }
      const policy =
        `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; ` +
        "img-src data: blob:; base-uri 'none'; form-action 'none'";
      const lines = String(page.source)
        .split("\n")
        .filter((line) => !/<script type="module"|<link rel="(stylesheet|modulepreload)"/.test(line));
      const html = lines
        .join("\n")
        .replace(
          '<meta charset="utf-8">',
          (meta) => `${meta}\n<meta http-equiv="Content-Security-Policy" content="${policy}">`,
        )
        .replace("</head>", () => `<style>${style}</style>\n</head>`)
        .replace("</body>", () => `<script>${script}</script>\n</body>`);
      if (html.split(kMarker).length !== 2 || !html.includes(policy)) {
        throw new Error(`the page must contain ${kMarker} exactly once, and its policy`);
      }
      for (const file of [chunks[0], styles[0]]) delete bundle[file.fileName];
      page.source = html;
    },
  };
}
