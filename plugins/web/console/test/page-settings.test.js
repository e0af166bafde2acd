// The form of the settings: it changes single lines of the file, and is usable with the keyboard.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";

import { assertNoProblems, scenarios, visit } from "../testing/console.js";

const scenario = scenarios();

/** Opens the form over this text, which the test takes back. */
async function form(t, tested, options, change) {
  const before = readFileSync(tested.home.config, "utf8");
  t.after(() => writeFileSync(tested.home.config, before));
  const text = change(before);
  writeFileSync(tested.home.config, text);
  const page = await tested.open(t, options);
  await visit(page, "config");
  await page.getByRole("region", { name: "agents.defaults" }).waitFor();
  return { page, text };
}

const field = (page, key) => page.locator(`[data-key="${key}"]`);

scenario("the form changes single lines, after a look at the difference", async (t, tested, options) => {
  const secret = "sk-hidden-456";
  const { page, text } = await form(t, tested, options, (before) =>
    `# What this is for\n${before.replace('kind = "openai"', `kind = "openai" # the kind\napi_key = "${secret}"`)}`);
  await page.getByRole("textbox", { name: "Fallbacks" }).fill("test/other\ntest/third");
  const provider = page.getByRole("region", { name: "providers.test" });
  await provider.getByRole("button", { name: "Replace Api key" }).click();
  await provider.getByLabel("Api key", { exact: true }).fill("sk-new-789");
  await page.getByRole("combobox", { name: "Rule for write_file" }).selectOption("deny");
  await page.getByText("3 changes are not saved.").waitFor();
  assert.ok(!(await page.content()).includes(secret), "a secret is not in the page");
  await page.getByRole("button", { name: "Review changes" }).click();
  const dialog = page.getByRole("dialog", { name: "Changes of the file" });
  await dialog.getByText("fallbacks = [").waitFor();
  assert.equal(readFileSync(tested.home.config, "utf8"), text, "nothing is saved before the review");
  const shown = await dialog.innerText();
  assert.ok(!shown.includes(secret) && !shown.includes("sk-new-789"), shown);
  assert.equal(await dialog.getByText("the secret is hidden").count(), 2);
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText(/^Saved\. /).waitFor();
  const expected = text
    .replace(secret, "sk-new-789")
    .replace('model = "test/model"\n', 'model = "test/model"\nfallbacks = ["test/other", "test/third"]\n')
    .replace('write_file = "ask"', 'write_file = "deny"');
  assert.equal(readFileSync(tested.home.config, "utf8"), expected);
  assertNoProblems(page);
});

scenario("a fault stands at its field and is not saved", async (t, tested, options) => {
  const { page, text } = await form(t, tested, options, (before) => before);
  const agent = page.getByRole("region", { name: "agents.defaults" });
  await agent.getByText(/^More settings of agents.defaults/).click();
  const depth = agent.getByRole("textbox", { name: "Max depth" });
  await depth.fill("many");
  await page.getByRole("button", { name: "Review changes" }).click();
  await field(page, "agents.defaults.max_depth").locator(".fault").waitFor();
  assert.equal(await depth.getAttribute("aria-invalid"), "true");
  assert.ok(await depth.evaluate((element) => element === document.activeElement), "the field has the focus");
  assert.equal(await page.getByRole("dialog").count(), 0);
  assert.equal(readFileSync(tested.home.config, "utf8"), text);
  await depth.fill("1");
  await page.getByRole("button", { name: "Review changes" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.getByText(/^Saved\. /).waitFor();
  assert.match(readFileSync(tested.home.config, "utf8"), /^max_depth = 1$/m);
  await agent.getByRole("button", { name: "Use the default of Max depth" }).click();
  await page.getByRole("button", { name: "Review changes" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.getByText(/^Saved\. /).waitFor();
  assert.equal(readFileSync(tested.home.config, "utf8"), text);
  assertNoProblems(page);
});

scenario("tables are added and removed, and the text has the changes of the form", async (t, tested, options) => {
  const { page, text } = await form(t, tested, options, (before) => before);
  await page.getByRole("button", { name: "Add a provider" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a provider" });
  await dialog.getByLabel("Name").fill("second");
  await dialog.getByLabel("Kind").selectOption("ollama");
  await dialog.getByRole("button", { name: "Add" }).click();
  const added = page.getByRole("region", { name: "providers.second" });
  await added.getByLabel("Base url").fill("http://127.0.0.1:9");
  await page.getByRole("tab", { name: "Text" }).click();
  const area = page.getByRole("textbox", { name: "Configuration" });
  await area.waitFor();
  assert.match(await area.inputValue(), /\[providers\.second\]\nkind = "ollama"\nbase_url = "http:\/\/127\.0\.0\.1:9"\n/);
  await page.getByRole("tab", { name: "Form" }).click();
  await added.getByRole("button", { name: "Remove providers.second" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await added.waitFor({ state: "detached" });
  await page.getByRole("tab", { name: "Text" }).click();
  await area.waitFor();
  assert.equal((await area.inputValue()).trim(), text.trim());
  assertNoProblems(page);
});

scenario("the keyboard is enough for a change in the form", async (t, tested, options) => {
  const { page } = await form(t, tested, options, (before) => before);
  await page.getByRole("tab", { name: "Form" }).focus();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.closest("[data-key]")?.dataset.key), "agents.defaults.model");
  await page.keyboard.press("End");
  await page.keyboard.type("2");
  await page.getByText("1 change is not saved.").waitFor();
  await page.getByRole("button", { name: "Review changes" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Changes of the file" });
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  const [described, label] = await page.getByRole("textbox", { name: "Model", exact: true }).evaluate((element) =>
    [document.getElementById(element.getAttribute("aria-describedby")).textContent, element.labels[0].textContent]);
  assert.ok(described.startsWith("model") && label === "Model", described);
});

scenario("the script of the form is loaded with the view only", async (t, tested, options) => {
  const page = await tested.open(t, options);
  const loaded = [];
  page.on("request", (request) => request.url().includes("/settings-") && loaded.push(request.url()));
  await visit(page, "health");
  await page.getByRole("heading", { level: 1, name: "Health" }).waitFor();
  assert.deepEqual(loaded, []);
  await visit(page, "config");
  await page.getByRole("region", { name: "agents.defaults" }).waitFor();
  assert.equal(loaded.length, 2);
});
