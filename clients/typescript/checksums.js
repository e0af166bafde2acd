// Binds dist/ to its sources. `node checksums.js` writes dist/checksums.json after a build;
// test/built.test.js compares it with the files.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const HERE = new URL("./", import.meta.url);
export const RECORD = "dist/checksums.json";

/** Returns the SHA-256 of each source, of each built file, and of the files that steer the build. */
export function checksums() {
  const below = (folder) => readdirSync(new URL(folder, HERE)).map((name) => `${folder}${name}`);
  const files = [...below("src/"), ...below("dist/"), "node.d.ts", "package-lock.json", "tsconfig.json"];
  const sums = files
    .filter((file) => file !== RECORD)
    .sort()
    .map((file) => [file, createHash("sha256").update(readFileSync(new URL(file, HERE))).digest("hex")]);
  return Object.fromEntries(sums);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL(RECORD, HERE), `${JSON.stringify(checksums(), null, 2)}\n`);
}
