// The built files against their sources, and the types against the schema.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { checksums, RECORD } from "../checksums.js";
import { ErrorCode } from "../dist/index.js";

const json = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));

test("dist is built from the present sources", () => {
  const fix = "the sources have changed; run `npm ci` and `npm run build` in clients/typescript";
  assert.deepEqual(checksums(), json(`../${RECORD}`), fix);
});

test("each source is built", () => {
  const files = Object.keys(checksums());
  const sources = files.filter((file) => file.startsWith("src/"));
  const built = sources.flatMap((file) => {
    const stem = file.replace(/^src\/(.*)\.ts$/, "dist/$1");
    return [`${stem}.d.ts`, `${stem}.js`];
  });
  assert.deepEqual(files.filter((file) => file.startsWith("dist/")), built.sort());
});

test("error codes are those of the schema", () => {
  const errors = Object.entries(json("../../schema/socket.json")["x-errors"]);
  assert.deepEqual({ ...ErrorCode }, Object.fromEntries(errors.map(([name, one]) => [name, one.const])));
});

test("the package needs no other package", () => {
  const { dependencies, devDependencies } = json("../package.json");
  assert.equal(dependencies, undefined);
  const locked = json("../package-lock.json").packages;
  for (const [name, version] of Object.entries(devDependencies)) {
    assert.equal(locked[`node_modules/${name}`].version, version);
  }
});
