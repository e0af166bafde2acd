import { useId, useMemo, useRef } from "preact/hooks";

import { Button, Problem } from "../../parts/index.js";
import { Conflict } from "./Conflict.js";
import { LineEditor } from "./LineEditor.js";
import { jumpToLine } from "./lines.js";
import { Remarks } from "./Remarks.js";
import type { Draft } from "./useDraft.js";

interface Props {
  draft: Draft;
  isWritable: boolean;
  /** Loads the file again, without the changes. */
  onReload: () => void;
}

/** Edits, checks and saves the text of the configuration. */
export function Editor({ draft, isWritable, onReload }: Props) {
  const { text, result, checking, saving } = draft;
  const area = useRef<HTMLTextAreaElement>(null);
  const hintId = useId();
  const marked = useMemo(() => new Set(result?.faults.flatMap(({ line }) => line ?? []) ?? []), [result]);
  const jump = (line: number) => area.current && jumpToLine(area.current, line);
  const save = () => void (draft.canSave ? saving.run() : checking.run());
  return (
    <>
      {!isWritable && <p class="hint config-note">The daemon may not write to this file. You can check a text here. To save it, edit the file as its owner.</p>}
      {draft.isConflict && <Conflict text={text} onReload={onReload} />}
      {saving.error !== undefined && !draft.isConflict && <Problem title="The configuration could not be saved" error={saving.error} />}
      {checking.error !== undefined && <Problem title="The configuration could not be checked" error={checking.error} />}
      <LineEditor
        area={area}
        text={text}
        isReadOnly={saving.isRunning}
        marked={marked}
        hintId={hintId}
        onInput={draft.edit}
        onSave={save}
      />
      <p class="hint config-hint" id={hintId}>
        Tab indents. To leave the field with the keyboard, press Esc and then Tab.
        {draft.isMasked && " Dots stand for secrets: leave them to keep a secret, or write a new one in their place."}
      </p>
      <div class="config-actions">
        <p role="status">{stateText(draft)}</p>
        <div class="actions">
          {draft.hasSecrets && (
            <Button look="quiet" onClick={() => draft.showSecrets(draft.isMasked)}>{draft.isMasked ? "Show secrets" : "Hide secrets"}</Button>
          )}
          <Button isBusy={checking.isRunning} onClick={() => void checking.run()}>Check</Button>
          <Button look="primary" isBusy={saving.isRunning} disabled={!draft.canSave} onClick={() => void saving.run()}>Save</Button>
        </div>
      </div>
      <Remarks title="Faults" tone="bad" remarks={result?.faults ?? []} onJump={jump} />
      <Remarks title="Warnings" tone="warn" remarks={result?.warnings ?? []} onJump={jump} />
    </>
  );
}

function stateText({ isSaved, isDirty, result }: Draft): string {
  if (isSaved && !isDirty) {
    return "Saved. The last version stays beside the file. The daemon uses it within a few seconds. If a change needs a restart, the page Health names its keys.";
  }
  if (result !== null) {
    // A check may end at the first fault, so the number says little.
    const next = isDirty ? "It can be saved." : "It has no changes.";
    return result.faults.length === 0 ? `The text has no faults. ${next}` : "The text has faults. Correct them, and check the text again.";
  }
  return isDirty ? "The text has changes. Check it before you save it." : "";
}
