// The form of the settings: values, faults and differences.

import assert from "node:assert/strict";
import { test } from "node:test";

import { source } from "./source.js";

const { diffLines } = await source("settings/diff.ts");
const {
  additionTitle, commonFields, faultOf, faultsWithoutField, findTables, isCommon, isInUse, isUnchanged, labelOf, nameOf, quoteName, textOf, valueOf,
} = await source("settings/values.ts");

const field = (changes) => ({
  key: "a.b", path: "a.b", name: "b", help: "", input: "text", choices: [], least: null, value: null, is_hidden: false, ...changes,
});

test("texts of inputs become values", () => {
  const table = [
    ["text", "  ", null], ["text", " a ", "a"], ["integer", "5", "5"], ["switch", "true", true], ["switch", "false", false],
    ["list", "a\n\n b \n", ["a", "b"]], ["lines", "a\n b\n", "a\n b\n"], ["choice", "", null],
  ];
  for (const [input, text, expected] of table) {
    assert.deepEqual(valueOf(field({ input }), text), expected, `${input} ${text}`);
  }
});

test("a value shows its edit, and an edit that changes nothing is none", () => {
  assert.equal(textOf(field({ value: ["a", "b"] }), new Map()), "a\nb");
  assert.equal(textOf(field({ value: "a" }), new Map([["a.b", null]])), "");
  assert.equal(textOf(field({ value: false }), new Map()), "false");
  const table = [
    [field({ value: 5 }), "5", true], [field({ value: 5 }), "6", false], [field({ value: true }), true, true],
    [field({ value: ["1"] }), ["1"], true], [field({}), null, true], [field({ is_hidden: true }), null, false],
  ];
  for (const [one, value, expected] of table) {
    assert.equal(isUnchanged(one, value), expected, JSON.stringify(value));
  }
});

test("a fault stands at its field, and the others stay together", () => {
  const fields = [field({}), field({ key: 'a."c.d"', path: "a.c.d", name: "c" })];
  const faults = [
    { line: 1, key: "a.b[1]", message: "one" }, { line: 2, key: "a.c.d", message: "two" },
    { line: 3, key: "a.bc", message: "three" }, { line: null, key: null, message: "four" },
  ];
  assert.deepEqual(fields.map((one) => faultOf(one, faults)), ["one", "two"]);
  assert.deepEqual(faultsWithoutField([{ path: "x", fields }], faults).map(({ message }) => message), ["three", "four"]);
  assert.deepEqual(faultsWithoutField([{ path: "a.bc", fields }], faults).map(({ message }) => message), ["four"]);
});

test("a search finds tables by their keys, and fields by their names and descriptions", () => {
  const tables = [
    { key: "http", about: "For programs.", can_add: true, fields: [] },
    { key: "tools", about: "", can_add: false, fields: [field({ name: "web_search", help: "Looks in the web." }), field({ name: "users" })] },
  ];
  const found = (query) => findTables(tables, query).map(({ key, fields }) => `${key} ${fields.map(({ name }) => name)}`);
  const table = [
    ["", ["http ", "tools web_search,users"]], ["tools", ["tools web_search,users"]], ["WEB look", ["tools web_search"]],
    ["web search", ["tools web_search"]], ["programs", ["http "]], ["tools users", ["tools users"]], ["none", []],
  ];
  for (const [query, expected] of table) {
    assert.deepEqual(found(query), expected, query);
  }
});

test("a table is in use if the text has something of it, or if it has a change or a fault", () => {
  const table = { can_remove: false, fields: [field({ input: "pairs", value: {} })] };
  assert.ok(!isInUse(table, new Map(), []));
  assert.ok(isInUse({ ...table, can_remove: true }, new Map(), []));
  assert.ok(isInUse({ ...table, fields: [field({ input: "pairs", value: { A: null } })] }, new Map(), []));
  assert.ok(isInUse(table, new Map([["a.b.c", "x"]]), []));
  assert.ok(isInUse(table, new Map(), [{ line: 1, key: "a.b.c", message: "wrong" }]));
});

test("names, labels and common keys", () => {
  assert.deepEqual(["a-b_1", "a.b", "files__*", 'q"'].map(quoteName), ["a-b_1", '"a.b"', '"files__*"', '"q\\""']);
  const labels = [
    ["max_tool_iterations", "Max tool iterations"], ["tools.allow", "Tools: allow"], ["", "c.d"],
  ];
  for (const [name, label] of labels) {
    assert.equal(labelOf(field({ key: 'a."c.d"', name })), label);
  }
  for (const name of ["a", "a.b", 'q"', "-_9"]) {
    assert.equal(nameOf(`x."y.z".${quoteName(name)}`), name);
  }
  const titles = [
    ["agents", "Add an agent"], ["providers", "Add a provider"], ["tools.mcp_servers", "Add an mcp server to tools"],
    ["channels.telegram", "Add a table to channels.telegram"], ["channels.discord.work.groups", "Add a group to channels.discord.work"],
  ];
  assert.deepEqual(titles.map(([parent]) => additionTitle(parent)), titles.map(([, title]) => title));
  assert.ok(isCommon(field({ name: "model" })) && isCommon(field({ value: 1 })) && isCommon(field({ is_hidden: true })));
  assert.ok(!isCommon(field({})) && !isCommon(field({ input: "rules", value: {} })));
  const rare = Array.from({ length: 7 }, () => field({}));
  const counts = [rare, rare.slice(1), [...rare, field({ name: "model" })]].map((fields) => commonFields(fields).length);
  assert.deepEqual(counts, [7, 6, 1]);
});

test("a difference has the changed lines, and no secrets", () => {
  const before = 'a = 1\nb = 2\nc = 3\nd = 4\ne = 5\nf = 6\n[p.x]\napi_key = "sk-old"\nz = 1\n';
  const after = before.replace("a = 1\n", "a = 1\nnew = 1\n").replace("sk-old", "sk-new");
  const lines = diffLines(before, after);
  assert.deepEqual(lines.map(({ kind, text }) => `${{ same: " ", added: "+", removed: "-", gap: "…" }[kind]}${text}`), [
    " a = 1", "+new = 1", " b = 2", " c = 3", "……", " f = 6", " [p.x]", '-api_key = "••••••••"', '+api_key = "••••••••"', " z = 1", " ",
  ]);
  assert.deepEqual(lines.filter(({ hasSecret }) => hasSecret).length, 2);
  assert.deepEqual(diffLines(before, before), []);
});
