// The MCP servers of the editor: started for one session, and stopped with it. `tests/e2e/acp.rs` runs it.
import assert from "node:assert/strict";
import { copyFileSync, existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { acp, choose, withHome } from "./editor.mjs";

const { session } = acp.methods.agent;
const SECRET = "tok-9f3b1c77aa";

/** A server that notes its starts in a file of the workspace. */
function small(home, name, { env = [], tools = ["greet"] } = {}) {
  const script = join(home.workspace, "mcp_server.mjs");
  if (!existsSync(script)) copyFileSync(new URL("mcp_server.mjs", import.meta.url), script);
  const log = join(home.workspace, `${name}.log`);
  return { server: { name, command: "node", args: [script, log, ...tools], env }, log };
}

const starts = (log) => (existsSync(log) ? readFileSync(log, "utf8").split("\n").length - 1 : 0);

/** The processes that run the server with this log. */
function processes(log) {
  const read = (id) => {
    try {
      return readFileSync(`/proc/${id}/cmdline`, "utf8");
    } catch {
      return "";
    }
  };
  return readdirSync("/proc").filter((id) => /^\d+$/.test(id) && read(id).includes(log));
}

/** Waits until a condition holds. */
async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Leaves a test out, as `skip_without` does in the tests in Rust (crates/testkit/src/skips.rs). */
function skipWithout(part, t) {
  const listed = process.env.AVOCET_MAY_SKIP;
  if (listed !== undefined && !listed.split(",").includes(part)) {
    throw new Error(`this test needs ${part}, and AVOCET_MAY_SKIP does not allow to leave it out`);
  }
  t.skip(`this system lacks ${part}`);
}

/** Runs a test in a home whose daemon has a sandbox for programs. */
const withSandbox = (run) => (t) =>
  withHome("", async (home) => {
    const daemon = await home.daemon();
    if (!home.hasSandbox) return skipWithout("program-sandbox", t);
    return run(home, daemon);
  });

async function open(editor, home, mcpServers) {
  const opened = await editor.agent.request(session.new, { cwd: home.workspace, mcpServers });
  return opened.sessionId;
}

/** All bytes of the files below a directory. */
function bytes(directory) {
  const files = readdirSync(directory, { recursive: true }).map((name) => join(directory, name));
  return Buffer.concat(files.filter((file) => statSync(file).isFile()).map((file) => readFileSync(file)));
}

test("servers of the editor are used in their session only, after an approval",
  withSandbox(async (home) => {
    const editor = await home.editor({ permission: choose("allow_once") });
    const { http, sse } = editor.initialized.agentCapabilities.mcpCapabilities;
    assert.deepEqual([http, Boolean(sse)], [true, false]);
    const { server, log } = small(home, "Small Server", {
      env: [{ name: "SMALL_TOKEN", value: SECRET }],
    });
    const id = await open(editor, home, [server]);
    assert.equal((await editor.prompt(id, "editor-small-server__greet {}")).stopReason, "end_turn");
    const [call] = editor.calls(id);
    assert.equal(call.status, "completed", JSON.stringify(call));
    assert.equal(editor.permissions.length, 1, "a new tool asks");
    const shown = JSON.stringify(call);
    assert.ok(shown.includes(`greet ran in ${home.workspace} with file://${home.workspace}`), shown);
    assert.ok(!shown.includes(SECRET) && shown.includes("[secret]"), shown);
    assert.equal(starts(log), 1);
    assert.doesNotMatch(editor.text(id), /I cannot use|I do not use/);

    const other = await open(editor, home, []);
    await editor.prompt(other, "editor-small-server__greet {}");
    assert.ok(!editor.calls(other).some(({ status }) => status === "completed"));
    assert.equal(await editor.close(), 0);
    assert.ok(!bytes(join(home.path, ".local/state/avocet")).includes(SECRET));
    assert.ok(!editor.log.includes(SECRET));
  }));

test("a server that does not start is named once, and the others work",
  withSandbox(async (home, daemon) => {
    const editor = await home.editor({ permission: choose("allow_once") });
    const { server } = small(home, "good");
    const id = await open(editor, home, [
      { name: "bad", command: "no-such-program", args: [], env: [] },
      server,
      { type: "sse", name: "old", url: "https://old.example.org", headers: [] },
    ]);
    await editor.prompt(id, "editor-good__greet {}");
    assert.match(editor.text(id), /^I cannot use the MCP server `bad` of the editor: .*no-such-program/);
    assert.match(editor.text(id), /`old` of the editor: it has the old transport SSE/);
    assert.equal(editor.calls(id)[0].status, "completed");
    daemon.kill("SIGKILL");
    await daemon.ended;
    await home.daemon();
    await editor.prompt(id, "editor-good__greet {}");
    assert.equal(editor.text(id).match(/`bad` of the editor/g).length, 1);
    assert.equal(await editor.close(), 0);
  }));

test("servers stop with their session and with the editor, and start with a loaded session",
  withSandbox(async (home) => {
    const editor = await home.editor({ permission: choose("allow_once") });
    const { server, log } = small(home, "small");
    const id = await open(editor, home, [server]);
    await editor.prompt(id, "count to 1");
    assert.equal(starts(log), 1);
    await editor.agent.request(session.close, { sessionId: id });
    await until(() => processes(log).length === 0);
    const load = { sessionId: id, cwd: home.workspace, mcpServers: [server] };
    await editor.agent.request(session.load, load);
    await editor.prompt(id, "editor-small__greet {}");
    assert.equal(editor.calls(id).at(-1).status, "completed");
    assert.equal(starts(log), 2);
    assert.equal(await editor.close(), 0);
    await until(() => processes(log).length === 0);
  }));

test("a killed daemon gets the servers again",
  withSandbox(async (home, daemon) => {
    const editor = await home.editor({ permission: choose("allow_once") });
    const { server, log } = small(home, "small");
    const id = await open(editor, home, [server]);
    await editor.prompt(id, "count to 1");
    daemon.kill("SIGKILL");
    await daemon.ended;
    await home.daemon();
    await editor.prompt(id, "editor-small__greet {}");
    assert.equal(editor.calls(id).at(-1).status, "completed");
    assert.equal(starts(log), 2);
    assert.equal(await editor.close(), 0);
  }));

test("a server of the configuration is not started twice",
  withSandbox(async (home, daemon) => {
    const { server, log } = small(home, "small");
    daemon.kill("SIGTERM");
    await daemon.ended;
    home.configure(
      `[tools.mcp_servers.mine]\ncommand = "node"\nargs = ${JSON.stringify(server.args)}\n` +
        `write = ["${home.workspace}"]\nlazy = false\n`,
    );
    await home.daemon();
    await until(() => starts(log) === 1);
    const editor = await home.editor({ permission: choose("allow_once") });
    const id = await open(editor, home, [server]);
    await editor.prompt(id, "mine__greet {}");
    assert.equal(editor.calls(id).at(-1).status, "completed");
    assert.equal(starts(log), 1);
    assert.equal(await editor.close(), 0);
  }));
