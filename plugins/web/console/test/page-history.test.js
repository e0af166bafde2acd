// A long conversation: its pages load while the reader scrolls, and the document stays small.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { assertNoProblems, Console, SIZES } from "../testing/console.js";
import { gate } from "../testing/model.js";

const TURNS = 5000;
// The most rows that src/chat/window.ts keeps in the document.
const MOST_ROWS = 300;
const CHAT = "web:console:many";

const ends = [];
let tested;

before(async () => {
  tested = await Console.start({ after: (end) => ends.unshift(end) });
  await tested.home.kill();
  const state = join(tested.home.path, ".local/state/avocet");
  const log = readdirSync(state).find((name) => name.endsWith(".db"));
  const script = fileURLToPath(new URL("../testing/fill.py", import.meta.url));
  execFileSync("python3", ["-B", script, join(state, log), String(TURNS), "many"]);
  await tested.home.start();
});

after(async () => {
  for (const end of ends) {
    await end();
  }
});

for (const [size, options] of Object.entries(SIZES)) {
  test(`a conversation of 10,000 messages opens at its end and loads older pages, ${size}`, async (t) => {
    const page = await tested.open(t, options);
    const begin = performance.now();
    await page.evaluate((chat) => (location.hash = `#/chat/${chat}`), CHAT);
    await page.getByText(`Answer ${TURNS}.`).waitFor();
    const opened = performance.now();
    await atEnd(page);
    const seen = [];
    for (let pages = 0; pages < 20; pages += 1) {
      const first = await firstRow(page);
      await page.locator(".history").evaluate((box) => box.scrollTo({ top: 0 }));
      await page.waitForFunction((key) => document.querySelector(".row").dataset.key !== key, first);
      seen.push(await page.locator(".row").count());
    }
    const scrolled = performance.now();
    assert.ok(Math.max(...seen) <= MOST_ROWS, `rows in the document: ${seen}`);
    assert.ok(number(await firstRow(page)) <= TURNS - 20 * 50, await firstRow(page));
    t.diagnostic(`opened in ${Math.round(opened - begin)} ms, 20 pages in ${Math.round(scrolled - opened)} ms, at most ${Math.max(...seen)} rows`);
    await page.getByRole("button", { name: "Jump to latest" }).click();
    await page.getByText(`Answer ${TURNS}.`).waitFor();
    await atEnd(page);
    assertNoProblems(page);
  });

  test(`rows keep their place while older pages load, ${size}`, async (t) => {
    const page = await tested.open(t, options);
    await page.evaluate((chat) => (location.hash = `#/chat/${chat}`), CHAT);
    await page.getByText(`Answer ${TURNS}.`).waitFor();
    await atEnd(page);
    const jumps = [];
    // A page may arrive between two steps, too.
    let first = await firstRow(page);
    for (let pages = 0; pages < 3; ) {
      const moved = await step(page, 700);
      pages += moved.first === first ? 0 : 1;
      first = moved.first;
      if (Math.abs(moved.row - moved.expected) > 2) {
        jumps.push(moved);
      }
    }
    assert.deepEqual(jumps, []);
  });

  test(`rows keep their place while an older page arrives at the very top, ${size}`, async (t) => {
    const page = await tested.open(t, options);
    let { open, opened } = gate(t);
    await page.route(/[?&]before=/, async (route) => {
      await opened;
      await route.continue();
    });
    await page.evaluate((chat) => (location.hash = `#/chat/${chat}`), CHAT);
    await page.getByText(`Answer ${TURNS}.`).waitFor();
    await atEnd(page);
    for (let pages = 0; pages < 3; pages += 1) {
      const first = await firstRow(page);
      await step(page, Infinity);
      const before = await visibleRows(page);
      open();
      await page.waitForFunction((key) => document.querySelector(".row").dataset.key !== key, first);
      ({ open, opened } = gate(t));
      await step(page, 0);
      const now = await visibleRows(page);
      for (const [key, bottom] of Object.entries(before)) {
        assert.ok(Math.abs(now[key] - bottom) <= 2, `${key} moved from ${bottom} to ${now[key]}`);
      }
    }
  });
}

/** Scrolls up, waits until the document is at rest, and returns the movement of a visible row. */
function step(page, distance) {
  return page.locator(".history").evaluate(async (box, distance) => {
    const edge = box.getBoundingClientRect().top;
    const first = () => box.querySelector(".row").dataset.key;
    const row = [...box.querySelectorAll(".row")].find((row) => row.getBoundingClientRect().bottom > edge + 60);
    const before = row.getBoundingClientRect().bottom;
    const expected = Math.min(distance, box.scrollTop);
    box.scrollBy({ top: -expected });
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    let same = 0;
    for (let last = ""; same < 5; ) {
      await frame();
      const now = `${first()} ${box.scrollHeight} ${box.scrollTop}`;
      same = now === last ? same + 1 : 0;
      last = now;
    }
    return { row: row.getBoundingClientRect().bottom - before, expected, first: first() };
  }, distance);
}

/** The lower ends of the visible rows, by their keys. */
function visibleRows(page) {
  return page.locator(".history").evaluate((box) => {
    const { top, bottom } = box.getBoundingClientRect();
    const ends = [...box.querySelectorAll(".row")].map((row) => [row.dataset.key, row.getBoundingClientRect().bottom]);
    return Object.fromEntries(ends.filter(([, end]) => end > top && end < bottom));
  });
}

function firstRow(page) {
  return page.locator(".row").first().getAttribute("data-key");
}

function number(id) {
  return Number(id.slice(1));
}

async function atEnd(page) {
  await page.waitForFunction(() => {
    const box = document.querySelector(".history");
    return box !== null && box.scrollHeight - box.scrollTop - box.clientHeight < 5;
  });
}
