/** Shapes of the form of the configuration. */

import type { ConfigCheck } from "../types.js";

export type FormGroup = "models" | "providers" | "channels" | "tools" | "limits";

export type FormInput =
  | "switch" | "choice" | "integer" | "number" | "text" | "lines" | "list" | "secret" | "rules" | "other";

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
  value: unknown;
  is_hidden: boolean;
}

export interface FormTable {
  key: string;
  group: FormGroup;
  kind: string | null;
  about: string;
  can_remove: boolean;
  fields: FormField[];
}

export interface FormAddition {
  parent: string;
  group: FormGroup;
  kinds: string[];
  names: string[];
}

export interface ConfigForm {
  text: string;
  check: ConfigCheck;
  tables: FormTable[];
  additions: FormAddition[];
}

/** A new value; `null` removes the key or the table. */
export type EditValue = null | string | boolean | string[] | Record<string, never>;

export interface ConfigEdit {
  key: string;
  value: EditValue;
}

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
