// What people do with conversations: name, pin, archive, export, delete, edit, regenerate, branch.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { answered, assertNoProblems, composer, newChat, say, scenarios, visit } from "../testing/console.js";

const scenario = scenarios();

const sessions = (page) => page.getByRole("list", { name: "Sessions" }).getByRole("listitem");

/** Opens the menu of the shown conversation. */
async function openMenu(page, title) {
  await page.getByRole("button", { name: `Change ${title}` }).click();
  const menu = page.getByRole("dialog", { name: "Conversation" });
  await menu.waitFor();
  return menu;
}

scenario("a conversation has its first message as title until a person names it", async (t, tested, options) => {
  const page = await tested.open(t, options);
  const first = `How do I prune roses ${newChat().replaceAll(":", " ")}?`;
  await say(page, first);
  await answered(page, "Done.");
  await page.getByRole("heading", { level: 1, name: first }).waitFor();
  await say(page, "And when?");
  await page.locator(".person", { hasText: "And when?" }).waitFor();
  await page.getByRole("heading", { level: 1, name: first }).waitFor();
  const menu = await openMenu(page, first);
  await menu.getByRole("textbox", { name: "Title" }).fill(`Roses of ${first}`);
  await menu.getByRole("button", { name: "Rename" }).click();
  await page.getByRole("heading", { level: 1, name: `Roses of ${first}` }).waitFor();
  await page.waitForFunction((title) => document.title.startsWith(title), `Roses of ${first}`);
  await page.reload();
  await page.getByRole("heading", { level: 1, name: `Roses of ${first}` }).waitFor();
  assertNoProblems(page);
});

scenario("a conversation is pinned, archived and deleted", async (t, tested, options) => {
  const page = await tested.open(t, options);
  const title = `Pin me ${newChat()}`;
  await say(page, title);
  await answered(page, "Done.");
  const address = page.url();
  await page.getByRole("heading", { level: 1, name: title }).waitFor();
  await (await openMenu(page, title)).getByRole("button", { name: "Pin", exact: true }).click();
  await visit(page, `chat/${newChat()}`);
  await composer(page).waitFor();
  await say(page, "a newer one");
  await answered(page, "Done.");
  await visit(page, "sessions");
  await sessions(page).filter({ hasText: title }).getByText("Pinned").waitFor();
  assert.match(await sessions(page).first().textContent(), /Pinned/);
  await (await openMenu(page, title)).getByRole("button", { name: "Archive" }).click();
  await sessions(page).filter({ hasText: title }).waitFor({ state: "detached" });
  await page.getByRole("tab", { name: "Archived" }).click();
  await sessions(page).filter({ hasText: title }).getByRole("link").click();
  await say(page, "come back");
  await page.locator(".person", { hasText: "come back" }).waitFor();
  await visit(page, "sessions");
  await sessions(page).filter({ hasText: title }).waitFor();
  const menu = await openMenu(page, title);
  await menu.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog", { name: "Delete this conversation?" }).getByRole("button", { name: "Delete" }).click();
  await sessions(page).filter({ hasText: title }).waitFor({ state: "detached" });
  await page.goto(address);
  await page.getByText("No messages yet").waitFor();
});

scenario("a conversation is exported for people and for programs", async (t, tested, options) => {
  tested.model.on("list the files", (answer) => answer.call("list_directory", { path: "." }), "There is ```nothing```.");
  const page = await tested.open(t, options);
  await say(page, "list the files");
  await answered(page, "There is");
  await page.getByRole("heading", { level: 1, name: "list the files" }).waitFor();
  const save = async (name) => {
    const downloading = page.waitForEvent("download");
    await page.getByRole("dialog", { name: "Conversation" }).getByRole("button", { name }).click();
    const download = await downloading;
    return [download.suggestedFilename(), readFileSync(await download.path(), "utf8")];
  };
  await openMenu(page, "list the files");
  const [name, text] = await save("Export as Markdown");
  assert.equal(name, "list the files.md");
  for (const part of ["# list the files\n", "list the files\n", "**list_directory**", '"path": "."', "**Avocet:**\n\nThere is ```nothing```."]) {
    assert.ok(text.includes(part), `${part}\n${text}`);
  }
  const [other, json] = await save("Export as JSON");
  assert.equal(other, "list the files.json");
  assert.equal(JSON.parse(json)[0].steps.length, 2);
  assertNoProblems(page);
});

scenario("a message is changed and sent again", async (t, tested, options) => {
  let count = 0;
  tested.model.on("tell a number", (answer) => answer.text(`Number ${(count += 1)}.`));
  const page = await tested.open(t, options);
  await say(page, "tell a number");
  await answered(page, "Number 1.");
  await page.locator(".person").first().getByRole("button", { name: "Edit" }).click();
  const field = await composer(page).elementHandle();
  await page.waitForFunction(({ field, text }) => field.value === text, { field, text: "tell a number" });
  await composer(page).press("End");
  await composer(page).pressSequentially(" please");
  await composer(page).press("Enter");
  await answered(page, "Number 2.");
  await page.locator(".person", { hasText: "tell a number please" }).waitFor();
  assertNoProblems(page);
});

scenario("an answer is regenerated and branched in a new conversation, and the old one stays", async (t, tested, options) => {
  const name = newChat().split(":").at(-1);
  const seen = [];
  let count = 0;
  tested.model.on(`a colour ${name}`, (answer) => {
    seen.push(answer.messages.map(({ content }) => JSON.stringify(content)).join(" "));
    return answer.text(`Colour ${(count += 1)}.`);
  });
  const page = await tested.open(t, options);
  const old = page.url();
  await say(page, `hello ${name}`);
  await answered(page, "Done.");
  await say(page, `a colour ${name}`);
  const answer = await answered(page, "Colour 1.");
  await answer.getByRole("button", { name: "Regenerate" }).click();
  await page.waitForFunction((old) => location.href !== old, old);
  await answered(page, "Colour 2.");
  await page.locator(".person", { hasText: `hello ${name}` }).waitFor();
  assert.equal(await page.locator(".person").count(), 2);
  assert.ok(seen[1].includes(`hello ${name}`) && !seen[1].includes("Colour 1."), seen[1]);
  const regenerated = page.url();
  await page.goto(old);
  await answered(page, "Colour 1.");
  assert.equal(await page.locator(".person").count(), 2);
  await (await answered(page, "Done.")).getByRole("button", { name: "Branch from here" }).click();
  await page.waitForFunction((old) => location.href !== old, old);
  await answered(page, "Done.");
  assert.equal(await page.locator(".person").count(), 1);
  assert.notEqual(page.url(), regenerated);
  assertNoProblems(page);
});

scenario("a conversation of another channel is marked, and answered there", async (t, tested, options) => {
  const chat = newChat().split(":").at(-1);
  tested.model.on(`from the console ${chat}`, "Answered on the terminal.");
  await tested.home.run("ask", "--session", chat, `from the terminal ${chat}`).catch(() => undefined);
  const page = await tested.open(t, options, `terminal:local:${chat}`);
  await page.getByText("This conversation takes place on terminal.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Attach files" }).count(), 0);
  await say(page, `from the console ${chat}`);
  await answered(page, "Answered on the terminal.");
  await (await answered(page, "Answered on the terminal.")).getByRole("button", { name: "Ask again" }).waitFor();
  const turns = JSON.parse(await tested.home.run("sessions", "show", chat, "--json"));
  assert.equal(turns.at(-1).steps.at(-1).text, "Answered on the terminal.");
  assertNoProblems(page);
});
