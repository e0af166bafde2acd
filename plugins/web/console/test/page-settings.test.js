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

/** Opens a part of the form that is folded. */
async function unfold(page, title) {
  await page.locator(".settings-group > summary", { hasText: new RegExp(`^${title}$`) }).click();
}

async function nameIn(page, title, name, action = "Add") {
  await page.getByRole("button", { name: title, exact: true }).click();
  const dialog = page.getByRole("dialog", { name: title });
  await dialog.getByLabel("Name").fill(name);
  await dialog.getByRole("button", { name: action, exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}

async function save(page) {
  await page.getByRole("button", { name: "Review changes" }).click();
  await page.getByRole("dialog", { name: "Changes of the file" }).getByRole("button", { name: "Save" }).click();
  await page.getByText(/^Saved\. /).waitFor();
}

scenario("an MCP server is added, renamed and removed, with its lists, pairs and inner tables", async (t, tested, options) => {
  const secret = "sk-of-a-server";
  const { page, text } = await form(t, tested, options, (before) =>
    `${before}# The first server\n[tools.mcp_servers.first] # one\ncommand = "/bin/true"\nenv = { API_KEY = "${secret}", LEVEL = "1" }\n`);
  const first = page.getByRole("region", { name: "tools.mcp_servers.first", exact: true });
  await first.getByRole("textbox", { name: "Args" }).fill("--all\n/srv");
  await first.getByLabel("Text of LEVEL").fill("2");
  await first.getByRole("button", { name: "Replace API_KEY" }).click();
  await first.getByLabel("Text of API_KEY").fill("${KEY}");
  assert.ok(!(await page.content()).includes(secret), "a secret is not in the page");
  await nameIn(page, "Rename tools.mcp_servers.first", "files", "Rename");
  const files = page.getByRole("region", { name: "tools.mcp_servers.files", exact: true });
  await nameIn(page, "Add an mcp server to tools", "second.one");
  const second = page.getByRole("region", { name: 'tools.mcp_servers."second.one"', exact: true });
  await second.getByLabel("Url", { exact: true }).fill("https://mcp.example.org/mcp");
  await page.getByRole("button", { name: "Review changes" }).click();
  // A name may not have a dot: the fault stands at the table.
  await second.locator(".fault").waitFor();
  await nameIn(page, 'Rename tools.mcp_servers."second.one"', "second", "Rename");
  const oauth = page.getByRole("region", { name: "tools.mcp_servers.second.oauth" });
  await oauth.getByRole("button", { name: "Add tools.mcp_servers.second.oauth" }).click();
  await oauth.getByRole("textbox", { name: "Scopes" }).fill("read");
  await save(page);
  const expected = text
    .replace("[tools.mcp_servers.first] # one", "[tools.mcp_servers.files] # one")
    .replace(`API_KEY = "${secret}", LEVEL = "1" }`, 'API_KEY = "${KEY}", LEVEL = "2" }\nargs = ["--all", "/srv"]');
  const saved = readFileSync(tested.home.config, "utf8");
  assert.equal(saved.slice(0, expected.length), expected);
  assert.equal(saved.slice(expected.length),
    '\n[tools.mcp_servers.second]\nurl = "https://mcp.example.org/mcp"\n\n[tools.mcp_servers.second.oauth]\nscopes = ["read"]\n');
  await files.getByRole("button", { name: "Remove tools.mcp_servers.files", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await files.waitFor({ state: "detached" });
  await save(page);
  assert.ok(!readFileSync(tested.home.config, "utf8").includes("mcp_servers.files"));
  assertNoProblems(page);
});

scenario("parts that the file does not have are folded, and added with their keys", async (t, tested, options) => {
  const { page, text } = await form(t, tested, options, (before) => before);
  await unfold(page, "Sandbox");
  await page.getByRole("textbox", { name: "Hosts" }).fill("example.org");
  await unfold(page, "Http");
  await page.getByRole("button", { name: "Add http", exact: true }).click();
  const http = page.getByRole("region", { name: "http", exact: true });
  await http.getByLabel("Listen", { exact: true }).fill("127.0.0.1:0");
  await page.getByRole("button", { name: "Add tools.web_search" }).click();
  const search = page.getByRole("region", { name: "tools.web_search" });
  await search.getByRole("textbox", { name: "Provider" }).fill("duckduckgo");
  await nameIn(page, "Add a token to http", "phone");
  const phone = page.getByRole("region", { name: "http.tokens.phone" });
  await phone.getByLabel("Token", { exact: true }).fill("0123456789abcdef0123");
  await page.getByRole("button", { name: "By case: rules for write_file" }).click();
  const rule = page.getByRole("region", { name: "tools.policy.write_file" });
  await rule.getByRole("combobox", { name: "Groups" }).selectOption("deny");
  await page.getByRole("button", { name: "Review changes" }).click();
  // The fault of a whole table stands below its name.
  await phone.locator(".fault", { hasText: "the client reaches no chat" }).waitFor();
  await phone.getByRole("textbox", { name: "Chats" }).fill("web:console:*");
  await save(page);
  const saved = readFileSync(tested.home.config, "utf8");
  for (const part of [
    '\n[sandbox]\nhosts = ["example.org"]\n', '\n[http]\nlisten = "127.0.0.1:0"\n', '\n[tools.web_search]\nprovider = "duckduckgo"\n',
    '\n[http.tokens.phone]\ntoken = "0123456789abcdef0123"\nchats = ["web:console:*"]\n', '\n[tools.policy.write_file]\ndefault = "ask"\ngroups = "deny"\n',
  ]) {
    assert.ok(saved.includes(part), `${part} is not in ${saved}`);
  }
  assert.ok(saved.startsWith(text.slice(0, text.indexOf("[tools.policy]"))));
  assertNoProblems(page);
});

scenario("a search shows the keys with its words", async (t, tested, options) => {
  const { page } = await form(t, tested, options, (before) => before);
  const find = page.getByRole("searchbox", { name: "Find a setting" });
  await find.fill("sessions queue_mode");
  await page.getByRole("combobox", { name: "Queue mode" }).selectOption("steer");
  assert.equal(await page.locator(".setting").count(), 1);
  await find.fill("");
  await page.getByRole("region", { name: "sessions" }).getByText("changed").waitFor();
  assertNoProblems(page);
});

scenario("the keyboard is enough for a change in the form", async (t, tested, options) => {
  const { page } = await form(t, tested, options, (before) => before);
  await page.getByRole("tab", { name: "Form" }).focus();
  await page.keyboard.press("Tab");
  await page.keyboard.type("agents.defaults");
  await page.getByRole("textbox", { name: "Model", exact: true }).waitFor();
  await page.keyboard.press("Tab");
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
