import { useState } from "preact/hooks";

import { Button, Dialog } from "../parts/index.js";
import type { ConfigEdit, FormAddition } from "./types.js";
import { quoteName } from "./values.js";

interface Props {
  addition: FormAddition;
  onAdd: (added: ConfigEdit) => Promise<boolean>;
}

const TITLES: Record<string, string> = { agents: "Add an agent", providers: "Add a provider", channels: "Add a channel" };

/** A button with a dialog for the name and the kind of a new table. */
export function AddTable({ addition, onAdd }: Props) {
  const { parent, kinds, names } = addition;
  const [isOpen, setOpen] = useState(false);
  const title = TITLES[parent] ?? `Add a table below ${parent}`;
  const add = async (form: HTMLFormElement) => {
    const data = new FormData(form);
    const key = `${parent}.${quoteName(String(data.get("name") ?? "").trim())}`;
    const kind = data.get("kind");
    if (await onAdd(kind === null ? { key, value: {} } : { key: `${key}.kind`, value: String(kind) })) {
      setOpen(false);
    }
  };
  if (parent === "channels" && names.length === 0) {
    return null;
  }
  return (
    <>
      <Button icon="plus" onClick={() => setOpen(true)}>{title}</Button>
      <Dialog title={title} isOpen={isOpen} onClose={() => setOpen(false)}>
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault();
            void add(event.currentTarget as HTMLFormElement);
          }}
        >
          <label class="field">
            <span>{names.length > 0 ? "Platform" : "Name"}</span>
            {names.length > 0
              ? <select class="input" name="name">{names.map((name) => <option key={name}>{name}</option>)}</select>
              : <input class="input" name="name" required autofocus autocomplete="off" spellcheck={false} />}
          </label>
          {kinds.length > 0 && (
            <label class="field">
              <span>Kind</span>
              <select class="input" name="kind">{kinds.map((kind) => <option key={kind}>{kind}</option>)}</select>
            </label>
          )}
          <div class="actions end">
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button look="primary" type="submit">Add</Button>
          </div>
        </form>
      </Dialog>
    </>
  );
}
