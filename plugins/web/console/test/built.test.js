// The built files against their sources, and their size.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { checksums, RECORD } from "../checksums.mjs";

/** What each visit loads. */
const MOST_BYTES = 120_000;
/** What only a page with formulas loads: the script, its style sheet, and the fonts, of which it takes a few. */
const MOST_FORMULA_BYTES = 360_000;
/** What only the form of the settings loads. */
const MOST_SETTINGS_BYTES = 12_000;
/** What only a system loads that installs the page. */
const MOST_ICON_BYTES = 40_000;

const read = (path) => readFileSync(new URL(`../${path}`, import.meta.url));

test("dist is built from the present sources", () => {
  const fix = "the sources have changed; run `npm ci` and `npm run build` in plugins/web/console";
  assert.deepEqual(checksums(), JSON.parse(read(RECORD)), fix);
});

test("dist stays small after gzip", (t) => {
  const files = Object.keys(checksums()).filter((file) => file.startsWith("dist/"));
  const groups = { visit: [0, MOST_BYTES], formulas: [0, MOST_FORMULA_BYTES], icons: [0, MOST_ICON_BYTES], settings: [0, MOST_SETTINGS_BYTES] };
  for (const file of files) {
    const name = groupOf(file);
    groups[name][0] += gzipSync(read(file)).length;
  }
  t.diagnostic(JSON.stringify(groups));
  for (const [name, [bytes, most]] of Object.entries(groups)) {
    assert.ok(bytes <= most, `${name}: ${bytes} bytes`);
  }
});

function groupOf(file) {
  if (/KaTeX|katex|formulas/.test(file)) {
    return "formulas";
  }
  return file.endsWith(".png") ? "icons" : file.includes("settings-") ? "settings" : "visit";
}

test("the page names built files that exist", () => {
  const page = read("dist/index.html").toString();
  const names = [...page.matchAll(/\/(assets\/[^"]+)"/g)].map(([, name]) => `dist/${name}`);
  assert.equal(names.length, 4, page);
  assert.deepEqual(names.filter((name) => !(name in checksums())), []);
});
