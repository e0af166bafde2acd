import { errorText, post } from "../../api.js";
import { useAction } from "../../hooks.js";
import { Button, Dialog } from "../../parts/index.js";
import { Field } from "../shared/Field.js";
import type { Memory } from "../../types.js";

interface Props {
  isOpen: boolean;
  onClose: () => void;
  onAdded: (id: string) => void;
}

export function MemoryForm({ isOpen, onClose, onAdded }: Props) {
  return <Dialog title="New memory" isOpen={isOpen} onClose={onClose}><Form onClose={onClose} onAdded={onAdded} /></Dialog>;
}

function Form({ onClose, onAdded }: Omit<Props, "isOpen">) {
  const adding = useAction(async (form: HTMLFormElement) => {
    const data = new FormData(form);
    const body = { text: String(data.get("text")).trim(), scope: String(data.get("scope")).trim() };
    const { memory } = await post<{ memory: Memory }>("/v1/memories", body);
    onAdded(memory.id);
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void adding.run(event.currentTarget as HTMLFormElement);
  };
  return (
    <form class="form" onSubmit={submit}>
      <Field label="Text" hint="One fact, in one or two sentences."><textarea class="input" name="text" required autofocus /></Field>
      <Field label="Readers" hint="everyone, person CHANNEL:ACCOUNT:SENDER, or chat SESSION.">
        <input class="input" name="scope" required defaultValue="everyone" autocomplete="off" />
      </Field>
      {adding.error !== undefined && <p class="fault" role="alert">{errorText(adding.error)}</p>}
      <div class="actions end">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" type="submit" isBusy={adding.isRunning}>Remember</Button>
      </div>
    </form>
  );
}
