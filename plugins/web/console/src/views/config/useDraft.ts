import { useState } from "preact/hooks";

import { ApiError, post, put } from "../../api.js";
import { useAction, type Action } from "../../hooks.js";
import type { ConfigCheck, ConfigFile } from "../../types.js";

const CONFLICT = 409;

export interface Draft {
  text: string;
  edit: (text: string) => void;
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

/** The text that is edited, its check, and its save. */
export function useDraft(loaded: ConfigFile): Draft {
  const [file, setFile] = useState({ text: loaded.text, digest: loaded.digest });
  const [text, setText] = useState(loaded.text);
  const [checked, setChecked] = useState<{ text: string; result: ConfigCheck } | null>(null);
  const [isSaved, setSaved] = useState(false);
  const checking = useAction(async () => {
    setChecked({ text, result: await post<ConfigCheck>("/v1/config/check", { text }) });
  });
  const saving = useAction(async () => {
    const { digest } = await put<{ digest: string }>("/v1/config", { text, digest: file.digest });
    setFile({ text, digest });
    setSaved(true);
  });
  const edit = (next: string) => {
    setText(next);
    setSaved(false);
    checking.clear();
  };
  const result = checked?.text === text ? checked.result : null;
  const isDirty = text !== file.text;
  return {
    text,
    edit,
    result,
    isDirty,
    canSave: loaded.is_writable && isDirty && result?.faults.length === 0,
    isSaved,
    isConflict: saving.error instanceof ApiError && saving.error.status === CONFLICT,
    checking,
    saving,
  };
}
