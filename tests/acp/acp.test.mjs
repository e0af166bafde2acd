// The official client of the Agent Client Protocol against `avocet acp`. `tests/e2e/acp.rs` runs it.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { acp, choose, withHome } from "./editor.mjs";

const { session } = acp.methods.agent;
const ASK = '[tools.policy]\nwrite_file = "ask"\n';
const write = (name) => `write_file ${name} hello`;

test("initialize offers what the agent can do", () =>
  withHome("", async (home) => {
    const editor = await home.editor();
    const { protocolVersion, agentCapabilities, agentInfo } = editor.initialized;
    assert.equal(protocolVersion, acp.PROTOCOL_VERSION);
    assert.equal(agentInfo.name, "avocet");
    assert.equal(agentCapabilities.loadSession, true);
    assert.deepEqual(agentCapabilities.promptCapabilities, {
      image: true,
      audio: true,
      embeddedContext: true,
    });
    await assert.rejects(
      editor.agent.request(session.new, { cwd: "relative", mcpServers: [] }),
      /not an absolute path/,
    );
    assert.equal(await editor.close(), 0);
  }));

test("prompt streams the answer, once, without a daemon of its own", () =>
  withHome("", async (home) => {
    const editor = await home.editor();
    const id = await editor.newSession();
    assert.deepEqual(await editor.prompt(id, "count to 5"), { stopReason: "end_turn" });
    assert.equal(editor.text(id), "1, 2, 3, 4, 5.");
    assert.ok(editor.of("agent_message_chunk", id).length > 1, "the text comes in pieces");
    const [{ availableCommands }] = editor.of("available_commands_update", id);
    assert.ok(availableCommands.some(({ name }) => name === "compact"));
    assert.ok(!availableCommands.some(({ name }) => name === "approve"));
    await editor.prompt(id, "/status");
    assert.match(editor.text(id), /I am not doing anything/);
    assert.equal(await editor.close(), 0);
    assert.ok(!existsSync(join(home.path, ".local/state/avocet/run/avocet.sock")));
  }));

test("tool calls have kinds, locations, states and diffs", () =>
  withHome("", async (home) => {
    await home.daemon();
    writeFileSync(join(home.workspace, "a.txt"), "one\ntwo\n");
    const editor = await home.editor();
    const id = await editor.newSession();
    await editor.prompt(id, 'edit_file {"path": "a.txt", "find": "two", "replace": "zwei"}');
    await editor.prompt(id, "read_file a.txt");
    await editor.prompt(id, "read_file missing.txt");
    const [edit, read, failed] = editor.calls(id);
    const path = join(home.workspace, "a.txt");
    assert.equal(edit.kind, "edit");
    assert.equal(edit.status, "completed");
    assert.deepEqual(edit.locations, [{ path }]);
    assert.deepEqual(edit.content, [{ type: "diff", path, oldText: "two", newText: "zwei" }]);
    assert.equal(readFileSync(path, "utf8"), "one\nzwei\n");
    assert.equal(read.kind, "read");
    assert.match(read.content[0].content.text, /zwei/);
    assert.equal(failed.status, "failed");
    assert.equal(await editor.close(), 0);
  }));

test("permission is requested with the call, and allowed or denied", () =>
  withHome(ASK, async (home) => {
    await home.daemon();
    let kind = "allow_once";
    const editor = await home.editor({ permission: (params) => choose(kind)(params) });
    const id = await editor.newSession();
    assert.equal((await editor.prompt(id, write("a.txt"))).stopReason, "end_turn");
    assert.equal(readFileSync(join(home.workspace, "a.txt"), "utf8"), "hello");
    const [{ sessionId, toolCall, options }] = editor.permissions;
    assert.equal(sessionId, id);
    const [call] = editor.calls(id);
    assert.equal(toolCall.toolCallId, call.toolCallId);
    assert.equal(call.status, "completed");
    assert.equal(toolCall.content[0].newText, "hello");
    assert.match(toolCall.content[1].content.text, /^\*\*May I use `write_file`\?\*\* I ask because .*a\.txt/s);
    assert.deepEqual(
      options.map(({ kind, name }) => [kind, name]),
      [["allow_once", "Allow once"], ["allow_always", "Allow and trust this file"], ["reject_once", "Deny"]],
    );
    assert.doesNotMatch(editor.text(id), /approve/, "the question is not text, too");

    kind = "reject_once";
    assert.equal((await editor.prompt(id, write("b.txt"))).stopReason, "end_turn");
    assert.ok(!existsSync(join(home.workspace, "b.txt")));
    assert.equal(editor.calls(id)[1].status, "failed");
    assert.match(editor.text(id), /denied by the owner/);

    kind = "allow_always";
    await editor.prompt(id, write("c.txt"));
    await editor.prompt(id, write("c.txt"));
    assert.equal(editor.permissions.length, 3, "a similar call is not asked about again");
    assert.equal(await editor.close(), 0);
  }));

