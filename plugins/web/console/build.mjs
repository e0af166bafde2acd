// Builds dist/: one script, one style sheet, the page, and the record of checksums.
// The same sources and versions give the same bytes.

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { writeChecksums } from "./checksums.mjs";

const HERE = fileURLToPath(new URL("./", import.meta.url));

const at = (path) => `${HERE}${path}`;

/** Bundles one entry and writes it under the hash of its content. Returns the file's name. */
async function bundle(entry, kind) {
  const result = await build({
    absWorkingDir: HERE,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: ["es2022", "chrome110", "firefox115", "safari16.4"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    charset: "utf8",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const bytes = result.outputFiles[0].contents;
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 12);
  const name = `console-${hash}.${kind}`;
  writeFileSync(at(`dist/assets/${name}`), bytes);
  return basename(name);
}

rmSync(at("dist"), { recursive: true, force: true });
mkdirSync(at("dist/assets"), { recursive: true });
const script = await bundle("src/main.tsx", "js");
const style = await bundle("src/styles/index.css", "css");
const page = readFileSync(at("src/index.html"), "utf8")
  .replace("{{script}}", `/assets/${script}`)
  .replace("{{style}}", `/assets/${style}`);
writeFileSync(at("dist/index.html"), page);
copyFileSync(at("src/icon.svg"), at("dist/icon.svg"));
writeChecksums();
