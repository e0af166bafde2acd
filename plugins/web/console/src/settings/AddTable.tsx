import { useState } from "preact/hooks";

import { Button, Dialog, type ButtonProps } from "../parts/index.js";
import type { Adopt, FormAddition, FormTable } from "./types.js";
import { additionTitle, nameOf, quoteName } from "./values.js";

interface DialogProps {
  button: Omit<ButtonProps, "onClick">;
  title: string;
  /** The text of the button that acts. */
  action: string;
  /** The kinds and the possible names; empty if there are none. */
  kinds: string[];
  names: string[];
  before?: string;
  onName: (name: string, kind: string | null) => Promise<boolean>;
}

/** A button with a dialog for the name and the kind of a table. */
function NameDialog({ button, title, action, kinds, names, before = "", onName }: DialogProps) {
  const [isOpen, setOpen] = useState(false);
  const add = async (form: HTMLFormElement) => {
    const data = new FormData(form);
    if (await onName(String(data.get("name") ?? "").trim(), data.get("kind") as string | null)) {
      setOpen(false);
    }
  };
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)} />
      <Dialog title={title} isOpen={isOpen} onClose={() => setOpen(false)}>
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault();
            void add(event.currentTarget as HTMLFormElement);
          }}
        >
          <label class="field">
            <span>Name</span>
            {names.length > 0
              ? <select class="input" name="name">{names.map((name) => <option key={name}>{name}</option>)}</select>
              : <input class="input" name="name" defaultValue={before} required autofocus autocomplete="off" spellcheck={false} />}
          </label>
          {kinds.length > 0 && (
            <label class="field">
              <span>Kind</span>
              <select class="input" name="kind">{kinds.map((kind) => <option key={kind}>{kind}</option>)}</select>
            </label>
          )}
          <div class="actions end">
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button look="primary" type="submit">{action}</Button>
          </div>
        </form>
      </Dialog>
    </>
  );
}

/** Adds a table with a free name, or one of a few. */
export function AddTable({ addition: { parent, kinds, names }, onAdopt }: { addition: FormAddition; onAdopt: Adopt }) {
  const add = (name: string, kind: string | null) => {
    const key = `${parent}.${quoteName(name)}`;
    return onAdopt([kind === null ? { key, value: {} } : { key: `${key}.kind`, value: kind }]);
  };
  const title = additionTitle(parent);
  return <NameDialog button={{ icon: "plus", children: title }} title={title} action="Add" kinds={kinds} names={names} onName={add} />;
}

/** Gives a table another name. */
export function RenameTable({ table: { key }, onAdopt }: { table: FormTable; onAdopt: Adopt }) {
  return (
    <NameDialog
      button={{ look: "quiet", children: "Rename", "aria-label": `Rename ${key}` }}
      title={`Rename ${key}`}
      action="Rename"
      kinds={[]}
      names={[]}
      before={nameOf(key)}
      onName={(rename) => onAdopt([{ key, rename }])}
    />
  );
}
