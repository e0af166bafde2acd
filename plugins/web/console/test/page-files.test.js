// Files that people attach, and files that the agent sends.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { answered, assertNoProblems, say, scenarios } from "../testing/console.js";

const scenario = scenarios();

scenario("an attached file is uploaded and sent with the message", async (t, tested, options) => {
  const requests = [];
  tested.model.on("read the notes", (answer) => {
    requests.push(JSON.stringify(answer.messages));
    answer.text("Read.");
  });
  const page = await tested.open(t, options);
  const buffer = Buffer.from("the meeting is at noon\n");
  await page.getByLabel("Files", { exact: true }).setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer });
  await page.getByRole("list", { name: "Files of the message" }).getByText("notes.txt").waitFor();
  await say(page, "read the notes");
  await answered(page, "Read.");
  const file = page.locator(".person .file");
  await file.getByText("notes.txt").waitFor();
  await file.getByText("23 B").waitFor();
  assert.match(requests[0], /notes\.txt/);
  assertNoProblems(page);
});

scenario("a file can be removed before the message is sent", async (t, tested, options) => {
  const page = await tested.open(t, options);
  const buffer = Buffer.from("x");
  await page.getByLabel("Files", { exact: true }).setInputFiles([
    { name: "one.txt", mimeType: "text/plain", buffer },
    { name: "two.txt", mimeType: "text/plain", buffer },
  ]);
  await page.getByRole("button", { name: "Remove one.txt" }).click();
  await say(page, "only one");
  await answered(page, "Done.");
  assert.deepEqual(await page.locator(".person .file span:first-of-type").allTextContents(), ["two.txt"]);
  assertNoProblems(page);
});

scenario("a file that the agent sends is downloaded", async (t, tested, options) => {
  mkdirSync(tested.home.workspace, { recursive: true });
  writeFileSync(join(tested.home.workspace, "report 1.csv"), "a,b\n1,2\n");
  tested.model.on("send the report", (answer) => answer.call("message", { text: "The report:", files: ["report 1.csv"] }), "Sent.");
  const page = await tested.open(t, options);
  await say(page, "send the report");
  await answered(page, "Sent.");
  const downloading = page.waitForEvent("download");
  await page.getByRole("list", { name: "Files" }).getByText("report 1.csv").click();
  const download = await downloading;
  assert.equal(download.suggestedFilename(), "report 1.csv");
  assert.equal(readFileSync(await download.path(), "utf8"), "a,b\n1,2\n");
  assertNoProblems(page);
});
