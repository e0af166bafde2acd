// All views: they open without errors, axe finds nothing, the keyboard is enough, and an idle page is quiet.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";

import { answered, assertNoProblems, composer, newChat, say, scenarios, visit } from "../testing/console.js";

const scenario = scenarios();

const VIEWS = [
  ["sessions", "Sessions"], ["approvals", "Approvals"], ["jobs", "Jobs"], ["schedules", "Schedules"],
  ["memory", "Memory"], ["usage", "Usage"], ["failed", "Failed messages"], ["events", "Events"],
  ["health", "Health"], ["config", "Configuration"], ["trace/m1", "Trace"],
];
const KEYS = [
  ["s", "Sessions"], ["a", "Approvals"], ["j", "Jobs"], ["d", "Schedules"], ["m", "Memory"], ["u", "Usage"],
  ["f", "Failed messages"], ["e", "Events"], ["h", "Health"], ["o", "Configuration"],
];

async function shown(page, title) {
  await page.getByRole("heading", { level: 1, name: title }).waitFor();
  await page.waitForFunction(() => document.querySelector(".skeleton, [aria-busy=true]") === null);
}

/** A page with a conversation that has calls, code and an approval. */
async function used(t, tested, options) {
  const chat = newChat();
  tested.model.on("use everything", (answer) => {
    answer.text("I look at the folder first.");
    answer.call("list_directory", { path: "." });
  }, (answer) => {
    answer.text("# A plan\n\n```rust\nfn main() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] one");
    answer.call("write_file", { path: "a.txt", content: "hello" });
  });
  const page = await tested.open(t, options, chat);
  await say(page, "use everything");
  await page.getByRole("group", { name: "Approval of write_file" }).waitFor();
  return { page, chat };
}

scenario("each view opens without an error", async (t, tested, options) => {
  const { page } = await used(t, tested, options);
  for (const [address, title] of VIEWS) {
    await visit(page, address);
    await shown(page, title);
    assert.equal(await page.locator(".problem").count(), 0, `${title}: ${await page.locator("main").innerText()}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${title} is ${wide} pixels too wide`);
  }
  assertNoProblems(page);
});

for (const colorScheme of ["light", "dark"]) {
  scenario(`axe finds nothing in ${colorScheme} colours`, async (t, tested, options) => {
    const { page, chat } = await used(t, tested, { ...options, colorScheme });
    const findings = [];
    const scan = async (name) => findings.push(...(await axe(page)).map((finding) => `${name}: ${finding}`));
    await scan("chat");
    for (const [address, title] of VIEWS) {
      await visit(page, address);
      await shown(page, title);
      await scan(title);
    }
    await visit(page, `chat/${chat}`);
    await composer(page).waitFor();
    await composer(page).press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await scan("keys");
    const other = await (await tested.context(t, { ...options, colorScheme })).newPage();
    await other.goto(new URL("/", page.url()).href);
    await other.getByText("avocet web", { exact: true }).waitFor();
    findings.push(...(await axe(other)));
    assert.deepEqual(findings, []);
  });
}

/** The Content Security Policy forbids a script element, so axe runs through the debugger. */
async function axe(page) {
  const source = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
  const debug = await page.context().newCDPSession(page);
  await page.evaluate(() => Promise.allSettled(document.getAnimations().map(({ finished }) => finished)).then(() => undefined));
  const expression = `${source}; axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => [id, html.slice(0, 200), failureSummary].join(" "))))`;
  const { result, exceptionDetails } = await debug.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  assert.equal(exceptionDetails, undefined);
  await debug.detach();
  return result.value;
}

scenario("the keyboard is enough for a message, the help and all views", async (t, tested, options) => {
  tested.model.on("by keyboard", "Typed.");
  const page = await tested.open(t, options);
  await composer(page).focus();
  await page.keyboard.type("by keyboard");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("second line");
  await page.keyboard.press("Enter");
  await answered(page, "Typed.");
  // A new row has no inner text until it is painted (`content-visibility: auto`).
  assert.equal(await page.locator(".bubble").textContent(), "by keyboard\nsecond line");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keys" });
  await help.waitFor();
  await page.keyboard.press("Escape");
  await help.waitFor({ state: "detached" });
  for (const [key, title] of KEYS) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await page.getByRole("heading", { level: 1, name: title }).waitFor();
  }
  await page.keyboard.press("g");
  await page.keyboard.press("c");
  await composer(page).waitFor();
  assertNoProblems(page);
});

