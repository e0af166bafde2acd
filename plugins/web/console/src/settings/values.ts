/** Values of fields: as they are shown, and as they are sent. */

import type { ConfigRemark } from "../types.js";
import type { EditValue, FormField, FormTable } from "./types.js";

/** Keys that most people set. The others are behind "More settings". */
const COMMON = new Set([
  "model", "cheap_model", "fallbacks", "base_url", "api_key", "token", "allow", "owners", "policy", "users",
  "approval_minutes", "turn_usd", "day_usd", "max_running", "queue_mode",
]);

/** The edits that were not yet made in the text, by their keys. */
export type Edits = ReadonlyMap<string, EditValue>;

/** Returns `true` if a field is shown without asking. */
export function isCommon(field: FormField): boolean {
  return isSet(field) || COMMON.has(field.name);
}

/** Returns `true` if the text has a value for a field. */
export function isSet(field: FormField): boolean {
  return field.is_hidden || (field.value !== null && !(field.input === "rules" && Object.keys(field.value as object).length === 0));
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
  return faults.filter(({ key }) => key === null || !fields.some(({ path }) => isBelow(key, path)));
}

function isBelow(key: string, path: string): boolean {
  return key === path || key.startsWith(`${path}.`) || key.startsWith(`${path}[`);
}

/** Returns a name as TOML writes it in a key. */
export function quoteName(name: string): string {
  return /^[A-Za-z0-9_-]+$/.test(name) ? name : JSON.stringify(name);
}

/** Returns the label of a key: `max_tool_iterations` is "Max tool iterations". */
export function labelOf(name: string): string {
  const words = name.replaceAll("_", " ").replaceAll(".", ": ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
