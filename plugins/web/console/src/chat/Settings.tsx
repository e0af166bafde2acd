import { useId, useState } from "preact/hooks";

import { get, path, put } from "../api.js";
import { useAction, useLoad } from "../hooks.js";
import { Dialog, IconButton, Loaded, Problem } from "../parts/index.js";
import type { SessionOption, SessionOptionValue } from "../types.js";

/** The names of the settings for people. Later versions of the daemon may have others. */
const TITLES: Record<string, string> = { model: "Model", effort: "Thinking effort", mode: "What it may do without asking" };

/** The button that opens the settings of a conversation. */
export function Settings({ session }: { session: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <IconButton icon="config" label="Model and effort" onClick={() => setOpen(true)} />
      <Dialog title="Model and effort" isOpen={isOpen} onClose={() => setOpen(false)}>
        <SettingsForm session={session} />
      </Dialog>
    </>
  );
}

/** One menu for each setting. They are loaded when the dialog opens, because the daemon may ask the provider. */
function SettingsForm({ session }: { session: string }) {
  const load = useLoad((signal) => get<SessionOption[]>(path("sessions", session, "options"), {}, signal), [session]);
  const [changed, setChanged] = useState<SessionOption[] | null>(null);
  const choosing = useAction(async (option: string, value: string) => {
    setChanged(await put<SessionOption[]>(path("sessions", session, "options", option), { value }));
  });
  return (
    <Loaded load={load} failure="The settings could not be loaded">
      {(loaded) => (
        <div class="settings">
          {(changed ?? loaded).map((option) => (
            <Menu
              key={option.option}
              option={option}
              isBusy={choosing.isRunning}
              onChoose={(value) => void choosing.run(option.option, value)}
            />
          ))}
          {choosing.error !== undefined && <Problem title="The setting could not be changed" error={choosing.error} />}
          <p class="hint">The choice holds for this conversation, from its next message on.</p>
        </div>
      )}
    </Loaded>
  );
}

interface MenuProps {
  option: SessionOption;
  isBusy: boolean;
  onChoose: (value: string) => void;
}

function Menu({ option: { option, value, values }, isBusy, onChoose }: MenuProps) {
  const id = useId();
  const groups = [...new Set(values.map(({ group }) => group ?? ""))];
  const description = values.find((one) => one.value === value)?.description;
  return (
    <div class="field">
      <label for={id}>{TITLES[option] ?? option}</label>
      <select class="input" id={id} value={value} disabled={isBusy} onChange={(event) => onChoose(event.currentTarget.value)}>
        {groups.map((group) => {
          const entries = values.filter((one) => (one.group ?? "") === group).map((one) => <Entry key={one.value} entry={one} />);
          return group === "" ? entries : <optgroup key={group} label={group}>{entries}</optgroup>;
        })}
      </select>
      {description && <p class="hint">{description}</p>}
    </div>
  );
}

function Entry({ entry: { value, name } }: { entry: SessionOptionValue }) {
  return <option value={value}>{name}</option>;
}
