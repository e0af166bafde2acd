import { useState } from "preact/hooks";

import { errorText, get, post } from "../../api.js";
import { useAction, useLoad } from "../../hooks.js";
import { Button, Dialog } from "../../parts/index.js";
import type { SessionSummary } from "../../types.js";
import { Choices } from "../shared/Choices.js";
import { Field } from "../shared/Field.js";
import { newKey } from "../../key.js";
import type { AddSchedule, CatchUp, ShownSchedule } from "./types.js";
import { CATCH_UPS } from "./words.js";

interface Props {
  isOpen: boolean;
  onClose: () => void;
  onAdded: (id: string) => void;
}

const TIMES = [
  { value: "cron", title: "Cron", example: "0 8 * * mon-fri", hint: "Minute, hour, day, month, weekday." },
  { value: "every", title: "Every", example: "1h 30m", hint: "The duration between two times, at least 1m." },
  { value: "at", title: "At", example: "2026-12-24 08:00", hint: "A date and time, or the next 08:00." },
  { value: "after", title: "In", example: "2h", hint: "A duration from now." },
] as const;
type TimesKind = (typeof TIMES)[number]["value"];

const WORK = [
  { value: "task", title: "Task for the agent" },
  { value: "text", title: "Fixed text" },
] as const;
type WorkKind = (typeof WORK)[number]["value"];

export function ScheduleForm({ isOpen, onClose, onAdded }: Props) {
  return <Dialog title="New schedule" isOpen={isOpen} onClose={onClose}><Form onClose={onClose} onAdded={onAdded} /></Dialog>;
}

/** Mounted anew each time that the dialog opens, so that each opening has a key of its own. */
function Form({ onClose, onAdded }: Omit<Props, "isOpen">) {
  const [key] = useState(newKey);
  const [timesKind, setTimesKind] = useState<TimesKind>("cron");
  const [workKind, setWorkKind] = useState<WorkKind>("task");
  const adding = useAction(async (form: HTMLFormElement) => {
    const request = readForm(new FormData(form), timesKind, workKind);
    const { schedule } = await post<ShownSchedule>("/v1/schedules", request, { headers: { "Idempotency-Key": key } });
    onAdded(schedule.id);
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void adding.run(event.currentTarget as HTMLFormElement);
  };
  const times = TIMES.find(({ value }) => value === timesKind)!;
  return (
    <form class="form" onSubmit={submit}>
      <Choices label="Kind of work" choices={WORK} selected={workKind} onSelect={setWorkKind} />
      <Field label={workKind === "task" ? "Task" : "Text"}><textarea class="input" name="work" required autofocus /></Field>
      <Choices label="Kind of times" choices={TIMES} selected={timesKind} onSelect={setTimesKind} />
      <div class="form-row">
        <Field label={times.title} hint={times.hint}>
          <input class="input" name="times" required placeholder={times.example} autocomplete="off" />
        </Field>
        <Field label="Time zone" hint="Empty: the default time zone.">
          <input class="input" name="zone" placeholder={Intl.DateTimeFormat().resolvedOptions().timeZone} autocomplete="off" />
        </Field>
      </div>
      <ChatField />
      <details>
        <summary>More settings</summary>
        <div class="form">
          <Field label="Person" hint="The schedule runs in the name of the person with this id. Empty: the id of the chat.">
            <input class="input" name="person" autocomplete="off" />
          </Field>
          <label class="check"><input type="checkbox" name="group" />The chat is a group</label>
          {workKind === "task" && (
            <>
              <Field label="Agent" hint="Empty: the agent that the configuration selects.">
                <input class="input" name="agent" autocomplete="off" />
              </Field>
              <label class="check"><input type="checkbox" name="always" />Send answers without news, too</label>
            </>
          )}
          <Field label="Times that were missed">
            <select class="input" name="catch_up">
              {Object.entries(CATCH_UPS).map(([value, title]) => <option key={value} value={value}>{title}</option>)}
            </select>
          </Field>
        </div>
      </details>
      {adding.error !== undefined && <p class="fault" role="alert">{errorText(adding.error)}</p>}
      <div class="actions end">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" type="submit" isBusy={adding.isRunning}>Add</Button>
      </div>
    </form>
  );
}

const MOST_CHATS = 200;

/** The chat, with the known ones as suggestions. The form works without them. */
function ChatField() {
  const { data = [] } = useLoad<SessionSummary[]>((signal) => get("/v1/sessions", { limit: MOST_CHATS }, signal), []);
  const chats = data.filter(({ session }) => !session.startsWith("schedule:"));
  return (
    <>
      <Field label="Chat" hint="The chat that gets the answers, as channel:account:chat.">
        <input class="input" name="chat" list="schedule-chats" required autocomplete="off" defaultValue="web:console:main" />
      </Field>
      <datalist id="schedule-chats">{chats.map(({ session }) => <option key={session} value={session} />)}</datalist>
    </>
  );
}

function readForm(data: FormData, timesKind: TimesKind, workKind: WorkKind): AddSchedule {
  const text = (name: string) => String(data.get(name) ?? "").trim();
  const none = { after: null, at: null, every: null, cron: null };
  const work = text("work");
  return {
    chat: text("chat"),
    person: text("person") || null,
    kind: data.has("group") ? "group" : "private",
    times: { ...none, [timesKind]: text("times"), zone: text("zone") || null },
    work: workKind === "task" ? { task: work } : { text: work },
    agent: text("agent") || null,
    catch_up: (text("catch_up") || "once") as CatchUp,
    quiet: workKind === "task" && !data.has("always"),
  };
}
