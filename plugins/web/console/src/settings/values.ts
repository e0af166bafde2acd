/** Values of fields: as they are shown, and as they are sent. */

import type { ConfigRemark } from "../types.js";
import type { EditValue, FormField, FormTable } from "./types.js";

/** Keys that most people set. The others are behind "More settings". */
const COMMON = new Set([
  "model", "cheap_model", "fallbacks", "base_url", "api_key", "token", "allow", "owners", "policy", "users",
  "approval_minutes", "turn_usd", "day_usd", "max_running", "queue_mode", "command", "args", "env", "url", "headers", "listen", "provider",
  "chat", "every", "cron", "task", "text",
]);

/** A table with so few keys shows all of them. */
const FEW = 6;

/** The edits that were not yet made in the text, by their keys. */
export type Edits = ReadonlyMap<string, EditValue>;

/** Returns `true` if a field is shown without asking. */
export function isCommon(field: FormField): boolean {
  return isSet(field) || COMMON.has(field.name);
}

/** Returns the fields that a table shows without asking: all of them if they are few, or if none is common. */
export function commonFields(fields: readonly FormField[]): readonly FormField[] {
  const common = fields.filter(isCommon);
  return common.length === 0 || fields.length <= FEW ? fields : common;
}

/** Returns `true` if the text has a value for a field. */
export function isSet(field: FormField): boolean {
  const isEmpty = (field.input === "rules" || field.input === "pairs") && Object.keys(field.value ?? {}).length === 0;
  return field.is_hidden || (field.value !== null && !isEmpty);
}

/** Returns `true` if a field has a change that is not in the text yet. */
export function isEdited(field: FormField, edits: Edits): boolean {
  return [...edits.keys()].some((key) => key === field.key || key.startsWith(`${field.key}.`));
}

/** Returns `true` if the text has something of a table, or if it has a change or a fault. */
export function isInUse(table: FormTable, edits: Edits, faults: readonly ConfigRemark[]): boolean {
  return table.can_remove || table.fields.some((field) => isSet(field) || isEdited(field, edits) || faultOf(field, faults) !== null);
}

/** Returns the tables with all words of a search in their keys, or with the fields that have them. */
export function findTables(tables: readonly FormTable[], query: string): FormTable[] {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const has = (text: string) => words.every((word) => text.toLowerCase().includes(word));
  return tables.flatMap((table) => {
    if (has(table.key)) {
      return [table];
    }
    const fields = table.fields.filter(({ name, help }) => has(`${table.key} ${name} ${name.replaceAll("_", " ")} ${help}`));
    return fields.length > 0 || (table.can_add && has(`${table.key} ${table.about}`)) ? [{ ...table, fields }] : [];
  });
}

/** Returns the value of a text input: that of an edit, or that of the text. */
export function textOf(field: FormField, edits: Edits): string {
  const value = edits.has(field.key) ? edits.get(field.key) : field.value;
  if (Array.isArray(value)) {
    return value.join("\n");
  }
  return value === null || value === undefined ? "" : String(value);
}

/** Returns the value to send for the text of an input. An empty text is the default. */
export function valueOf(field: FormField, text: string): EditValue {
  if (text.trim() === "") {
    return null;
  }
  switch (field.input) {
    case "list":
      return text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
    case "switch":
      return text === "true";
    case "lines":
      return text;
    default:
      return text.trim();
  }
}

/** Returns `true` if a value is the one that the text has already. */
export function isUnchanged(field: FormField, value: EditValue): boolean {
  if (field.is_hidden) {
    return false;
  }
  const now = field.value;
  const words = (one: unknown) => (Array.isArray(one) ? one.map(String) : one === null || typeof one === "boolean" ? one : String(one));
  return JSON.stringify(words(now)) === JSON.stringify(words(value));
}

/** Returns the fault of a field, from the faults of the checked text. */
export function faultOf(field: FormField, faults: readonly ConfigRemark[]): string | null {
  const fault = faults.find(({ key }) => key !== null && isBelow(key, field.path));
  return fault?.message ?? null;
}

/** Returns the faults that stand at no field. */
export function faultsWithoutField(tables: readonly FormTable[], faults: readonly ConfigRemark[]): ConfigRemark[] {
  const fields = tables.flatMap((table) => table.fields);
  return faults.filter(({ key }) =>
    key === null || !(fields.some(({ path }) => isBelow(key, path)) || tables.some(({ path }) => path === key)));
}

function isBelow(key: string, path: string): boolean {
  return key === path || key.startsWith(`${path}.`) || key.startsWith(`${path}[`);
}

/** Returns a name as TOML writes it in a key. */
export function quoteName(name: string): string {
  return /^[A-Za-z0-9_-]+$/.test(name) ? name : JSON.stringify(name);
}

/** Returns the last name of a key, without its quotation marks. */
export function nameOf(key: string): string {
  const last = /(?:"(?:[^"\\]|\\.)*"|[^."]+)$/.exec(key)?.[0] ?? key;
  return last.startsWith('"') ? (JSON.parse(last) as string) : last;
}

/** Returns the label of a field: that of `max_tool_iterations` is "Max tool iterations". */
export function labelOf({ name, key }: FormField): string {
  return name === "" ? nameOf(key) : inWords(name);
}

/** Returns the title of a group. The keys outside of all tables have none in the text. */
export function groupTitle(name: string): string {
  return name === "" ? "General" : inWords(name);
}

export function titleOf({ key }: FormTable): string {
  return key === "" ? "General" : key;
}

/** Returns the title of an addition: below `tools.mcp_servers` it is "Add an mcp server to tools". */
export function additionTitle(parent: string): string {
  const [, above, last = parent] = /^(?:(.*)\.)?([^.]+)$/.exec(parent) ?? [];
  if (!last.endsWith("s")) {
    return `Add a table to ${parent}`;
  }
  const one = last.slice(0, -1).replaceAll("_", " ");
  return `Add ${/^([aeio]|mcp)/.test(one) ? "an" : "a"} ${one}${above === undefined ? "" : ` to ${above}`}`;
}

function inWords(name: string): string {
  const words = name.replaceAll("_", " ").replaceAll(".", ": ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
