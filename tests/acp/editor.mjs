// An editor for tests: the official client of the Agent Client Protocol, and `avocet acp` as its agent.
import { spawn } from "node:child_process";
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";

const { ACP_MODULES: modules, AVOCET: program } = process.env;
const sdk = join(modules, "@agentclientprotocol/sdk/dist/v1/stable/acp.js");
export const acp = await import(sdk);

/** A home directory with a configuration, and the processes in it. */
export class Home {
  constructor(config = "") {
    this.path = mkdtempSync(join(tmpdir(), "avocet-acp-"));
    this.children = [];
    this.hasSandbox = true;
    this.workspace = join(this.path, ".local/state/avocet/workspace");
    mkdirSync(this.workspace, { recursive: true });
    mkdirSync(join(this.path, ".config/avocet"), { recursive: true });
    this.configure(config);
  }

  /** Writes the configuration. */
  configure(config) {
    writeFileSync(join(this.path, ".config/avocet/config.toml"), config);
  }

  spawn(args, stdio) {
    const options = { env: { HOME: this.path, TZ: "UTC" }, cwd: this.path, stdio };
    const child = spawn(program, args, options);
    child.ended = new Promise((resolve) => child.once("exit", resolve));
    this.children.push(child);
    return child;
  }

  /** Starts the daemon and waits until it is ready. */
  async daemon() {
    const child = this.spawn(["run"], ["ignore", "ignore", "pipe"]);
    const lines = createInterface({ input: child.stderr });
    const ready = new Promise((resolve, reject) => {
      lines.on("line", (line) => {
        if (line.includes("exec_shell is off")) this.hasSandbox = false;
        if (line.includes(" ready ")) resolve();
      });
      child.once("exit", (code) => reject(new Error(`the daemon ended with ${code}`)));
    });
    await ready;
    return child;
  }

  /** Connects an editor. `answers` are its answers to requests of the agent. */
  async editor(answers = {}) {
    const editor = new Editor(this, answers);
    editor.initialized = await editor.agent.request(acp.methods.agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: {
        ...(answers.form ? { elicitation: { form: {} } } : {}),
        ...answers.capabilities,
      },
    });
    return editor;
  }

  async remove() {
    for (const child of this.children) {
      child.kill("SIGKILL");
      await child.ended;
    }
    rmSync(this.path, { recursive: true, force: true });
  }
}

class Editor {
  constructor(home, answers) {
    this.home = home;
    this.updates = [];
    this.permissions = [];
    this.watchers = [];
    this.child = home.spawn(["acp"], ["pipe", "pipe", "pipe"]);
    this.log = "";
    this.child.stderr.on("data", (data) => (this.log += data));
    const stream = acp.ndJsonStream(
      Writable.toWeb(this.child.stdin),
      Readable.toWeb(this.child.stdout),
    );
    const { client } = acp.methods;
    this.connection = acp
      .client({ name: "test-editor" })
      .onRequest(client.session.requestPermission, async ({ params }) => {
        this.permissions.push(params);
        this.notify();
        return { outcome: await answers.permission(params, this) };
      })
      .onRequest(client.elicitation.create, ({ params }) => answers.form(params))
      .onRequest(client.fs.readTextFile, ({ params }) => answers.read(params, this))
      .onRequest(client.fs.writeTextFile, ({ params }) => answers.write(params, this))
      .onNotification(client.session.update, () => {})
      .connect({ writable: stream.writable, readable: stream.readable.pipeThrough(this.recorder()) });
    this.agent = this.connection.agent;
  }

  /** Records the updates in the order of the lines. The client calls its handlers later. */
  recorder() {
    const transform = (message, controller) => {
      controller.enqueue(message);
      if (message.method !== acp.methods.client.session.update) return;
      this.updates.push(message.params);
      this.notify();
    };
    return new TransformStream({ transform });
  }

  notify() {
    this.watchers = this.watchers.filter((watch) => !watch());
  }

  /** Waits until the updates fulfil a condition. */
  until(condition) {
    return new Promise((resolve) => {
      const watch = () => {
        const found = condition(this);
        if (found) resolve(found);
        return Boolean(found);
      };
      if (!watch()) this.watchers.push(watch);
    });
  }

  async newSession(cwd = this.home.workspace) {
    const session = await this.agent.request(acp.methods.agent.session.new, {
      cwd,
      mcpServers: [],
    });
    return session.sessionId;
  }

  prompt(sessionId, text) {
    const prompt = typeof text === "string" ? [{ type: "text", text }] : text;
    return this.agent.request(acp.methods.agent.session.prompt, { sessionId, prompt });
  }

  cancel(sessionId) {
    return this.agent.notify(acp.methods.agent.session.cancel, { sessionId });
  }

  /** The updates of one kind in a session. */
  of(kind, sessionId) {
    const all = this.updates.filter((one) => !sessionId || one.sessionId === sessionId);
    return all.map(({ update }) => update).filter((update) => update.sessionUpdate === kind);
  }

  /** The text of the agent in a session. */
  text(sessionId, kind = "agent_message_chunk") {
    return this.of(kind, sessionId)
      .map(({ content }) => content.text)
      .join("");
  }

  /** The last state of each tool call. */
  calls(sessionId) {
    const calls = new Map();
    for (const { update } of this.updates.filter((one) => one.sessionId === sessionId)) {
      if (update.sessionUpdate === "tool_call") calls.set(update.toolCallId, { ...update });
      if (update.sessionUpdate === "tool_call_update") {
        Object.assign(calls.get(update.toolCallId), update);
      }
    }
    return [...calls.values()];
  }

  /** Ends the agent as an editor does: it closes the input. */
  async close() {
    this.child.stdin.end();
    return this.child.ended;
  }
}

/** Runs a test in a home. */
export async function withHome(config, run) {
  const home = new Home(config);
  try {
    await run(home);
  } finally {
    await home.remove();
  }
}

/** Chooses the option of this kind. */
export const choose = (kind) => ({ options }) => {
  const option = options.find((one) => one.kind === kind);
  return { outcome: "selected", optionId: option.optionId };
};
