// A person who looks elsewhere learns that an answer has come.

import assert from "node:assert/strict";

import { answered, assertNoProblems, composer, say, scenarios } from "../testing/console.js";
import { gate } from "../testing/model.js";

const scenario = scenarios();

/** Lets the page believe that its tab is hidden or shown: a headless browser shows every tab. */
function setHidden(page, isHidden) {
  return page.evaluate((isHidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);
}

/** Records notifications and badges. */
function record(context, permission) {
  return context.addInitScript((permission) => {
    window.told = { notes: [], badges: [] };
    window.Notification = class {
      static permission = permission;
      static async requestPermission() {
        window.Notification.permission = "granted";
        return "granted";
      }
      constructor(title, { body, tag }) {
        window.told.notes.push([title, body, tag]);
      }
      close() {}
    };
    navigator.setAppBadge = async (count) => void window.told.badges.push(count);
    navigator.clearAppBadge = async () => void window.told.badges.push(0);
  }, permission);
}

/** Opens a chat whose browser records what it is told. */
async function open(t, tested, options, permission) {
  const first = await tested.open(t, options);
  const login = await first.evaluate(() => Object.entries(localStorage));
  const context = await tested.context(t, options);
  // An empty document has no storage.
  await context.addInitScript((login) => location.protocol === "http:" && login.forEach(([key, value]) => localStorage.setItem(key, value)), login);
  await record(context, permission);
  const page = await context.newPage();
  await page.goto(first.url());
  await composer(page).waitFor();
  await first.close();
  return page;
}

scenario("an answer in the background is in the title, on the icon and in a notification", async (t, tested, options) => {
  const { open: release, opened } = gate(t);
  tested.model.on("take your time", async (answer) => {
    await opened;
    answer.text("The answer is 42.");
  });
  const page = await open(t, tested, options, "granted");
  await say(page, "take your time");
  await page.getByRole("button", { name: "Stop the answer" }).waitFor();
  await setHidden(page, true);
  release();
  await page.waitForFunction(() => document.title.startsWith("(1) "));
  const { notes, badges } = await page.evaluate(() => window.told);
  assert.deepEqual(badges, [1]);
  assert.equal(notes.length, 1);
  assert.deepEqual(notes[0].slice(1), ["The answer is 42.", new URL(page.url()).hash.split("/").at(-1)]);
  await setHidden(page, false);
  await page.waitForFunction(() => !document.title.startsWith("("));
  assert.deepEqual(await page.evaluate(() => window.told.badges), [1, 0]);
  await answered(page, "The answer is 42.");
  assert.equal(await page.getByRole("region", { name: "Notifications" }).count(), 0);
  assertNoProblems(page);
});

scenario("the page asks for notifications once, after the first answer in the background", async (t, tested, options) => {
  const page = await open(t, tested, options, "default");
  const question = page.getByRole("region", { name: "Notifications" });
  const askHidden = async (words, title) => {
    const { open: release, opened } = gate(t);
    tested.model.on(words, async (answer) => {
      await opened;
      answer.text("Done.");
    });
    await say(page, words);
    await page.getByRole("button", { name: "Stop the answer" }).waitFor();
    assert.equal(await question.count(), 0);
    await setHidden(page, true);
    release();
    await page.waitForFunction((title) => document.title.startsWith(title), title);
    await setHidden(page, false);
  };
  await askHidden("hidden for the first time", "(1) ");
  assert.deepEqual(await page.evaluate(() => window.told.notes), []);
  await question.getByRole("button", { name: "No" }).click();
  await question.waitFor({ state: "detached" });
  await askHidden("hidden for the second time", "(1) ");
  await page.waitForFunction(() => !document.title.startsWith("("));
  assert.equal(await question.count(), 0);
  assertNoProblems(page);
});

scenario("a visible page counts nothing", async (t, tested, options) => {
  const page = await open(t, tested, options, "granted");
  await say(page, "answer at once");
  await answered(page, "Done.");
  assert.deepEqual(await page.evaluate(() => window.told), { notes: [], badges: [] });
  assert.ok(!(await page.title()).startsWith("("));
});

scenario("the page can be installed", async (t, tested, options) => {
  const page = await tested.open(t, options);
  const debug = await page.context().newCDPSession(page);
  const { errors, data, url } = await debug.send("Page.getAppManifest");
  assert.deepEqual(errors, []);
  const { icons, start_url, display } = JSON.parse(data);
  assert.deepEqual([start_url, display], ["/", "standalone"]);
  for (const { src, sizes } of icons) {
    const size = await page.evaluate(async (address) => {
      const image = Object.assign(new Image(), { src: address });
      await image.decode();
      return `${image.naturalWidth}x${image.naturalHeight}`;
    }, new URL(src, url).href);
    assert.ok(sizes === "any" || size === sizes, `${src}: ${size}`);
  }
  const { installabilityErrors } = await debug.send("Page.getInstallabilityErrors");
  assert.deepEqual(installabilityErrors.filter(({ errorId }) => errorId !== "in-incognito"), []);
  assertNoProblems(page);
});
