// The real daemon in a temporary home.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const PROGRAM = process.env.AVOCET ?? join(ROOT, "target/debug/avocet");
// The port of the console in this process. After a kill the next daemon opens it again, so that neither a
// daemon of another process may take it (8470, the default) nor a connection of any program (32768 and above).
const PORT = 10_000 + (process.pid % 20_000);
// The time after which a wait fails its test.
export const PATIENCE_MILLISECONDS = 60_000;

/** A home directory, and the daemon in it. Both end with the test. */
export class Home {
  #daemon;
  #log = [];

  constructor(t, config = "") {
    this.path = mkdtempSync(join(tmpdir(), "avocet-"));
    this.workspace = join(this.path, ".local/state/avocet/workspace");
    this.config = join(this.path, ".config/avocet/config.toml");
    mkdirSync(join(this.path, ".config/avocet"), { recursive: true });
    writeFileSync(this.config, config);
    t.after(async () => {
      if (this.#daemon) {
        await this.kill();
      }
      rmSync(this.path, { recursive: true });
    });
  }

  /** Starts the daemon and waits until it is ready. */
  async start() {
    if (!existsSync(PROGRAM)) {
      throw new Error(`${PROGRAM} does not exist; set AVOCET to the built program`);
    }
    const stdio = ["ignore", "ignore", "pipe"];
    this.#daemon = spawn(PROGRAM, ["run"], { env: this.#environment, cwd: this.path, stdio });
    const ready = new Promise((resolve, reject) => {
      this.#daemon.once("exit", () => reject(new Error(`the daemon has ended:\n${this.#log.join("\n")}`)));
      createInterface(this.#daemon.stderr).on("line", (line) => {
        this.#log.push(line);
        if (line.includes(" ready ")) {
          resolve();
        }
      });
    });
    await ready;
  }

  /** Ends the daemon with SIGKILL. */
  async kill() {
    const daemon = this.#daemon;
    this.#daemon = undefined;
    const ended = once(daemon, "close");
    daemon.kill("SIGKILL");
    await ended;
  }

  /** Runs the program with these arguments. Returns its output. */
  async run(...given) {
    const options = { env: this.#environment, cwd: this.path, maxBuffer: 1 << 26 };
    return (await promisify(execFile)(PROGRAM, given, options)).stdout;
  }

  /** Returns a link that opens the console once. */
  async link() {
    return JSON.parse(await this.run("web", "--print", "--json", "--port", String(PORT))).url;
  }

  get #environment() {
    return { HOME: this.path, TZ: "UTC" };
  }
}
