// Untrusted texts stay harmless, and a browser without a valid token sees the sign-in alone.

import assert from "node:assert/strict";

import { answered, assertNoProblems, composer, say, scenarios, visit } from "../testing/console.js";

const scenario = scenarios();

const HOSTILE = `Before <script>window.ran = 1</script> <img src=x onerror="window.ran = 1"> after.

<iframe srcdoc="<script>parent.ran = 1</script>"></iframe>

<div onclick="window.ran = 1">block</div>

[script link](javascript:window.ran=1) and [data link](data:text/html,hello) and [good link](https://example.org/a)

![remote](https://example.org/tracker.png)

\`<b onmouseover="window.ran = 1">code</b>\`

| a <i>b</i> | [x](javascript:window.ran=1) |
|---|---|
| <svg onload="window.ran = 1"> | c |`;

scenario("Markdown with HTML and links to scripts stays harmless", async (t, tested, options) => {
  tested.model.on("be hostile", (answer) => answer.pieces(HOSTILE));
  const page = await tested.open(t, options);
  const requests = [];
  page.on("request", (request) => requests.push(request.url()));
  await say(page, "be hostile");
  const answer = await answered(page, "script link");
  await answer.getByText("<script>window.ran = 1</script>").waitFor();
  const links = await answer.locator(".markdown a").evaluateAll((all) => all.map(({ href, rel, target }) => [href, rel, target]));
  for (const [href, rel, target] of links) {
    assert.match(href, /^https:\/\/example\.org\//);
    assert.deepEqual([rel, target], ["noopener noreferrer", "_blank"]);
  }
  assert.ok(links.length >= 1);
  for (const words of ["script link", "block", "data link"]) {
    await answer.getByText(words).first().click();
  }
  assert.equal(await answer.locator("script, iframe, img, [onclick], [onerror]").count(), 0);
  assert.equal(await page.evaluate(() => window.ran), undefined);
  assert.deepEqual(requests.filter((url) => !url.startsWith(new URL(page.url()).origin)), []);
  assertNoProblems(page);
});

scenario("a message of a person is shown as plain text", async (t, tested, options) => {
  const page = await tested.open(t, options);
  await say(page, HOSTILE);
  await answered(page, "Done.");
  const bubble = page.locator(".bubble", { hasText: "[script link](javascript:window.ran=1)" });
  await bubble.first().waitFor();
  assert.equal(await bubble.locator("a, img, script, iframe").count(), 0);
  assert.equal(await page.evaluate(() => window.ran), undefined);
  assertNoProblems(page);
});

scenario("sign-out forgets the token in all tabs", async (t, tested, options) => {
  const page = await tested.open(t, options);
  const other = await page.context().newPage();
  await other.goto(page.url());
  await composer(other).waitFor();
  if (options.isMobile) {
    await page.getByRole("button", { name: "Open the navigation" }).click();
  }
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
  for (const tab of [page, other]) {
    await tab.getByText("avocet web", { exact: true }).waitFor();
    assert.equal(await tab.evaluate(() => localStorage.getItem("avocet.token")), null);
  }
  assertNoProblems(page);
});

scenario("the view Health lists the browsers and signs another one out", async (t, tested, options) => {
  const page = await tested.open(t, options);
  const other = await tested.open(t, options);
  await visit(page, "health");
  const rows = page.getByRole("table", { name: "Browsers that are signed in" }).getByRole("row").filter({ hasText: "Chrome" });
  const another = rows.filter({ hasNotText: "this one" });
  await another.first().waitFor();
  assert.equal(await rows.filter({ hasText: "this one" }).count(), 1);
  // The first row is the last sign-in.
  await another.first().getByRole("button", { name: /^Sign out/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await other.getByText("avocet web", { exact: true }).waitFor();
  assertNoProblems(page);
});

scenario("a token that the daemon has ended leads to the sign-in", async (t, tested, options) => {
  const page = await tested.open(t, options);
  await tested.home.run("web", "--sign-out");
  await visit(page, "jobs");
  await page.getByText("avocet web", { exact: true }).waitFor();
  await page.goto(await tested.home.link());
  await page.getByRole("heading", { name: "Jobs" }).or(composer(page)).first().waitFor();
});
