// Loads a module of src/ for a test, without a browser.

import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** Returns the exports of `src/PATH`. */
export async function source(path) {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: [`src/${path}`],
    bundle: true,
    write: false,
    format: "esm",
    jsx: "automatic",
    jsxImportSource: "preact",
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
