import { useState } from "preact/hooks";

import { errorText, post } from "../../api.js";
import { useAction } from "../../hooks.js";
import { Button, Dialog } from "../../parts/index.js";
import type { SubmitJob, SubmittedJob } from "../../types.js";
import { Field } from "../shared/Field.js";
import { newKey } from "../../key.js";

interface Props {
  isOpen: boolean;
  onClose: () => void;
  onSubmitted: (id: string) => void;
}

/** The profiles that Avocet ships. The configuration may have others. */
const AGENTS = ["builder", "debugger", "reviewer", "triager", "default"];
const BILLIONTHS = 1e9;

export function JobForm({ isOpen, onClose, onSubmitted }: Props) {
  return <Dialog title="New job" isOpen={isOpen} onClose={onClose}><Form onClose={onClose} onSubmitted={onSubmitted} /></Dialog>;
}

/** Mounted anew each time that the dialog opens, so that each opening has a key of its own. */
function Form({ onClose, onSubmitted }: Omit<Props, "isOpen">) {
  const [key] = useState(newKey);
  const submitting = useAction(async (form: HTMLFormElement) => {
    const { id } = await post<SubmittedJob>("/v1/jobs", readForm(form), { headers: { "Idempotency-Key": key } });
    onSubmitted(id);
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void submitting.run(event.currentTarget as HTMLFormElement);
  };
  return (
    <form class="form" onSubmit={submit}>
      <Field label="Task"><textarea class="input" name="task" required autofocus /></Field>
      <Field label="Agent" hint="The profile that does the work.">
        <input class="input" name="agent" list="job-agents" required defaultValue="builder" autocomplete="off" />
      </Field>
      <datalist id="job-agents">{AGENTS.map((agent) => <option key={agent} value={agent} />)}</datalist>
      <Field label="Directory" hint="An absolute path. Empty: the workspace of the profile.">
        <input class="input" name="workspace" autocomplete="off" />
      </Field>
      <fieldset class="form">
        <legend class="form-legend">Limits. The job ends at the first one that it reaches.</legend>
        <div class="form-row">
          <Field label="Requests"><input class="input" name="runs" type="number" min={1} required defaultValue="20" /></Field>
          <Field label="Minutes"><input class="input" name="minutes" type="number" min={1} required defaultValue="60" /></Field>
          <Field label="Dollars"><input class="input" name="dollars" type="number" min={0} step="any" placeholder="turn budget" /></Field>
        </div>
      </fieldset>
      {submitting.error !== undefined && <p class="fault" role="alert">{errorText(submitting.error)}</p>}
      <div class="actions end">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" type="submit" isBusy={submitting.isRunning}>Submit</Button>
      </div>
    </form>
  );
}

function readForm(form: HTMLFormElement): SubmitJob {
  const data = new FormData(form);
  const text = (name: string) => String(data.get(name) ?? "").trim();
  const dollars = text("dollars");
  return {
    task: text("task"),
    agent: text("agent"),
    workspace: text("workspace") || null,
    limits: {
      max_inference_runs: Number(text("runs")),
      max_seconds: Math.round(Number(text("minutes")) * 60),
      max_cost: dollars === "" ? null : Math.round(Number(dollars) * BILLIONTHS),
    },
  };
}
