// Writes the pictures of docs/src/use/web.md: `npm run screenshots`.

import { execFileSync } from "node:child_process";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { answered, Console, SIZES, say, visit } from "./console.js";

const TARGET = fileURLToPath(new URL("../../../../docs/src/use/web/", import.meta.url));
const MOST_BYTES = 120_000;
const CHAT = "web:console:main";

const QUESTION = "Which of the backups of last week are larger than a gigabyte, and which day grew the most?";
const ANSWER = `Two of the seven backups are larger than 1 GB. **Thursday** grew the most, because the photos of the trip arrived.

| Day | Size | Growth |
|---|---|---|
| Wednesday | 0.8 GB | 12 MB |
| Thursday | 1.3 GB | 512 MB |
| Friday | 1.3 GB | 9 MB |

To see it yourself:

\`\`\`bash
du --human-readable --max-depth=1 backups | sort --human-numeric-sort
\`\`\`
`;
const SCRIPT = `#!/bin/sh
# Keeps the newest seven backups.
ls -t backups/*.tar | tail -n +8 | xargs -r rm
`;

/** Usage of two weeks, which a new daemon does not have. */
const USAGE = `
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as log:
    log.executescript("""
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 160)
        INSERT INTO usage (at, session, turn, purpose, model, input, cached, cache_written, output)
        SELECT (unixepoch() - (i % 14) * 86400 - i * 60) * 1000,
            CASE i % 3 WHEN 0 THEN 'web:console:garden' ELSE '${CHAT}' END, NULL, 'answer',
            CASE i % 5 WHEN 0 THEN 'test/small' ELSE 'test/model' END,
            2000 + i * 7919 % 9000, 500 + i * 6007 % 2000, 0, 200 + i * 4001 % 1500 FROM n;
    """)
`;

const ends = [];

async function main() {
  mkdirSync(TARGET, { recursive: true });
  const tested = await Console.start({ after: (end) => ends.unshift(end) });
  tested.model.on(QUESTION, async (answer) => {
    answer.text("I compare the archives of the last seven days.");
    answer.call("list_directory", { path: "backups" });
    answer.call("read_file", { path: "backups/growth.csv" });
    await sleep(1400);
  }, async (answer) => {
    await sleep(2300);
    answer.pieces(ANSWER);
  });
  tested.model.on("older than a week", (answer) => {
    answer.text("This script keeps the newest seven. May I write it?");
    answer.call("write_file", { path: "keep-seven.sh", content: SCRIPT });
  });
  mkdirSync(join(tested.home.workspace, "backups"), { recursive: true });
  for (const day of ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]) {
    writeFileSync(join(tested.home.workspace, `backups/${day}.tar`), day);
  }
  writeFileSync(join(tested.home.workspace, "backups/growth.csv"), "day,MB\nwed,12\nthu,512\nfri,9\n");
  await tested.home.kill();
  execFileSync("python3", ["-c", USAGE, join(tested.home.path, ".local/state/avocet/avocet.db")]);
  await tested.home.start();

  const t = { after: () => undefined };
  const first = await tested.open(t, SIZES.wide, CHAT);
  await say(first, QUESTION);
  await answered(first, "Two of the seven");
  const login = await first.evaluate(() => Object.entries(localStorage));
  const origin = new URL("/", first.url()).href;
  const pages = {};
  for (const [name, options] of Object.entries({
    light: { ...SIZES.wide, colorScheme: "light" },
    dark: { ...SIZES.wide, colorScheme: "dark" },
    phone: { ...SIZES.phone, colorScheme: "light" },
  })) {
    const context = await tested.context(t, { ...options, reducedMotion: "reduce" });
    await context.addInitScript((login) => login.forEach(([key, value]) => localStorage.setItem(key, value)), login);
    pages[name] = await context.newPage();
    await pages[name].goto(`${origin}#/chat/${CHAT}`);
    await answered(pages[name], "Two of the seven");
  }
  const shoot = async (view) => {
    for (const [name, page] of Object.entries(pages)) {
      await settled(page);
      const path = join(TARGET, `${view}-${name}.png`);
      await page.screenshot({ path, animations: "disabled", caret: "hide" });
      const { size } = statSync(path);
      console.log(`${view}-${name}.png: ${size} bytes`);
      if (size > MOST_BYTES) {
        throw new Error(`${path} has ${size} bytes, at most ${MOST_BYTES} are allowed`);
      }
    }
  };
  await shoot("chat");
  await say(first, "Please delete those that are older than a week.");
  for (const page of Object.values(pages)) {
    await page.getByRole("group", { name: "Approval of write_file" }).waitFor();
  }
  await shoot("approval");
  for (const [view, address, title] of [["trace", "trace/m1", "Trace"], ["usage", "usage", "Usage"]]) {
    for (const page of Object.values(pages)) {
      await visit(page, address);
      await page.getByRole("heading", { level: 1, name: title }).waitFor();
      await page.waitForFunction(() => document.querySelector(".skeleton, [aria-busy=true]") === null);
    }
    await shoot(view);
  }
}

/** Waits until the highlighted code is shown, and for one frame. */
async function settled(page) {
  await page.waitForFunction(() => [...document.querySelectorAll(".code code")].every((code) => code.children.length > 0 || code.closest(".code").innerText.startsWith("text")));
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

try {
  await main();
} finally {
  for (const end of ends) {
    await end();
  }
}
