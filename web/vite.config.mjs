import { defineConfig } from "vite";

import { singleFile } from "./build/single_file.mjs";

export default defineConfig({
  plugins: [singleFile()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2021",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 300,
    rollupOptions: { output: { format: "iife", entryFileNames: "page.js", assetFileNames: "page[extname]" } },
  },
});
