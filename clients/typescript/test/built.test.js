// The built error codes against the schema, and the package against its list of packages.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { ErrorCode } from "../dist/index.js";

const json = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));

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
