// Unsaved files of the editor: the official client against `avocet acp`.
import assert from "node:assert/strict";
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { withHome } from "./editor.mjs";

const capabilities = { fs: { readTextFile: true, writeTextFile: true } };
const edit = (path) => `edit_file ${JSON.stringify({ path, find: "two", replace: "zwei" })}`;

/** An editor with open files: texts by absolute paths. */
class Buffers {
  constructor(unsaved = {}) {
    this.unsaved = new Map(Object.entries(unsaved));
    this.asked = [];
    this.capabilities = capabilities;
    this.read = this.read.bind(this);
    this.write = this.write.bind(this);
  }

  read({ path }) {
    this.asked.push(["read", path]);
    return { content: this.unsaved.get(path) ?? readFileSync(path, "utf8") };
  }

  write({ path, content }) {
    this.asked.push(["write", path]);
    this.unsaved.delete(path);
    writeFileSync(path, content);
  }
}

/** Runs a test with a file of the workspace that has an unsaved line in the editor. */
const withUnsaved = (run) =>
  withHome("", async (home) => {
    const path = join(home.workspace, "a.txt");
    writeFileSync(path, "one\ntwo\n");
    await home.daemon();
    await run(home, path, new Buffers({ [path]: "one\ntwo\nunsaved\n" }));
  });

test("an unsaved change is read, edited and saved by the editor", () =>
  withUnsaved(async (home, path, buffers) => {
    const editor = await home.editor(buffers);
    const id = await editor.newSession();
    await editor.prompt(id, "read_file a.txt");
    assert.match(editor.calls(id)[0].content[0].content.text, /unsaved/);
    await editor.prompt(id, edit("a.txt"));
    assert.equal(editor.calls(id)[1].status, "completed");
    assert.equal(readFileSync(path, "utf8"), "one\nzwei\nunsaved\n");
    assert.deepEqual(buffers.asked.at(-1), ["write", path]);
    await editor.prompt(id, 'write_file {"path": "a.txt", "content": "all new\\n"}');
    assert.deepEqual(buffers.asked.at(-1), ["write", path]);
    assert.equal(readFileSync(path, "utf8"), "all new\n");
    assert.equal(await editor.close(), 0);
  }));

test("an editor that cannot write leaves its unsaved text, and the file has all changes", () =>
  withUnsaved(async (home, path, buffers) => {
    buffers.capabilities = { fs: { readTextFile: true, writeTextFile: false } };
    const editor = await home.editor(buffers);
    const id = await editor.newSession();
    await editor.prompt(id, edit("a.txt"));
    assert.equal(readFileSync(path, "utf8"), "one\nzwei\nunsaved\n");
    assert.ok(buffers.unsaved.has(path));
  }));

test("an editor without files is not asked", () =>
  withUnsaved(async (home, path, buffers) => {
    buffers.capabilities = {};
    const editor = await home.editor(buffers);
    const id = await editor.newSession();
    await editor.prompt(id, edit("a.txt"));
    assert.equal(readFileSync(path, "utf8"), "one\nzwei\n");
    assert.deepEqual(buffers.asked, []);
  }));

test("an editor that refuses to read or to write falls back to the disk", () =>
  withUnsaved(async (home, path, buffers) => {
    const refuse = () => {
      throw new Error("not in the project");
    };
    buffers.write = refuse;
    const editor = await home.editor(buffers);
    const id = await editor.newSession();
    await editor.prompt(id, edit("a.txt"));
    assert.equal(readFileSync(path, "utf8"), "one\nzwei\nunsaved\n");
    await editor.close();

    writeFileSync(path, "one\ntwo\n");
    const second = await home.editor(Object.assign(new Buffers(), { read: refuse }));
    const other = await second.newSession();
    await second.prompt(other, edit("a.txt"));
    assert.equal(readFileSync(path, "utf8"), "one\nzwei\n");
  }));

test("an editor that answers late is not waited for, and its unsaved text stays", () =>
  withUnsaved(async (home, path, buffers) => {
    let answer;
    buffers.read = () => new Promise((resolve) => (answer = resolve));
    const editor = await home.editor(buffers);
    const id = await editor.newSession();
    await editor.prompt(id, edit("a.txt"));
    assert.equal(readFileSync(path, "utf8"), "one\nzwei\n", "the file on the disk was edited");
    assert.ok(!buffers.asked.some(([kind]) => kind === "write"), "the editor keeps its text");
    answer({ content: "late" });
    assert.equal((await editor.prompt(id, "count to 2")).stopReason, "end_turn");
  }));

test("an editor that dies during a request ends neither the call nor the daemon", () =>
  withUnsaved(async (home, path, buffers) => {
    buffers.write = (_, editor) => {
      editor.child.kill("SIGKILL");
      return new Promise(() => {});
    };
    const editor = await home.editor(buffers);
    const id = await editor.newSession();
    editor.prompt(id, edit("a.txt")).catch(() => {});
    await editor.child.ended;

    const second = await home.editor();
    const load = { sessionId: id, cwd: home.workspace, mcpServers: [] };
    await second.agent.request("session/load", load);
    await second.until(() => second.calls(id)[0]?.status === "completed");
    assert.equal(readFileSync(path, "utf8"), "one\nzwei\nunsaved\n");
  }));

test("paths outside of the workspace are refused before the editor is asked", () =>
  withUnsaved(async (home, path, buffers) => {
    const outside = join(home.path, "outside.txt");
    writeFileSync(outside, "one\ntwo\n");
    symlinkSync(outside, join(home.workspace, "link.txt"));
    const editor = await home.editor(buffers);
    const id = await editor.newSession();
    for (const name of [outside, "../../../../outside.txt", "link.txt"]) {
      await editor.prompt(id, `read_file ${JSON.stringify({ path: name })}`);
      await editor.prompt(id, edit(name));
    }
    assert.deepEqual(
      editor.calls(id).map(({ status }) => status),
      Array(6).fill("failed"),
    );
    assert.deepEqual(buffers.asked, []);
    assert.equal(readFileSync(outside, "utf8"), "one\ntwo\n");
    assert.ok(existsSync(path));
  }));
