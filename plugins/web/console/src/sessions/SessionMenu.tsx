import { useState } from "preact/hooks";

import { path, remove } from "../api.js";
import { shortName } from "../chat/names.js";
import { useAction } from "../hooks.js";
import { reloadAll } from "../live.js";
import { Button, ConfirmButton, Dialog, IconButton, Problem } from "../parts/index.js";
import type { SessionSummary } from "../types.js";
import { exportSession, type ExportFormat } from "./exported.js";
import { changeSession } from "./summaries.js";

interface Props {
  row: SessionSummary;
  /** Called after the session was deleted. */
  onDeleted?: () => void;
}

/** The button that opens what can be done with a conversation: rename, pin, archive, export, delete. */
export function SessionMenu({ row, onDeleted }: Props) {
  const [isOpen, setOpen] = useState(false);
  const name = row.title || shortName(row.session);
  const close = () => setOpen(false);
  return (
    <>
      <IconButton icon="more" label={`Change ${name}`} onClick={() => setOpen(true)} />
      <Dialog title="Conversation" isOpen={isOpen} onClose={close}>
        <Rename row={row} onDone={close} />
        <Actions row={row} name={name} onDone={close} onDeleted={onDeleted} />
      </Dialog>
    </>
  );
}

interface PartProps {
  row: SessionSummary;
  onDone: () => void;
}

function Rename({ row: { session, title }, onDone }: PartProps) {
  const [text, setText] = useState(title ?? "");
  const renaming = useAction(() => changeSession(session, { title: text }));
  const submit = async (event: Event) => {
    event.preventDefault();
    if (await renaming.run()) {
      onDone();
    }
  };
  return (
    <form class="rename" onSubmit={(event) => void submit(event)}>
      <label class="field">
        <span>Title</span>
        <input class="input" value={text} maxLength={80} placeholder="The first message" onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <Button type="submit" isBusy={renaming.isRunning}>Rename</Button>
      {renaming.error !== undefined && <Problem title="The conversation could not be renamed" error={renaming.error} />}
    </form>
  );
}

function Actions({ row, name, onDone, onDeleted }: PartProps & { name: string; onDeleted: (() => void) | undefined }) {
  const { session, is_pinned = false, is_archived = false } = row;
  const changing = useAction((labels: { is_pinned?: boolean; is_archived?: boolean }) => changeSession(session, labels));
  const exporting = useAction((format: ExportFormat) => exportSession(session, name, format));
  const change = async (labels: { is_pinned?: boolean; is_archived?: boolean }) => {
    if (await changing.run(labels)) {
      onDone();
    }
  };
  const deleteSession = async () => {
    await remove(path("sessions", session));
    reloadAll();
    onDeleted?.();
  };
  return (
    <>
      <div class="menu">
        <Button isBusy={changing.isRunning} onClick={() => void change({ is_pinned: !is_pinned })}>{is_pinned ? "Unpin" : "Pin"}</Button>
        <Button isBusy={changing.isRunning} onClick={() => void change({ is_archived: !is_archived })}>{is_archived ? "Take out of the archive" : "Archive"}</Button>
        <Button icon="download" isBusy={exporting.isRunning} onClick={() => void exporting.run("markdown")}>Export as Markdown</Button>
        <Button icon="download" isBusy={exporting.isRunning} onClick={() => void exporting.run("json")}>Export as JSON</Button>
        <ConfirmButton
          icon="trash"
          question="Delete this conversation?"
          details={`All messages of ${session} are removed from the log. This cannot be undone.`}
          confirm="Delete"
          action={deleteSession}
        >
          Delete
        </ConfirmButton>
      </div>
      {changing.error !== undefined && <Problem title="The conversation could not be changed" error={changing.error} />}
      {exporting.error !== undefined && <Problem title="The conversation could not be exported" error={exporting.error} />}
    </>
  );
}
