// Commands as terminals of the editor: the official client against `avocet acp`.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { writeFileSync } from "node:fs";

import { acp, choose, withHome } from "./editor.mjs";

const { session } = acp.methods.agent;
const ALLOW = '[tools.policy]\nexec_shell = "allow"\n';
const run = (command) => `exec_shell ${JSON.stringify({ command })}`;
const capabilities = { _meta: { terminal_output: true } };

/** The `_meta` values of one kind in a session, in order. */
const metas = (editor, id, kind) =>
  [...editor.of("tool_call", id), ...editor.of("tool_call_update", id)]
    .map(({ _meta }) => _meta?.[kind])
    .filter(Boolean);

const output = (editor, id) =>
  metas(editor, id, "terminal_output")
    .map(({ data }) => data)
    .join("");

test("a command is a terminal with its output and its end", () =>
  withHome(ALLOW, async (home) => {
    await home.daemon();
    const editor = await home.editor({ capabilities });
    const id = await editor.newSession();
    await editor.prompt(id, run("echo one; echo two >&2; exit 3"));
    const [call] = editor.calls(id);
    const terminal = call.toolCallId;
    assert.equal(call.kind, "execute");
    assert.equal(call.status, "completed");
    assert.deepEqual(call.content, [{ type: "terminal", terminalId: terminal }]);
    const info = { terminal_id: terminal, cwd: home.workspace };
    assert.deepEqual(metas(editor, id, "terminal_info"), [info]);
    assert.equal(output(editor, id), "one\ntwo\n");
    const exit = { terminal_id: terminal, exit_code: 3, signal: null };
    assert.deepEqual(metas(editor, id, "terminal_exit"), [exit]);

    // An earlier session shows the same.
    const second = await home.editor({ capabilities });
    await second.agent.request(session.load, { sessionId: id, cwd: home.workspace, mcpServers: [] });
    assert.equal(output(second, id), "one\ntwo\n");
    assert.deepEqual(metas(second, id, "terminal_exit"), [exit]);
    assert.equal(await editor.close(), 0);
  }));

test("an editor without terminals gets the output as a code block", () =>
  withHome(ALLOW, async (home) => {
    await home.daemon();
    const editor = await home.editor({ capabilities: { terminal: true } });
    const id = await editor.newSession();
    await editor.prompt(id, run("echo one; exit 3"));
    const [call] = editor.calls(id);
    assert.equal(call.content[0].content.text, "```\none\n```\n\nexit code 3");
    assert.deepEqual(metas(editor, id, "terminal_info"), []);
    assert.deepEqual(metas(editor, id, "terminal_output"), []);
  }));

test("a command that a person allows has its terminal after the question", () =>
  withHome('[tools.policy]\nexec_shell = "ask"\n', async (home) => {
    await home.daemon();
    const editor = await home.editor({ capabilities, permission: choose("allow_once") });
    const id = await editor.newSession();
    await editor.prompt(id, run("echo one"));
    const [{ toolCall }] = editor.permissions;
    assert.match(toolCall.content[0].content.text, /echo one/);
    const [call] = editor.calls(id);
    assert.equal(call.content[0].type, "terminal");
    assert.equal(output(editor, id), "one\n");
  }));

test("a terminal shows the output while the command runs", () =>
  withHome(ALLOW, async (home) => {
    await home.daemon();
    const editor = await home.editor({ capabilities });
    const id = await editor.newSession();
    const waiting = "echo begun; until [ -e go ]; do sleep 0.1; done; echo done";
    const answer = editor.prompt(id, run(waiting));
    await editor.until(() => output(editor, id) === "begun\n");
    assert.equal(editor.calls(id)[0].status, "in_progress");
    writeFileSync(join(home.workspace, "go"), "");
    assert.equal((await answer).stopReason, "end_turn");
    assert.equal(output(editor, id), "begun\ndone\n");
    assert.equal(metas(editor, id, "terminal_exit")[0].exit_code, 0);
  }));
