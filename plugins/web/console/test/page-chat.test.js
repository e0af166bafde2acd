// Conversations in a browser, with the real daemon.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";

import { answered, assertNoProblems, composer, newChat, say, scenarios } from "../testing/console.js";
import { gate } from "../testing/model.js";

const scenario = scenarios();

const history = (page) => page.getByRole("region", { name: "Conversation" });

scenario("the link signs in once, and a first message is answered", async (t, tested, options) => {
  tested.model.on("first question", "The first answer.");
  const page = await (await tested.context(t, options)).newPage();
  const link = await tested.home.link();
  await page.goto(link);
  await composer(page).waitFor();
  assert.equal(page.url(), link.replace(/#.*/, "#/"));
  await say(page, "first question");
  await answered(page, "The first answer.");
  assertNoProblems(page);
  const other = await (await tested.context(t, options)).newPage();
  await other.goto(link);
  await other.getByRole("alert").waitFor();
  await other.getByText("avocet web", { exact: true }).waitFor();
  assert.ok(!other.url().includes("code"), other.url());
});

scenario("the text appears before the turn ends", async (t, tested, options) => {
  const { open, opened } = gate(t);
  tested.model.on("stream slowly", async (answer) => {
    answer.text("The beginning");
    await opened;
    answer.text(" and the end.");
  });
  const page = await tested.open(t, options);
  await say(page, "stream slowly");
  await page.locator(".writing", { hasText: "The beginning" }).waitFor();
  assert.equal(await page.getByText("and the end.").count(), 0);
  await page.getByRole("button", { name: "Stop the answer" }).waitFor();
  open();
  await answered(page, "The beginning and the end.");
  assert.equal(await page.locator(".writing").count(), 0);
  assertNoProblems(page);
});

scenario("a call is allowed and denied in the chat", async (t, tested, options) => {
  const file = `${newChat().replaceAll(":", "-")}.txt`;
  const write = (path) => (answer) => answer.call("write_file", { path, content: "hello" });
  tested.model.on("write the file", write(file), "The file is written.");
  tested.model.on("write another", write(`other-${file}`), "The file is not written.");
  const page = await tested.open(t, options);
  await say(page, "write the file");
  const approval = page.getByRole("group", { name: "Approval of write_file" });
  await approval.getByText(file).first().waitFor();
  await approval.getByText("May I use write_file?").waitFor();
  await approval.getByText("+hello").waitFor();
  assert.ok(!existsSync(join(tested.home.workspace, file)));
  await approval.getByRole("button", { name: "Allow once" }).click();
  await answered(page, "The file is written.");
  await approval.waitFor({ state: "detached" });
  assert.ok(existsSync(join(tested.home.workspace, file)));

  await say(page, "write another");
  await approval.getByRole("button", { name: "Deny" }).click();
  await approval.getByRole("textbox").fill("use the other folder");
  await approval.getByRole("button", { name: "Deny" }).click();
  const answer = await answered(page, "The file is not written.");
  await approval.waitFor({ state: "detached" });
  await answer.locator(".call summary").click();
  await answer.getByText("use the other folder").first().waitFor();
  assert.ok(!existsSync(join(tested.home.workspace, `other-${file}`)));
  assertNoProblems(page);
});

scenario("the reason of a denial stays while the turn is loaded", async (t, tested, options) => {
  const { open, opened } = gate(t);
  tested.model.on("begin", "It has begun.");
  tested.model.on("hold the turn", (answer) => answer.call("write_file", { path: "held.txt", content: "x" }), "Not written.");
  const page = await tested.open(t, options);
  // The conversation is loaded before its requests are held back.
  await say(page, "begin");
  await answered(page, "It has begun.");
  await page.route(/[?&]turns=/, async (route) => {
    await opened;
    await route.continue();
  });
  await say(page, "hold the turn");
  const approval = page.getByRole("group", { name: "Approval of write_file" });
  await approval.getByRole("button", { name: "Deny" }).click();
  await approval.getByRole("textbox").fill("not now");
  open();
  const moved = page.getByRole("article", { name: "Answer" }).getByRole("group", { name: "Approval of write_file" });
  await moved.waitFor();
  assert.equal(await moved.getByRole("textbox").inputValue(), "not now");
  await moved.getByRole("button", { name: "Deny" }).click();
  await answered(page, "Not written.");
  assertNoProblems(page);
});

scenario("a reload in the middle of a turn shows the text so far and then the rest once", async (t, tested, options) => {
  const { open, opened } = gate(t);
  tested.model.on("reload me", async (answer) => {
    answer.pieces("One two three four five six seven eight nine ten.");
    await opened;
    answer.text(" Eleven.");
  });
  const page = await tested.open(t, options);
  await say(page, "reload me");
  const writing = page.locator(".writing", { hasText: "nine ten." });
  await writing.waitFor();
  await page.reload();
  await writing.waitFor();
  open();
  const answer = await answered(page, "ten. Eleven.");
  assert.equal((await answer.textContent()).match(/One two/g).length, 1);
  assert.equal(await history(page).getByText("reload me").count(), 1);
  assertNoProblems(page);
});

scenario("two tabs show the same conversation", async (t, tested, options) => {
  const { open, opened } = gate(t);
  tested.model.on("for two", async (answer) => {
    answer.text("Both read this");
    await opened;
    answer.text(" now.");
  });
  const one = await tested.open(t, options);
  const other = await one.context().newPage();
  await other.goto(one.url());
  await composer(other).waitFor();
  await say(one, "for two");
  for (const page of [one, other]) {
    await page.locator(".writing", { hasText: "Both read this" }).waitFor();
  }
  open();
  const texts = [];
  for (const page of [one, other]) {
    await answered(page, "Both read this now.");
    texts.push(await page.locator(".row").allTextContents());
  }
  assert.deepEqual(texts[0], texts[1]);
  assertNoProblems(one);
});

scenario("a turn is stopped with the button", async (t, tested, options) => {
  const { open, opened } = gate(t);
  tested.model.on("write for ever", async (answer) => {
    answer.text("For ever and");
    await opened;
  });
  const page = await tested.open(t, options);
  await say(page, "write for ever");
  await page.locator(".writing", { hasText: "For ever" }).waitFor();
  await page.getByRole("button", { name: "Stop the answer" }).click();
  await page.locator(".notice", { hasText: /stopped/i }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Stop the answer" }).count(), 0);
  assertNoProblems(page);
});

scenario("the page reconnects after the daemon was killed, and shows the reply", async (t, tested, options) => {
  const { open, opened } = gate(t);
  let requests = 0;
  tested.model.on("survive this", async (answer) => {
    requests += 1;
    if (requests === 1) {
      answer.text("Lost with the daemon");
      await opened;
    } else {
      answer.text("Answered by the next one.");
    }
  });
  const page = await tested.open(t, options);
  await say(page, "survive this");
  await page.locator(".writing", { hasText: "Lost with the daemon" }).waitFor();
  await tested.home.kill();
  await page.getByRole("status").filter({ hasText: "Connecting again..." }).waitFor();
  await tested.home.start();
  await tested.home.link();
  await answered(page, "Answered by the next one.");
  await page.getByText("Connecting again...").waitFor({ state: "detached" });
  assert.equal(await history(page).getByText("survive this").count(), 1);
});
