// Helpers of the browser tests: Chromium, the daemon, a signed-in page.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";

import { Home, PATIENCE_MILLISECONDS } from "./daemon.js";
import { FakeModel } from "./model.js";

// The headless shell needs half of the processor time of the whole browser.
const CHROMIUM = "/usr/bin/chromium-headless-shell";

export const SIZES = {
  wide: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
};

/** Starts Chromium for the tests of a file. */
export async function browserOf(t) {
  const { chromium } = await import("playwright-core").catch((error) => {
    throw new Error(`cannot load playwright-core (${error.message}); \`tests/run\` installs the packages of the console`);
  });
  if (!existsSync(CHROMIUM)) {
    throw new Error(`${CHROMIUM} does not exist; \`tests/run\` installs Chromium`);
  }
  const args = ["--disable-dev-shm-usage", ...(process.getuid() === 0 ? ["--no-sandbox"] : [])];
  const browser = await chromium.launch({ executablePath: CHROMIUM, args });
  t.after(() => browser.close());
  return browser;
}

/** Configures the fake model, and asks before files are written. */
export function configOf(model) {
  return `[providers.test]
kind = "openai"
base_url = "${model.url}"
[agents.defaults]
model = "test/model"
[tools.policy]
write_file = "ask"
`;
}

/** A daemon with a fake model, and a browser. */
export class Console {
  static async start(t) {
    const console = new Console();
    console.browser = await browserOf(t);
    console.model = await FakeModel.start(t);
    console.home = new Home(t, configOf(console.model));
    await console.home.start();
    return console;
  }

  /** Opens a browser of its own that is not signed in. `problems` receives each error of its pages. */
  async context(t, options = SIZES.wide) {
    const context = await this.browser.newContext(options);
    context.setDefaultTimeout(PATIENCE_MILLISECONDS);
    t.after(() => context.close().catch(() => undefined));
    context.problems = [];
    context.on("page", (page) => watch(page, context.problems));
    return context;
  }

  /** Opens a page that is signed in, in a chat without messages. */
  async open(t, options = SIZES.wide, chat = newChat()) {
    const context = await this.context(t, options);
    const page = await context.newPage();
    await page.goto(await this.home.link());
    await composer(page).waitFor();
    await visit(page, `chat/${chat}`);
    await composer(page).waitFor();
    return page;
  }
}

let chats = 0;

export function newChat() {
  chats += 1;
  return `web:console:test${chats}`;
}

/** Goes to a view by its address. */
export async function visit(page, address) {
  await page.evaluate((hash) => (location.hash = hash), `#/${address}`);
}

export function composer(page) {
  return page.getByRole("textbox", { name: "Message", exact: true });
}

/** Writes a message and sends it. */
export async function say(page, text) {
  await composer(page).fill(text);
  await page.getByRole("button", { name: "Send" }).click();
}

/** Waits for an answer that has ended and contains the words. Returns it. */
export async function answered(page, words) {
  const answer = page.getByRole("article", { name: "Answer" }).filter({ hasText: words });
  // Code in an answer that is still being written has such a button, too.
  await answer.locator(".turn-foot").getByRole("button", { name: "Copy" }).waitFor();
  return answer;
}

/** Reports errors of a page. A chat that does not exist yet is answered with 404, which is none. */
function watch(page, problems) {
  page.on("pageerror", (error) => problems.push(error.stack));
  page.on("console", (message) => {
    const { url } = message.location();
    const isNewChat = message.text().includes("404") && url.includes("/v1/sessions/");
    if (["error", "warning"].includes(message.type()) && !isNewChat) {
      problems.push(`${message.text()} (${url})`);
    }
  });
}

export function assertNoProblems(page) {
  assert.deepEqual(page.context().problems, []);
}

/** Defines a test for each size. The daemon and the browser are those of the file. */
export function scenarios() {
  let started;
  const ends = [];
  before(async () => {
    started = await Console.start({ after: (end) => ends.unshift(end) });
  });
  after(async () => {
    for (const end of ends) {
      await end();
    }
  });
  return (name, work) => {
    for (const [size, options] of Object.entries(SIZES)) {
      test(`${name}, ${size}`, (t) => work(t, started, options));
    }
  };
}
