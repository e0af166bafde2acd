import { useRef, useState } from "preact/hooks";

import { ApiError, post, put } from "../../api.js";
import { useAction, type Action } from "../../hooks.js";
import type { ConfigCheck, ConfigFile } from "../../types.js";
import { maskSecrets, unmaskSecrets, type MaskedText } from "./secrets.js";

const CONFLICT = 409;

export interface Draft {
  /** The text with its secrets. */
  whole: string;
  /** The text of the file. */
  fileText: string;
  isWritable: boolean;
  /** Takes another text with its secrets, and hides these. */
  replace: (text: string) => void;
  /** The text in the field, with marks in place of secrets unless these are shown. */
  text: string;
  edit: (text: string) => void;
  /** `true` if the text has marks. */
  isMasked: boolean;
  /** `true` if the text has secrets, hidden or not. */
  hasSecrets: boolean;
  /** Shows the secrets, or hides them again. */
  showSecrets: (areShown: boolean) => void;
  /** The result for the present text; `null` if it was not checked. */
  result: ConfigCheck | null;
  isDirty: boolean;
  canSave: boolean;
  /** `true` after a save, until the next edit. */
  isSaved: boolean;
  /** `true` if another program has changed the file since it was loaded. */
  isConflict: boolean;
  checking: Action<[]>;
  saving: Action<[]>;
}

const NOTHING: MaskedText["values"] = new Map();

/** The text that is edited, its check, and its save. */
export function useDraft(loaded: ConfigFile): Draft {
  const [file, setFile] = useState({ text: loaded.text, digest: loaded.digest });
  const first = useRef<MaskedText | null>(null);
  first.current ??= maskSecrets(loaded.text);
  const [{ text, values }, setShown] = useState({ text: first.current.shown, values: first.current.values });
  const [checked, setChecked] = useState<{ text: string; result: ConfigCheck } | null>(null);
  const [isSaved, setSaved] = useState(false);
  const whole = unmaskSecrets(text, values);
  const checking = useAction(async () => {
    setChecked({ text: whole, result: await post<ConfigCheck>("/v1/config/check", { text: whole }) });
  });
  const saving = useAction(async () => {
    const { digest } = await put<{ digest: string }>("/v1/config", { text: whole, digest: file.digest });
    setFile({ text: whole, digest });
    setSaved(true);
  });
  const edit = (next: string) => {
    setShown({ text: next, values });
    setSaved(false);
    checking.clear();
  };
  const replace = (next: string) => {
    const masked = maskSecrets(next);
    setShown({ text: masked.shown, values: masked.values });
    setSaved(false);
    saving.clear();
  };
  const showSecrets = (areShown: boolean) => {
    const masked = maskSecrets(whole);
    setShown(areShown ? { text: whole, values: NOTHING } : { text: masked.shown, values: masked.values });
  };
  const result = checked?.text === whole ? checked.result : null;
  const isDirty = whole !== file.text;
  return {
    whole,
    fileText: file.text,
    isWritable: loaded.is_writable,
    replace,
    text,
    edit,
    isMasked: values.size > 0,
    hasSecrets: values.size > 0 || maskSecrets(whole).values.size > 0,
    showSecrets,
    result,
    isDirty,
    canSave: loaded.is_writable && isDirty && result?.faults.length === 0,
    isSaved,
    isConflict: saving.error instanceof ApiError && saving.error.status === CONFLICT,
    checking,
    saving,
  };
}
