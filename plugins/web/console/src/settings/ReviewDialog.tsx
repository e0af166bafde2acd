import { useMemo } from "preact/hooks";

import { ApiError, errorText } from "../api.js";
import { Button, Dialog } from "../parts/index.js";
import type { ConfigRemark } from "../types.js";
import { diffLines, type DiffLine } from "./diff.js";
import type { FormDraft } from "./types.js";

interface Props {
  isOpen: boolean;
  draft: FormDraft;
  warnings: readonly ConfigRemark[];
  onClose: () => void;
}

const CONFLICT = 409;

/** Shows the changed lines, and saves them. */
export function ReviewDialog({ isOpen, draft, warnings, onClose }: Props) {
  const save = async () => {
    if (await draft.save()) {
      onClose();
    }
  };
  const { saveError: error } = draft;
  return (
    <Dialog title="Changes of the file" isOpen={isOpen} onClose={onClose}>
      <Diff before={draft.fileText} after={draft.whole} />
      {warnings.map(({ message }) => <p class="hint" key={message}>Warning: {message}</p>)}
      {!draft.isWritable && <p>The daemon may not write to this file. Edit the file as its owner.</p>}
      {error !== undefined && (
        <p class="fault" role="alert">
          {error instanceof ApiError && error.status === CONFLICT
            ? "The file has changed since it was loaded. Nothing was saved. Close this, and load the page again."
            : errorText(error)}
        </p>
      )}
      <div class="actions end">
        <Button onClick={onClose}>Go on editing</Button>
        <Button look="primary" isBusy={draft.isSaving} disabled={!draft.isWritable} onClick={() => void save()}>Save</Button>
      </div>
    </Dialog>
  );
}

const WORDS = { added: "Added: ", removed: "Removed: ", same: "", gap: "Lines without a change " };
const MARKS = { added: "+", removed: "−", same: " ", gap: " " };

function Diff({ before, after }: { before: string; after: string }) {
  const lines = useMemo(() => diffLines(before, after), [before, after]);
  return <div class="diff" role="group" aria-label="Changed lines" tabIndex={0}>{lines.map((line, at) => <Line key={at} line={line} />)}</div>;
}

function Line({ line: { kind, text, hasSecret } }: { line: DiffLine }) {
  return (
    <div class={`diff-line ${kind}`}>
      <span aria-hidden="true">{MARKS[kind]}</span>
      <span class="sr-only">{WORDS[kind]}</span>
      <code>{text === "" ? " " : text}</code>
      {hasSecret && kind !== "same" && <small class="hint">the secret is hidden</small>}
    </div>
  );
}
