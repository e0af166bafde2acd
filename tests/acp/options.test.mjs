// The settings of a session: model, thinking and mode, as options and as modes. `tests/e2e/acp.rs` runs it.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { acp, choose, withHome } from "./editor.mjs";

const { session } = acp.methods.agent;
const write = (name) => `write_file ${name} hello`;

/** Opens a session, and returns the answer with its options by id. */
async function open(editor) {
  const answer = await editor.agent.request(session.new, {
    cwd: editor.home.workspace,
    mcpServers: [],
  });
  return { ...answer, id: answer.sessionId, options: byId(answer.configOptions) };
}

const byId = (options) => Object.fromEntries(options.map((option) => [option.id, option]));

async function set(editor, sessionId, configId, value) {
  const params = { sessionId, configId, value };
  const { configOptions } = await editor.agent.request(session.setConfigOption, params);
  return byId(configOptions);
}

/** The options that the agent told last in an update. */
const told = (editor, id) => byId(editor.of("config_option_update", id).at(-1).configOptions);

test("a new session offers the models and the modes", () =>
  withHome("", async (home) => {
    await home.daemon();
    const editor = await home.editor();
    const { options, modes, id } = await open(editor);
    assert.equal(options.model.category, "model");
    assert.equal(options.model.type, "select");
    assert.equal(options.model.currentValue, "default");
    assert.ok(options.model.options.length > 0);
    assert.equal(options.mode.category, "mode");
    assert.deepEqual(
      options.mode.options.map(({ value }) => value),
      ["default", "ask", "read"],
    );
    assert.equal(modes.currentModeId, "default");
    assert.deepEqual(
      modes.availableModes.map(({ id }) => id),
      ["default", "ask", "read"],
    );
    await assert.rejects(set(editor, id, "mode", "plan"), /choose one of default, ask, read/);
    await assert.rejects(set(editor, id, "colour", "red"), /it has model, .*mode/);
    await assert.rejects(set(editor, "terminal:local:me", "mode", "ask"), /there is no session/);
    assert.equal(await editor.close(), 0);
  }));

test("a model is chosen for one session, kept, and changed in the chat", () =>
  withHome("", async (home) => {
    await home.daemon();
    const first = await home.editor();
    const { id, options } = await open(first);
    const other = options.model.options.flatMap((one) => one.options ?? [one]).at(-1).value;
    assert.notEqual(other, "default");
    assert.equal((await set(first, id, "model", other)).model.currentValue, other);
    assert.equal((await open(first)).options.model.currentValue, "default");
    await first.close();

    const second = await home.editor();
    const again = { sessionId: id, cwd: home.workspace, mcpServers: [] };
    const resumed = await second.agent.request(session.resume, again);
    assert.equal(byId(resumed.configOptions).model.currentValue, other);
    const loaded = await second.agent.request(session.load, again);
    assert.equal(byId(loaded.configOptions).model.currentValue, other);
    await second.prompt(id, "/model default");
    await second.until(() => second.of("config_option_update", id).length > 0);
    assert.equal(told(second, id).model.currentValue, "default");
    await second.prompt(id, "count to 1");
    assert.equal(second.of("config_option_update", id).length, 1, "nothing else has changed");
  }));

test("the mode ask asks before an effect, and read refuses it", () =>
  withHome('[tools.policy]\nwrite_file = "allow"\n', async (home) => {
    await home.daemon();
    const editor = await home.editor({ permission: choose("reject_once") });
    const { id } = await open(editor);
    await editor.prompt(id, write("a.txt"));
    assert.equal(editor.permissions.length, 0);
    assert.ok(existsSync(join(home.workspace, "a.txt")));

    assert.equal((await set(editor, id, "mode", "ask")).mode.currentValue, "ask");
    assert.equal(editor.of("current_mode_update", id).at(-1).currentModeId, "ask");
    await editor.prompt(id, write("b.txt"));
    assert.equal(editor.permissions.length, 1);

    await editor.agent.request(session.setMode, { sessionId: id, modeId: "read" });
    await editor.until(() => editor.of("config_option_update", id).length > 0);
    assert.equal(told(editor, id).mode.currentValue, "read");
    await editor.prompt(id, write("c.txt"));
    assert.equal(editor.permissions.length, 1, "a refused call is not asked about");
    await editor.prompt(id, "read_file a.txt");
    const [, asked, refused, read] = editor.calls(id);
    assert.deepEqual([asked.status, refused.status, read.status], ["failed", "failed", "completed"]);
    assert.ok(!existsSync(join(home.workspace, "b.txt")));
    assert.ok(!existsSync(join(home.workspace, "c.txt")));
    await assert.rejects(
      editor.agent.request(session.setMode, { sessionId: id, modeId: "code" }),
      /choose one of default, ask, read/,
    );
  }));

test("a mode that another editor chooses is told at the end of the next turn", () =>
  withHome("", async (home) => {
    await home.daemon();
    const [one, two] = [await home.editor(), await home.editor()];
    const { id } = await open(one);
    const again = { sessionId: id, cwd: home.workspace, mcpServers: [] };
    await two.agent.request(session.resume, again);
    await set(two, id, "mode", "read");
    await one.prompt(id, "count to 1");
    await one.until(() => one.of("current_mode_update", id).length > 0);
    assert.equal(one.of("current_mode_update", id)[0].currentModeId, "read");
    assert.equal(told(one, id).mode.currentValue, "read");
    await two.prompt(id, "/mode default");
    await one.until(() => one.of("current_mode_update", id).length > 1);
    assert.equal(told(one, id).mode.currentValue, "default");
  }));