scenario("a configuration with a fault is refused with its line", async (t, tested, options) => {
  const page = await tested.open(t, options);
  await visit(page, "config");
  await page.getByRole("tab", { name: "Text" }).click();
  const field = page.getByRole("textbox", { name: "Configuration" });
  const before = readFileSync(tested.home.config, "utf8");
  await field.fill(`# A comment\n${before}nothing_of_this = 1\n`);
  const line = before.split("\n").length + 1;
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByRole("button", { name: `Line ${line}` }).waitFor();
  assert.ok(await page.getByRole("button", { name: "Save" }).isDisabled());
  assert.equal(readFileSync(tested.home.config, "utf8"), before);
  await page.getByRole("button", { name: `Line ${line}` }).click();
  assert.ok(await field.evaluate((element) => element === document.activeElement));

  await field.fill(`# A comment\n${before}`);
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByText("It can be saved.").waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText(/^Saved\. /).waitFor();
  assert.equal(readFileSync(tested.home.config, "utf8"), `# A comment\n${before}`);
  assertNoProblems(page);
});

scenario("secrets of the configuration are hidden, and stay when it is saved", async (t, tested, options) => {
  const before = readFileSync(tested.home.config, "utf8");
  const secret = "sk-hidden-123";
  const withSecret = before.replace('kind = "openai"', `kind = "openai"\napi_key = "${secret}"`);
  writeFileSync(tested.home.config, withSecret);
  t.after(() => writeFileSync(tested.home.config, before));
  const page = await tested.open(t, options);
  await visit(page, "config");
  await page.getByRole("tab", { name: "Text" }).click();
  const field = page.getByRole("textbox", { name: "Configuration" });
  await field.waitFor();
  const shown = await field.inputValue();
  assert.match(shown, /api_key = "•+ 1"/);
  await field.fill(`# A note\n${shown}`);
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByText("It can be saved.").waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText(/^Saved\. /).waitFor();
  assert.equal(readFileSync(tested.home.config, "utf8"), `# A note\n${withSecret}`);
  assert.ok(!(await page.content()).includes(secret));
  await page.getByRole("button", { name: "Show secrets" }).click();
  assert.equal(await field.inputValue(), `# A note\n${withSecret}`);
  await page.getByRole("button", { name: "Hide secrets" }).click();
  assert.ok(!(await field.inputValue()).includes(secret));
  assertNoProblems(page);
});

scenario("an idle page sends no requests for an hour", async (t, tested, options) => {
  const page = await tested.open(t, options);
  await say(page, "one message");
  await answered(page, "Done.");
  const requests = requestsOf(page);
  await page.clock.install();
  for (const [address, title] of [["chat", null], ...VIEWS]) {
    await visit(page, address);
    await page.reload();
    await (title === null ? composer(page).waitFor() : shown(page, title));
    await requests.atRest();
    // The timers of the start are over after a minute.
    await page.clock.runFor(60_000);
    await requests.atRest();
    const before = requests.all.length;
    await page.clock.runFor(3_600_000);
    await requests.atRest();
    assert.deepEqual(requests.all.slice(before), [], address);
  }
});

/**
 * Records the requests of a page. A stream is work until its answer begins, because the page then loads
 * what it may have missed. Afterwards it stays open.
 */
function requestsOf(page) {
  const all = [];
  const open = new Set();
  page.on("request", (request) => {
    all.push(request.url());
    open.add(request);
  });
  for (const end of ["requestfinished", "requestfailed"]) {
    page.on(end, (request) => open.delete(request));
  }
  page.on("response", (response) => response.url().includes("/stream") && open.delete(response.request()));
  const ends = ["requestfinished", "requestfailed", "response"];
  const atRest = async () => {
    do {
      while (open.size > 0) {
        await Promise.race(ends.map((end) => page.waitForEvent(end)));
      }
      // An answer may lead to the next request.
      await page.evaluate(() => undefined);
    } while (open.size > 0);
  };
  return { all, atRest };
}

scenario("the first paint from loopback is measured", async (t, tested, options) => {
  const link = await tested.open(t, options);
  const times = [];
  for (let number = 0; number < 5; number += 1) {
    const context = await tested.context(t, options);
    const page = await context.newPage();
    await page.goto(new URL("/", link.url()).href);
    times.push(await page.evaluate(() => new Promise((resolve) => {
      const paint = (list) => list.getEntries().find(({ name }) => name === "first-contentful-paint");
      new PerformanceObserver((list) => paint(list) && resolve(Math.round(paint(list).startTime)))
        .observe({ type: "paint", buffered: true });
    })));
    await context.close();
  }
  t.diagnostic(`first contentful paint: ${times.join(", ")} ms`);
});
