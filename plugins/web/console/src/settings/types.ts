/** Shapes of the form of the configuration. */

import type { ConfigCheck } from "../types.js";

export type FormInput =
  | "switch" | "choice" | "integer" | "number" | "text" | "lines" | "list" | "secret" | "rules" | "pairs" | "other";

export interface FormField {
  /** The key, as TOML writes it. */
  key: string;
  /** The key as faults name it. */
  path: string;
  name: string;
  help: string;
  input: FormInput;
  choices: { value: string; help: string }[];
  least: number | null;
  /** For `rules` and `pairs` an object. A text in it that is hidden is `null`. */
  value: unknown;
  is_hidden: boolean;
}

export interface FormGroup {
  name: string;
  about: string;
}

export interface FormTable {
  key: string;
  path: string;
  group: string;
  kind: string | null;
  about: string;
  can_add: boolean;
  can_remove: boolean;
  can_rename: boolean;
  fields: FormField[];
}

export interface FormAddition {
  parent: string;
  group: string;
  about: string;
  kinds: string[];
  names: string[];
}

export interface ConfigForm {
  text: string;
  check: ConfigCheck;
  groups: FormGroup[];
  tables: FormTable[];
  additions: FormAddition[];
}

/** A new value; `null` removes the key or the table. */
export type EditValue = null | string | boolean | string[] | Record<string, never>;

export interface ConfigEdit {
  key: string;
  value?: EditValue;
  /** The new last name of a table. */
  rename?: string;
}

/** Changes the text that is edited at once, behind the changes that the form has collected. */
export type Adopt = (edits: ConfigEdit[]) => Promise<boolean>;

/** The text that is edited, as the form needs it. */
export interface FormDraft {
  /** The text with its secrets. */
  whole: string;
  /** The text of the file. */
  fileText: string;
  isWritable: boolean;
  isSaved: boolean;
  /** Takes another text, which is not saved yet. */
  replace: (text: string) => void;
  save: () => Promise<boolean>;
  isSaving: boolean;
  saveError: unknown;
}
