/** The form of the settings. It is a script of its own, which the view Configuration loads. */

import { useEffect, useRef, useState } from "preact/hooks";

import { post } from "../api.js";
import { useAction, useLoad } from "../hooks.js";
import { Button, Loaded, Problem } from "../parts/index.js";
import { GroupSection } from "./GroupSection.js";
import { ReviewDialog } from "./ReviewDialog.js";
import type { ConfigEdit, ConfigForm, EditValue, FormDraft, FormField } from "./types.js";
import { faultsWithoutField, isUnchanged, type Edits } from "./values.js";

export interface FormProps {
  draft: FormDraft;
  /** Tells whether there are changes that are not in the text yet, and how to put them there. */
  onEdited: (adopt: (() => Promise<boolean>) | null) => void;
  onShowText: () => void;
}

/** Loads the description of the text that is edited. */
export function Form(props: FormProps) {
  const [first] = useState(props.draft.whole);
  const load = useLoad((signal) => post<ConfigForm>("/v1/config/form", { text: first }, { signal }), []);
  return (
    <Loaded load={load} failure="The form could not be loaded">
      {(form) => <LoadedForm {...props} first={form} />}
    </Loaded>
  );
}

function LoadedForm({ draft, onEdited, onShowText, first }: FormProps & { first: ConfigForm }) {
  const [form, setForm] = useState(first);
  const [edits, setEdits] = useState<Edits>(new Map());
  const [isReviewed, setReviewed] = useState(false);
  const [query, setQuery] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const isFaultWanted = useRef(false);
  const { faults, warnings } = form.check;

  /** Makes the changes in the text, which is not saved by that. */
  const adopting = useAction(async (more: ConfigEdit[] = []) => {
    const sent = edits;
    const made = [...[...edits].map(([key, value]) => ({ key, value })), ...more];
    const next = await post<ConfigForm>("/v1/config/form", { text: draft.whole, edits: made });
    draft.replace(next.text);
    setForm(next);
    // Changes that were made meanwhile stay.
    setEdits((now) => new Map([...now].filter(([key, value]) => !sent.has(key) || sent.get(key) !== value)));
    return next;
  });
  const review = async () => {
    isFaultWanted.current = true;
    if (edits.size === 0 || await adopting.run()) {
      setReviewed(true);
    }
  };
  const edit = (key: string, value: EditValue | undefined) => setEdits((before) => withEdit(before, form, key, value));
  useEffect(() => onEdited(edits.size > 0 ? () => adopting.run() : null), [edits]);
  useEffect(() => {
    if (isFaultWanted.current && faults.length > 0) {
      box.current?.querySelector<HTMLElement>("[aria-invalid=true], .problem, .settings-table > .fault")?.focus();
    }
    isFaultWanted.current = false;
    if (faults.length > 0) {
      setReviewed(false);
    }
  }, [form, isReviewed]);

  const others = faultsWithoutField(form.tables, faults);
  const isDirty = draft.whole !== draft.fileText;
  return (
    <div class="settings" ref={box}>
      {adopting.error !== undefined && <Problem title="The changes could not be made" error={adopting.error} />}
      {others.length > 0 && (
        <div class="problem" role="alert" tabIndex={-1}>
          <p class="problem-title">The configuration has a fault</p>
          {others.map(({ line, message }) => <p key={message}>{line !== null && `Line ${line}: `}{message}</p>)}
          <Button onClick={onShowText}>Edit as text</Button>
        </div>
      )}
      <input
        class="input settings-search"
        type="search"
        aria-label="Find a setting"
        placeholder="Find a setting"
        value={query}
        onInput={({ currentTarget }) => setQuery(currentTarget.value)}
      />
      {form.groups.map((group) => (
        <GroupSection
          key={group.name}
          group={group}
          form={form}
          query={query.trim()}
          edits={edits}
          faults={faults}
          onEdit={edit}
          onAdopt={(made) => adopting.run(made)}
          onShowText={onShowText}
        />
      ))}
      <div class="settings-bar">
        <p role="status">{stateText(edits.size, isDirty, draft.isSaved, faults.length)}</p>
        <div class="actions">
          {edits.size > 0 && <Button onClick={() => setEdits(new Map())}>Discard</Button>}
          <Button
            look="primary"
            isBusy={adopting.isRunning}
            disabled={edits.size === 0 && !isDirty}
            onClick={() => void review()}
          >
            Review changes
          </Button>
        </div>
      </div>
      <ReviewDialog
        isOpen={isReviewed && faults.length === 0 && edits.size === 0 && isDirty}
        draft={draft}
        warnings={warnings}
        onClose={() => setReviewed(false)}
      />
    </div>
  );
}

/** Adds an edit; one that changes nothing is taken back. */
function withEdit(before: Edits, form: ConfigForm, key: string, value: EditValue | undefined): Edits {
  const edits = new Map(before);
  const field: FormField | undefined = form.tables.flatMap(({ fields }) => fields).find((one) => one.key === key);
  if (value === undefined || (field !== undefined && isUnchanged(field, value))) {
    edits.delete(key);
  } else {
    edits.set(key, value);
  }
  return edits;
}

function stateText(edits: number, isDirty: boolean, isSaved: boolean, faults: number): string {
  if (edits > 0) {
    return edits === 1 ? "1 change is not saved." : `${edits} changes are not saved.`;
  }
  if (faults > 0) {
    return "The configuration has a fault. Correct it, and review the changes again.";
  }
  if (isDirty) {
    return "The changes are not saved.";
  }
  return isSaved ? "Saved. The daemon uses it within a few seconds. If a change needs a restart, the page Health names its keys." : "";
}
