import { useRef, useState } from "preact/hooks";

import { useLoad } from "../../hooks.js";
import { Loaded, Tabs } from "../../parts/index.js";
import { loadSettings } from "../../settings/load.js";
import type { ConfigFile } from "../../types.js";
import { Editor } from "./Editor.js";
import { useLeaveGuard } from "./guard.js";
import { useDraft, type Draft } from "./useDraft.js";

interface Props {
  file: ConfigFile;
  /** Loads the file again, without the changes. */
  onReload: () => void;
}

const VIEWS = [{ name: "form", title: "Form" }, { name: "text", title: "Text" }] as const;
type View = (typeof VIEWS)[number]["name"];

/** The form and the text of one draft. */
export function ConfigViews({ file, onReload }: Props) {
  const draft = useDraft(file);
  const [view, setView] = useState<View>("form");
  const [hasEdits, setHasEdits] = useState(false);
  const adopt = useRef<(() => Promise<boolean>) | null>(null);
  useLeaveGuard(draft.isDirty || hasEdits);
  const onEdited = (next: (() => Promise<boolean>) | null) => {
    adopt.current = next;
    setHasEdits(next !== null);
  };
  /** Changes of the form go into the text first; if that fails, the form stays and shows why. */
  const show = async (next: View) => {
    if (next === view || (adopt.current !== null && !await adopt.current())) {
      return;
    }
    onEdited(null);
    setView(next);
  };
  return (
    <Tabs label="Ways to edit" tabs={VIEWS} selected={view} onSelect={(next) => void show(next)}>
      {view === "form"
        ? <SettingsForm draft={draft} onEdited={onEdited} onShowText={() => void show("text")} />
        : <Editor draft={draft} isWritable={file.is_writable} onReload={onReload} />}
    </Tabs>
  );
}

interface FormProps {
  draft: Draft;
  onEdited: (adopt: (() => Promise<boolean>) | null) => void;
  onShowText: () => void;
}

/** The form, whose script is loaded when it is opened. */
function SettingsForm({ draft, ...rest }: FormProps) {
  const load = useLoad(loadSettings, []);
  return (
    <Loaded load={load} failure="The form could not be loaded">
      {({ Form }) => (
        <Form
          {...rest}
          draft={{
            whole: draft.whole,
            fileText: draft.fileText,
            isWritable: draft.isWritable,
            isSaved: draft.isSaved,
            replace: draft.replace,
            save: () => draft.saving.run(),
            isSaving: draft.saving.isRunning,
            saveError: draft.saving.error,
          }}
        />
      )}
    </Loaded>
  );
}
