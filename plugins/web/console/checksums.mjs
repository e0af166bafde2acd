// Binds dist/ to its sources. The build writes dist/checksums.json; a test compares it with the files.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL("./", import.meta.url));
export const RECORD = "dist/checksums.json";
const STEERING = ["build.mjs", "checksums.mjs", "package-lock.json", "tsconfig.json"];

function filesBelow(folder) {
  return readdirSync(`${HERE}${folder}`, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

/** Returns the SHA-256 of each source, of each built file, and of the files that steer the build. */
export function checksums() {
  const sums = [...filesBelow("src"), ...filesBelow("dist"), ...STEERING]
    .filter((file) => file !== RECORD)
    .sort()
    .map((file) => [file, createHash("sha256").update(readFileSync(`${HERE}${file}`)).digest("hex")]);
  return Object.fromEntries(sums);
}

/** Writes the record after a build. */
export function writeChecksums() {
  writeFileSync(`${HERE}${RECORD}`, `${JSON.stringify(checksums(), null, 2)}\n`);
}