test("cancel ends a prompt that waits for a permission", () =>
  withHome(ASK, async (home) => {
    await home.daemon();
    const permission = async (params, editor) => {
      await editor.cancel(params.sessionId);
      return { outcome: "cancelled" };
    };
    const editor = await home.editor({ permission });
    const id = await editor.newSession();
    assert.equal((await editor.prompt(id, write("a.txt"))).stopReason, "cancelled");
    assert.ok(!existsSync(join(home.workspace, "a.txt")));
    assert.equal((await editor.prompt(id, "count to 2")).stopReason, "end_turn");
    assert.match(editor.text(id), /1, 2\.$/);
  }));

test("cancel ends a running answer, and the next prompt works", () =>
  withHome("", async (home) => {
    await home.daemon();
    const editor = await home.editor();
    const id = await editor.newSession();
    const answer = editor.prompt(id, "count to 1000");
    await editor.until(() => editor.text(id).includes("2"));
    await assert.rejects(editor.prompt(id, "count to 1"), /cancel it first/);
    await editor.cancel(id);
    assert.equal((await answer).stopReason, "cancelled");
    const before = editor.text(id).length;
    assert.equal((await editor.prompt(id, "count to 3")).stopReason, "end_turn");
    assert.equal(editor.text(id).slice(before).trim(), "1, 2, 3.");
  }));

test("two sessions answer at the same time", () =>
  withHome("", async (home) => {
    await home.daemon();
    const editor = await home.editor();
    const [one, two] = [await editor.newSession(), await editor.newSession()];
    assert.notEqual(one, two);
    const slow = editor.prompt(one, "count to 1000");
    await editor.until(() => editor.text(one).length > 0);
    assert.equal((await editor.prompt(two, "count to 2")).stopReason, "end_turn");
    assert.equal(editor.text(two), "1, 2.");
    await editor.cancel(one);
    assert.equal((await slow).stopReason, "cancelled");
  }));

test("load replays the conversation, and list finds it", () =>
  withHome("", async (home) => {
    await home.daemon();
    const first = await home.editor();
    const id = await first.newSession();
    await first.prompt(id, "count to 2");
    await first.prompt(id, write("a.txt"));
    const calls = first.calls(id);
    await first.close();

    const second = await home.editor();
    const { sessions } = await second.agent.request(session.list, { cwd: home.workspace });
    assert.equal(sessions.length, 1);
    assert.equal(sessions[0].sessionId, id);
    assert.equal(sessions[0].cwd, home.workspace);
    assert.match(sessions[0].updatedAt, /^\d{4}-\d\d-\d\dT/);
    const elsewhere = await second.agent.request(session.list, { cwd: "/elsewhere" });
    assert.deepEqual(elsewhere.sessions, []);
    const load = { sessionId: id, cwd: home.workspace, mcpServers: [] };
    await second.agent.request(session.load, load);
    assert.equal(second.text(id, "user_message_chunk"), `count to 2${write("a.txt")}`);
    assert.match(second.text(id), /^1, 2\./);
    const [replayed] = second.calls(id);
    assert.equal(replayed.toolCallId, calls[0].toolCallId);
    assert.equal(replayed.status, "completed");
    assert.equal((await second.prompt(id, "count to 1")).stopReason, "end_turn");
    await assert.rejects(
      second.agent.request(session.load, { ...load, sessionId: "terminal:local:me" }),
      /there is no session/,
    );
    await second.agent.request(session.close, { sessionId: id });
    await assert.rejects(second.prompt(id, "count to 1"), /there is no session/);
    await second.agent.request(session.resume, load);
    assert.equal((await second.prompt(id, "count to 1")).stopReason, "end_turn");
  }));

test("a question ends the prompt, and the next prompt is the answer", () =>
  withHome("", async (home) => {
    await home.daemon();
    const editor = await home.editor();
    const id = await editor.newSession();
    const question = 'ask_user {"question": "Which colour?", "options": ["red", "light blue"]}';
    assert.equal((await editor.prompt(id, question)).stopReason, "end_turn");
    assert.equal(editor.text(id), "Which colour?\n- red\n- light blue");
    assert.equal((await editor.prompt(id, "light blue")).stopReason, "end_turn");
    assert.match(editor.text(id).slice(40), /light blue/);
    assert.equal(editor.calls(id)[0].status, "completed");
  }));

