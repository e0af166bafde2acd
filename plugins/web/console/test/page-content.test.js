// The content of messages in a browser: pictures, formulas, code; and what helps to write a message.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { answered, assertNoProblems, composer, newChat, say, scenarios, visit } from "../testing/console.js";
import { gate } from "../testing/model.js";

const scenario = scenarios();

/** A picture of 3 by 2 pixels. */
const PICTURE = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAEElEQVR4nGM4IScHQQxwFgBBAAYZPEVBlgAAAABJRU5ErkJggg==", "base64");

/** Waits until a picture of the page is drawn. */
async function drawn(picture) {
  await picture.waitFor();
  await picture.evaluate((image) => image.decode());
  assert.deepEqual(await picture.evaluate(({ naturalWidth, naturalHeight }) => [naturalWidth, naturalHeight]), [3, 2]);
}

scenario("pictures of people and of the agent are shown, and open large", async (t, tested, options) => {
  mkdirSync(tested.home.workspace, { recursive: true });
  writeFileSync(join(tested.home.workspace, "chart.png"), PICTURE);
  tested.model.on("look at this", (answer) => answer.call("message", { text: "The chart:", files: ["chart.png"] }), "Seen.");
  const page = await tested.open(t, options);
  await say(page, "look at this");
  await answered(page, "Seen.");
  await page.locator("input[type=file]").setInputFiles({ name: "photo.png", mimeType: "image/png", buffer: PICTURE });
  await page.getByRole("list", { name: "Files of the message" }).getByText("photo.png").waitFor();
  await say(page, "and at my own");
  await answered(page, "Done.");
  for (const [name, place] of [["photo.png", ".person"], ["chart.png", ".agent"]]) {
    const small = page.locator(place).getByRole("button", { name: `Show ${name} large` });
    await small.scrollIntoViewIfNeeded();
    await drawn(small.locator("img"));
    await small.click();
    const large = page.getByRole("dialog", { name });
    await drawn(large.getByRole("img", { name }));
    const downloading = page.waitForEvent("download");
    await large.getByRole("button", { name: "Download" }).click();
    assert.equal((await downloading).suggestedFilename(), name);
    await page.keyboard.press("Escape");
    await large.waitFor({ state: "detached" });
  }
  assertNoProblems(page);
});

scenario("a file that is no picture is not shown as one", async (t, tested, options) => {
  mkdirSync(tested.home.workspace, { recursive: true });
  writeFileSync(join(tested.home.workspace, "false.png"), "<svg onload='window.ran = 1'/>");
  writeFileSync(join(tested.home.workspace, "drawing.svg"), "<svg xmlns='http://www.w3.org/2000/svg'><script>window.ran = 1</script></svg>");
  tested.model.on("hostile pictures", (answer) => answer.call("message", { text: "Here:", files: ["false.png", "drawing.svg"] }), "Sent.");
  const page = await tested.open(t, options);
  await say(page, "hostile pictures");
  const answer = await answered(page, "Sent.");
  await answer.getByRole("button", { name: "drawing.svg", exact: true }).waitFor();
  await answer.getByRole("button", { name: "false.png", exact: true }).waitFor();
  assert.equal(await page.evaluate(() => window.ran), undefined);
});

scenario("formulas are drawn by a script that other pages do not load", async (t, tested, options) => {
  tested.model.on("no formula", "It costs $5, or $10.");
  tested.model.on("the area", "The area is $\\pi r^2$:\n\n$$\n\\int_0^1 x\\,dx = \\frac12\n$$\n\nA fault stays text: $\\frac{1$");
  const page = await tested.open(t, options);
  const requests = [];
  page.on("request", (request) => requests.push(new URL(request.url())));
  const ofFormulas = () => requests.filter(({ pathname }) => /formulas|KaTeX/.test(pathname));
  await say(page, "no formula");
  await answered(page, "It costs $5, or $10.");
  assert.deepEqual(ofFormulas(), []);
  await say(page, "the area");
  const answer = await answered(page, "The area is");
  await answer.locator(".katex-display .mfrac").waitFor();
  assert.equal(await answer.locator(".katex").count(), 2);
  await answer.locator(".formula math").first().waitFor({ state: "attached" });
  await answer.getByText("$\\frac{1$").waitFor();
  await page.waitForFunction(() => document.fonts.check("16px KaTeX_Main"));
  assert.ok(ofFormulas().every(({ origin }) => origin === new URL(page.url()).origin));
  assert.ok(ofFormulas().length >= 3, String(ofFormulas()));
  // The formula has its height in the line although inline styles are forbidden.
  assert.ok(await answer.locator(".katex-display").evaluate((box) => box.getBoundingClientRect().height > 36));
  assertNoProblems(page);
});

scenario("hostile formulas stay harmless", async (t, tested, options) => {
  const hostile = String.raw`$\href{javascript:window.ran=1}{x}$ $\includegraphics{https://example.org/a.png}$ $\htmlData{a=b}{x}$ $\def\a{\a\a}\a$ \(\text{<img src=x onerror=window.ran=1>}\)`;
  tested.model.on("hostile formulas", hostile);
  const page = await tested.open(t, options);
  const requests = [];
  page.on("request", (request) => requests.push(request.url()));
  await say(page, "hostile formulas");
  const answer = await answered(page, "onerror");
  await answer.locator(".katex").first().waitFor();
  assert.equal(await answer.locator("img, a[href^=javascript], [data-a], script").count(), 0);
  assert.equal(await page.evaluate(() => window.ran), undefined);
  assert.deepEqual(requests.filter((url) => !url.startsWith(new URL(page.url()).origin)), []);
});

