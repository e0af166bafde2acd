// The built files against their sources, and their size.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { checksums, RECORD } from "../checksums.mjs";

const MOST_BYTES = 300_000;

const read = (path) => readFileSync(new URL(`../${path}`, import.meta.url));

test("dist is built from the present sources", () => {
  const fix = "the sources have changed; run `npm ci` and `npm run build` in plugins/web/console";
  assert.deepEqual(checksums(), JSON.parse(read(RECORD)), fix);
});

test("dist is at most 300 kB after gzip", (t) => {
  const files = Object.keys(checksums()).filter((file) => file.startsWith("dist/"));
  const sizes = files.map((file) => [file, gzipSync(read(file)).length]);
  const sum = sizes.reduce((total, [, size]) => total + size, 0);
  t.diagnostic(`${sum} bytes: ${sizes.map(([file, size]) => `${file} ${size}`).join(", ")}`);
  assert.ok(sum <= MOST_BYTES, `${sum} bytes`);
});

test("the page names built files that exist", () => {
  const page = read("dist/index.html").toString();
  const names = [...page.matchAll(/\/(assets\/[^"]+)"/g)].map(([, name]) => `dist/${name}`);
  assert.equal(names.length, 2, page);
  assert.deepEqual(names.filter((name) => !(name in checksums())), []);
});
