// The real daemon in a temporary home, and helpers of the tests.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
export const ME = "terminal:local:me";
const PROGRAM = process.env.AVOCET ?? join(ROOT, "target/debug/avocet");
// The time after which a wait fails its test.
const PATIENCE_MILLISECONDS = 60_000;

/** A home directory, and the daemon in it. Both end with the test. */
export class Home {
  #daemon;
  /** The lines of the log. */
  log = [];

  constructor(t, config = "") {
    this.path = mkdtempSync(join(tmpdir(), "avocet-"));
    this.socket = join(this.path, ".local/state/avocet/run/avocet.sock");
    this.configure(config);
    t.after(async () => {
      if (this.#daemon) {
        await this.kill();
      }
      rmSync(this.path, { recursive: true });
    });
  }

  /** Writes the configuration for the next start. */
  configure(config) {
    const folder = join(this.path, ".config/avocet");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "config.toml"), config);
  }

  /** Starts the daemon and waits until it is ready. */
  async start() {
    if (!existsSync(PROGRAM)) {
      throw new Error(`${PROGRAM} does not exist; set AVOCET to the built program`);
    }
    const environment = { HOME: this.path, TZ: "UTC" };
    const stdio = ["ignore", "ignore", "pipe"];
    this.#daemon = spawn(PROGRAM, ["run"], { env: environment, cwd: this.path, stdio });
    const ready = new Promise((resolve, reject) => {
      this.#daemon.once("exit", () => reject(new Error(`it has ended:\n${this.log.join("\n")}`)));
      createInterface(this.#daemon.stderr).on("line", (line) => {
        this.log.push(line);
        if (line.includes(" ready ")) {
          resolve();
        }
      });
    });
    await soon(ready);
  }

  /** Ends the daemon with SIGKILL. */
  async kill() {
    await this.#end("SIGKILL");
  }

  /** Ends the daemon in order. */
  async stop() {
    await this.#end("SIGTERM");
  }

  async #end(signal) {
    const daemon = this.#daemon;
    this.#daemon = undefined;
    const ended = once(daemon, "close");
    daemon.kill(signal);
    await ended;
  }

  /** Kills the daemon and starts another one. */
  async restart() {
    await this.kill();
    await this.start();
  }
}

/** Waits for some work, with a timeout. */
export async function soon(work) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("it does not come")), PATIENCE_MILLISECONDS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Looks again until there is a value. */
export async function until(look) {
  const end = Date.now() + PATIENCE_MILLISECONDS;
  for (;;) {
    const found = await look();
    if (found) {
      return found;
    }
    if (Date.now() > end) {
      throw new Error("it does not come");
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Returns the next item of an iterator. */
export async function following(iterator) {
  const { done, value } = await soon(iterator.next());
  if (done) {
    throw new Error("the iteration has ended");
  }
  return value;
}

/**
 * Opens a socket in front of the daemon's. `isCut` sees each line and may cut the connection.
 * `connections()` returns the number of connections so far.
 */
export async function proxy(t, home, isCut) {
  const path = join(home.path, "proxy.sock");
  let connections = 0;
  const server = createServer((client) => {
    connections += 1;
    const daemon = connect({ path: home.socket });
    for (const [from, to] of [[client, daemon], [daemon, client]]) {
      const lines = createInterface(from);
      lines.on("line", (line) => {
        if (isCut(JSON.parse(line))) {
          client.destroy();
          daemon.destroy();
        } else if (!to.destroyed) {
          to.write(`${line}\n`);
        }
      });
      lines.on("error", () => undefined);
      from.on("error", () => undefined);
      from.on("close", () => to.destroySoon());
    }
  });
  server.listen(path);
  await once(server, "listening");
  t.after(() => server.close());
  return { path, connections: () => connections };
}
