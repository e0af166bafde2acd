// Titles, deleted sessions, thoughts and plans: the official client of the Agent Client Protocol against
// `avocet acp`. `tests/e2e/acp.rs` runs it.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";

import { acp, withHome } from "./editor.mjs";

const { session } = acp.methods.agent;

test("a session has the title of the list, live and after it is loaded", () =>
  withHome("", async (home) => {
    await home.daemon();
    const editor = await home.editor();
    const id = await editor.newSession();
    await editor.prompt(id, "count to 2");
    const title = () => editor.of("session_info_update", id).at(-1)?.title;
    await editor.until(() => title() === "count to 2");
    await editor.prompt(id, "count to 3");
    const [info] = editor.of("session_info_update", id);
    assert.ok(!Number.isNaN(Date.parse(info.updatedAt)), info.updatedAt);
    const { sessions } = await editor.agent.request(session.list, {});
    assert.equal(sessions[0].title, "count to 2");
    await editor.close();
    for (const method of [session.load, session.resume]) {
      const other = await home.editor();
      const open = { sessionId: id, cwd: home.workspace, mcpServers: [] };
      await other.agent.request(method, open);
      await other.until(() => other.of("session_info_update", id)[0]?.title === "count to 2");
      await other.close();
    }
  }));

test("a deleted session is gone, also if it was open or unknown", () =>
  withHome("", async (home) => {
    await home.daemon();
    const editor = await home.editor();
    assert.deepEqual(editor.initialized.agentCapabilities.sessionCapabilities.delete, {});
    const remove = (sessionId) => editor.agent.request(session.delete, { sessionId });
    const list = async () => (await editor.agent.request(session.list, {})).sessions;
    const id = await editor.newSession();
    await editor.prompt(id, "count to 2");
    await remove(id);
    assert.deepEqual(await list(), []);
    await assert.rejects(editor.prompt(id, "count to 2"), /there is no session/);
    // Once more, one without a message, and ids that name nothing of an editor.
    await remove(id);
    await remove(await editor.newSession());
    await remove("terminal:local:me");
    await remove("../x");
    const busy = await editor.newSession();
    const answer = editor.prompt(busy, "count to 1000");
    await editor.until(() => editor.text(busy).includes("2"));
    await remove(busy);
    assert.equal((await answer).stopReason, "cancelled");
    assert.deepEqual(await list(), []);
  }));

test("a session that works for another editor is not deleted", () =>
  withHome("", async (home) => {
    await home.daemon();
    const [editor, other] = [await home.editor(), await home.editor()];
    const id = await editor.newSession();
    const answer = editor.prompt(id, "count to 1000");
    await editor.until(() => editor.text(id).includes("2"));
    const deleted = other.agent.request(session.delete, { sessionId: id });
    await assert.rejects(deleted, /cannot delete the session: .* has an open turn/);
    await editor.cancel(id);
    assert.equal((await answer).stopReason, "cancelled");
  }));

/** A model behind an API like OpenAI's, whose answers have these pieces. */
async function withModel(pieces, run) {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const delta of pieces) {
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`);
    }
    const last = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
    response.end(`data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}/v1`;
  const config =
    `[models."fake/*"]\ncontext = 65536\n[providers.fake]\nkind = "openai"\nbase_url = "${url}"\n` +
    '[agents.defaults]\nmodel = "fake/fake"\n';
  try {
    await withHome(config, run);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("the thoughts of a model are shown apart from its answer, and only live", () => {
  const pieces = [
    { role: "assistant", reasoning_content: "Let me " },
    { reasoning_content: "see." },
    { content: "<think>And more.</think>It is " },
    { content: "four." },
  ];
  return withModel(pieces, async (home) => {
    await home.daemon();
    const editor = await home.editor();
    const id = await editor.newSession();
    await editor.prompt(id, "2 + 2?");
    assert.equal(editor.text(id, "agent_thought_chunk"), "Let me see.And more.");
    assert.equal(editor.text(id), "It is four.");
    await editor.close();
    const other = await home.editor();
    await other.agent.request(session.load, { sessionId: id, cwd: home.workspace, mcpServers: [] });
    assert.equal(other.text(id), "It is four.");
    assert.equal(other.text(id, "agent_thought_chunk"), "");
  });
});

test("a plan is shown in its own place, live and after the session is loaded", () =>
  withHome("", async (home) => {
    await home.daemon();
    const editor = await home.editor();
    const id = await editor.newSession();
    const plan = (...states) => ({
      entries: states.map((status, index) => ({ content: `step ${index + 1}`, status })),
    });
    const shown = (editor) =>
      editor.of("plan", id).map(({ entries }) => entries.map(({ status }) => status));
    await editor.prompt(id, `update_plan ${JSON.stringify(plan("in_progress", "pending"))}`);
    await editor.prompt(id, `update_plan ${JSON.stringify(plan("completed", "in_progress"))}`);
    const expected = [
      ["in_progress", "pending"],
      ["completed", "in_progress"],
    ];
    assert.deepEqual(shown(editor), expected);
    const [{ entries }] = editor.of("plan", id);
    assert.deepEqual(entries[0], { content: "step 1", priority: "medium", status: "in_progress" });
    assert.deepEqual(editor.calls(id), []);
    await editor.close();
    const other = await home.editor();
    await other.agent.request(session.load, { sessionId: id, cwd: home.workspace, mcpServers: [] });
    assert.deepEqual(shown(other), expected);
    assert.deepEqual(other.calls(id), []);
  }));