scenario("code is copied as it was written, also from a list", async (t, tested, options) => {
  const code = "def f():\n    return 1";
  tested.model.on("show code", `1. First:\n\n   \`\`\`python\n   def f():\n       return 1\n   \`\`\`\n2. Then:\n\n    \`\`\`python\n    def f():\n        return 1\n    \`\`\`\n`);
  const page = await tested.open(t, options);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await say(page, "show code");
  const answer = await answered(page, "First:");
  const blocks = answer.locator(".code");
  assert.equal(await blocks.count(), 2);
  for (const block of await blocks.all()) {
    await block.getByRole("button", { name: "Copy" }).click();
    await block.getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), code);
    assert.equal(await block.locator("pre").textContent(), code);
  }
  assertNoProblems(page);
});

scenario("a slash completes the commands that /help lists", async (t, tested, options) => {
  const page = await tested.open(t, options);
  await composer(page).fill("/");
  const list = page.getByRole("listbox", { name: "Commands" });
  await list.waitFor();
  const offered = (await list.getByRole("option").allTextContents()).map((text) => /^\/[a-z]+/.exec(text)[0]);
  await composer(page).press("Escape");
  await list.waitFor({ state: "detached" });
  await say(page, "/help");
  const help = page.getByRole("article", { name: "Notice" }).filter({ hasText: "/stop" });
  await help.waitFor();
  const listed = [...(await help.textContent()).matchAll(/\/([a-z]+)/g)].map(([word]) => word);
  assert.deepEqual(offered, [...new Set(listed)].filter((word) => offered.includes(word)));
  assert.deepEqual([...new Set(listed)].sort(), offered.toSorted());
  await composer(page).pressSequentially("/us");
  await composer(page).press("Enter");
  assert.equal(await composer(page).inputValue(), "/usage");
  await composer(page).fill("/th");
  await composer(page).press("Tab");
  assert.equal(await composer(page).inputValue(), "/think ");
  await composer(page).fill("/");
  await composer(page).press("ArrowUp");
  await composer(page).press("Tab");
  assert.match(await composer(page).inputValue(), /^\/voice/);
  assertNoProblems(page);
});

scenario("the arrow brings back one's last messages", async (t, tested, options) => {
  const page = await tested.open(t, options);
  for (const text of ["first words", "second words"]) {
    await say(page, text);
    await page.locator(".person .bubble", { hasText: text }).waitFor();
  }
  // Both messages are in their turns.
  await page.getByRole("article", { name: "Answer" }).nth(1).getByRole("button", { name: "Copy" }).waitFor();
  const field = composer(page);
  await field.press("ArrowUp");
  assert.equal(await field.inputValue(), "second words");
  await field.press("ArrowUp");
  assert.equal(await field.inputValue(), "first words");
  await field.press("ArrowUp");
  assert.equal(await field.inputValue(), "first words");
  await field.press("ArrowDown");
  await field.press("ArrowDown");
  assert.equal(await field.inputValue(), "");
  await field.fill("my own");
  await field.press("ArrowUp");
  assert.equal(await field.inputValue(), "my own");
  assertNoProblems(page);
});

scenario("Escape stops a running answer, and keeps what it has said", async (t, tested, options) => {
  const { opened } = gate(t);
  tested.model.on("answer for long", async (answer) => {
    answer.text("The beginning");
    await opened;
  });
  const page = await tested.open(t, options);
  await say(page, "answer for long");
  await page.locator(".writing", { hasText: "The beginning" }).waitFor();
  await composer(page).press("Escape");
  await composer(page).press("Escape");
  await page.locator(".notice.neutral").waitFor();
  await page.locator(".agent").getByText("The beginning").waitFor();
  await page.getByRole("button", { name: "Stop the answer" }).waitFor({ state: "detached" });
});

scenario("the model of a conversation is chosen in a menu", async (t, tested, options) => {
  const chat = newChat();
  const page = await tested.open(t, options, chat);
  await page.getByRole("button", { name: "Model and effort" }).click();
  const dialog = page.getByRole("dialog", { name: "Model and effort" });
  const menu = dialog.getByRole("combobox", { name: "What it may do without asking" });
  await dialog.getByRole("combobox", { name: "Model" }).waitFor();
  await menu.selectOption("read");
  await page.waitForFunction(() => document.querySelectorAll("dialog select:disabled").length === 0);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Model and effort" }).click();
  await menu.waitFor();
  assert.equal(await menu.inputValue(), "read");
  assertNoProblems(page);
});

scenario("a search hit opens at the words", async (t, tested, options) => {
  const filler = Array.from({ length: 80 }, (_, at) => `Paragraph ${at} of the long answer.`).join("\n\n");
  tested.model.on("write a long text", `${filler}\n\nThe quetzal is green.\n\n${filler}`);
  const page = await tested.open(t, options);
  await say(page, "write a long text");
  await answered(page, "quetzal");
  await visit(page, "sessions");
  await page.getByRole("searchbox", { name: "Search all messages" }).fill("quetzal");
  await page.getByRole("list", { name: "Messages" }).getByRole("link").first().click();
  // The list of hits quotes the text, too, until the conversation is open.
  await page.locator(".row.found").getByText("The quetzal is green.").waitFor();
  await page.waitForFunction(() => {
    const walker = document.createTreeWalker(document.querySelector(".row.found"), NodeFilter.SHOW_TEXT);
    while (walker.nextNode() && !walker.currentNode.data.includes("quetzal"));
    const { top, bottom } = walker.currentNode.parentElement.getBoundingClientRect();
    return top > 0 && bottom < innerHeight;
  });
  assert.equal(await page.evaluate(() => [...CSS.highlights.get("hit")].map(String).join()), "quetzal");
  assertNoProblems(page);
});
