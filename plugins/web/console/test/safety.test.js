import assert from "node:assert/strict";
import { test } from "node:test";

import { source } from "./source.js";

const { decodeEntities, safeLink } = await source("markdown/safety.ts");

for (const [target, expected] of [
  ["https://example.org/a?b=c", "https://example.org/a?b=c"],
  ["HTTP://example.org", "http://example.org/"],
  ["mailto:jo@example.org", "mailto:jo@example.org"],
  ["javascript:alert(1)", null],
  [" java\nscript:alert(1)", null],
  ["data:text/html,x", null],
  ["vbscript:x", null],
  ["blob:https://example.org/1", null],
  ["file:///etc/passwd", null],
  ["//example.org", null],
  ["/v1/status", null],
  ["#/config", null],
  ["", null],
]) {
  test(`safeLink of ${JSON.stringify(target)} is ${expected}`, () => assert.equal(safeLink(target), expected));
}

for (const [text, expected] of [
  ["a &lt; b &amp;&amp; c", "a < b && c"],
  ["&#65;&#x42;", "AB"],
  ["&unknown; &amp", "&unknown; &amp"],
  ["&#0; &#x110000;", "&#0; &#x110000;"],
  ["&amp;lt;", "&lt;"],
]) {
  test(`decodeEntities of ${text}`, () => assert.equal(decodeEntities(text), expected));
}