test("a question is a form if the editor has forms", () =>
  withHome("", async (home) => {
    await home.daemon();
    const forms = [];
    const form = (params) => {
      forms.push(params);
      return { action: "accept", content: { answer: "red" } };
    };
    const editor = await home.editor({ form });
    const id = await editor.newSession();
    const question = 'ask_user {"question": "Which colour?", "options": ["red", "light blue"]}';
    assert.equal((await editor.prompt(id, question)).stopReason, "end_turn");
    assert.equal(forms.length, 1);
    assert.equal(forms[0].message, "Which colour?");
    assert.match(editor.text(id), /red/);
  }));

test("a killed daemon fails the prompt, and the next one works after its restart", () =>
  withHome("", async (home) => {
    const daemon = await home.daemon();
    const editor = await home.editor();
    const id = await editor.newSession();
    const answer = editor.prompt(id, "count to 30");
    await editor.until(() => editor.text(id).includes("2"));
    daemon.kill("SIGKILL");
    await assert.rejects(answer, /connection to the daemon was lost/);
    // Its connections end before its lock does.
    await daemon.ended;
    await home.daemon();
    assert.equal((await editor.prompt(id, "count to 2")).stopReason, "end_turn");
    assert.match(editor.text(id), /30\.[^]*1, 2\.$/, "the interrupted answer comes, too");
  }));

test("an interrupted call is repeated only if the person allows it", () =>
  withHome('[tools.policy]\nexec_shell = "allow"\n', async (home) => {
    const daemon = await home.daemon();
    const editor = await home.editor({ permission: choose("reject_once") });
    const id = await editor.newSession();
    const marker = join(home.workspace, "runs");
    const answer = editor.prompt(id, 'exec_shell {"command": "echo run >> runs; sleep 600"}');
    await editor.until(() => editor.calls(id)[0]?.status === "in_progress");
    daemon.kill("SIGKILL");
    await assert.rejects(answer, /connection to the daemon was lost/);
    // Its connections end before its lock does.
    await daemon.ended;
    await home.daemon();
    assert.equal((await editor.prompt(id, "count to 2")).stopReason, "end_turn");
    const [{ toolCall, options }] = editor.permissions;
    assert.match(toolCall.title, /exec_shell|interrupted|stopped/);
    assert.ok(options.some(({ kind }) => kind === "allow_once"));
    assert.match(editor.text(id), /1, 2\.$/);
    assert.ok(!existsSync(marker) || readFileSync(marker, "utf8") === "run\n");
  }));

test("the profile of the workspace around the editor's directory answers", () =>
  withHome("", async (home) => {
    const project = join(home.path, "project");
    mkdirSync(join(project, "src"), { recursive: true });
    writeFileSync(join(project, "here.txt"), "project file\n");
    const config = `[agents.shop]\nworkspace = "${project}"\n`;
    writeFileSync(join(home.path, ".config/avocet/config.toml"), config);
    await home.daemon();
    const editor = await home.editor();
    const inside = await editor.newSession(join(project, "src"));
    await editor.prompt(inside, "read_file here.txt");
    assert.match(editor.text(inside), /project file/);
    assert.doesNotMatch(editor.text(inside), /I work with the files/);
    assert.deepEqual(editor.calls(inside)[0].locations, [{ path: join(project, "here.txt") }]);
    const outside = await editor.newSession(home.path);
    await editor.prompt(outside, "read_file here.txt");
    assert.match(editor.text(outside), /^I work with the files in/);
    assert.doesNotMatch(editor.text(outside), /project file/);
  }));

test("pictures and embedded files reach the agent", () =>
  withHome("", async (home) => {
    await home.daemon();
    const editor = await home.editor();
    const id = await editor.newSession();
    const png =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const { stopReason } = await editor.prompt(id, [
      { type: "text", text: "look at " },
      { type: "image", mimeType: "image/png", data: png },
      {
        type: "resource",
        resource: { uri: `file://${home.workspace}/a.md`, text: "embedded words" },
      },
    ]);
    assert.equal(stopReason, "end_turn");
    await editor.agent.request(session.close, { sessionId: id });
    const load = { sessionId: id, cwd: home.workspace, mcpServers: [] };
    await editor.agent.request(session.load, load);
    const said = editor.text(id, "user_message_chunk");
    assert.match(said, /look at `a\.md`/);
    assert.match(said, /embedded words/);
    assert.match(said, /image/);
  }));

test("an unusable socket is an error that the editor shows", () =>
  withHome('[gateway]\nsocket = "/proc/no/avocet.sock"\n', async (home) => {
    const editor = await home.editor();
    await assert.rejects(editor.newSession(), /cannot connect to the daemon of Avocet/);
    assert.notEqual(await editor.close(), null);
  }));
