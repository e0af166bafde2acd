import { useEffect, useState } from "preact/hooks";

import { Button } from "../parts/index.js";
import { labelOf, nameOf, quoteName, textOf, valueOf, type Edits } from "./values.js";
import type { Adopt, EditValue, FormField } from "./types.js";

export interface InputProps {
  field: FormField;
  edits: Edits;
  /** The ids of the control, and of the texts that describe it. */
  id: string;
  describedBy: string;
  isFaulty: boolean;
  onEdit: (key: string, value: EditValue | undefined) => void;
  onAdopt: Adopt;
  onShowText: () => void;
}

/** The control of a field, by the kind of its input. */
export function Input(props: InputProps) {
  switch (props.field.input) {
    case "switch":
      return <Select {...props} choices={[{ value: "true", title: "On" }, { value: "false", title: "Off" }]} />;
    case "choice":
      return <Select {...props} choices={props.field.choices.map(({ value }) => ({ value, title: value }))} />;
    case "lines":
    case "list":
      return <Lines {...props} />;
    case "secret":
      return <Secret {...props} />;
    case "rules":
    case "pairs":
      return <Entries {...props} />;
    case "other":
      return (
        <Button
          id={props.id}
          aria-label={`Edit ${labelOf(props.field)} as text`}
          aria-describedby={props.describedBy}
          onClick={props.onShowText}
        >
          Edit as text
        </Button>
      );
    default:
      return props.field.is_hidden ? <Secret {...props} /> : <Line {...props} />;
  }
}

function attributes({ id, describedBy, isFaulty }: InputProps) {
  return { id, class: "input", "aria-describedby": describedBy, "aria-invalid": isFaulty };
}

function Line(props: InputProps) {
  const { field, edits, onEdit } = props;
  return (
    <input
      {...attributes(props)}
      value={textOf(field, edits)}
      inputMode={field.input === "integer" ? "numeric" : field.input === "number" ? "decimal" : "text"}
      placeholder="Default"
      autocomplete="off"
      autocapitalize="off"
      spellcheck={false}
      onInput={({ currentTarget: { value } }) => onEdit(field.key, valueOf(field, value))}
    />
  );
}

function Lines(props: InputProps) {
  const { field, edits, onEdit } = props;
  // A list is read from its lines, so the control keeps what is typed until the edit is gone.
  const [text, setText] = useState(textOf(field, edits));
  const isEdited = edits.has(field.key);
  const now = textOf(field, edits);
  useEffect(() => {
    if (!isEdited) {
      setText(now);
    }
  }, [isEdited, isEdited ? null : now]);
  return (
    <textarea
      {...attributes(props)}
      value={text}
      rows={Math.min(8, Math.max(field.input === "list" ? 2 : 4, text.split("\n").length + 1))}
      placeholder={field.input === "list" ? "Default. One entry in each line." : "Default"}
      spellcheck={field.input === "lines"}
      onInput={({ currentTarget: { value } }) => {
        setText(value);
        onEdit(field.key, valueOf(field, value));
      }}
    />
  );
}

function Select(props: InputProps & { choices: { value: string; title: string }[] }) {
  const { field, edits, onEdit, choices } = props;
  return (
    <select
      {...attributes(props)}
      value={textOf(field, edits)}
      onChange={({ currentTarget: { value } }) => onEdit(field.key, valueOf(field, value))}
    >
      <option value="">Default</option>
      {choices.map(({ value, title }) => <option key={value} value={value}>{title}</option>)}
    </select>
  );
}

/** A secret is never shown, and never sent back: only a new one is sent. */
function Secret(props: InputProps) {
  const { field, edits, onEdit } = props;
  const [isReplaced, setReplaced] = useState(false);
  if (field.is_hidden && !isReplaced && !edits.has(field.key)) {
    return (
      <div class="setting-secret">
        <span class="mono" aria-hidden="true">••••••••</span>
        <Button
          id={props.id}
          aria-label={`Replace ${labelOf(field)}`}
          aria-describedby={props.describedBy}
          onClick={() => setReplaced(true)}
        >
          Replace
        </Button>
      </div>
    );
  }
  const text = edits.has(field.key) || !field.is_hidden ? textOf(field, edits) : "";
  const rest = {
    ...attributes(props),
    value: text,
    placeholder: field.is_hidden ? "The new value" : "Not set",
    spellcheck: false,
    onInput: ({ currentTarget: { value } }: { currentTarget: HTMLInputElement }) =>
      onEdit(field.key, field.is_hidden && value === "" ? undefined : valueOf(field, value)),
  };
  // A reference such as `${NAME}` is no secret.
  return text.startsWith("${")
    ? <input {...rest} type="text" autocomplete="off" />
    : <input {...rest} type="password" autocomplete="new-password" />;
}

/** Names of the person's choice, each with a rule or a text. */
function Entries(props: InputProps) {
  const { field, edits, onEdit, id, describedBy } = props;
  const [added, setAdded] = useState("");
  const isRules = field.input === "rules";
  const keyOf = (name: string) => `${field.key}.${quoteName(name)}`;
  const known = Object.entries((field.value ?? {}) as Record<string, unknown>);
  const keys = new Set(known.map(([name]) => keyOf(name)));
  const fresh = [...edits].filter(([key]) => key.startsWith(`${field.key}.`) && !keys.has(key));
  const rows = [
    ...known.map(([name, value]) => ({ name, key: keyOf(name), value })),
    ...fresh.map(([key, value]) => ({ name: nameOf(key), key, value: value as unknown })),
  ].filter(({ key }) => edits.get(key) !== null);
  const first = (field.choices.find(({ value }) => value === "ask") ?? field.choices[0])?.value ?? "";
  const add = () => {
    if (added.trim() !== "") {
      onEdit(keyOf(added.trim()), first);
      setAdded("");
    }
  };
  const what = isRules ? "rule" : "text";
  return (
    <div class="setting-rules" role="group" aria-describedby={describedBy}>
      {rows.map(({ name, key, value }) => (
        <div class="setting-rule" key={key}>
          <code>{name}</code>
          <Entry {...props} name={name} entry={key} value={value} isKnown={keys.has(key)} />
          <Button look="quiet" icon="trash" aria-label={`Remove the ${what} for ${name}`} onClick={() => onEdit(key, keys.has(key) ? null : undefined)} />
        </div>
      ))}
      <div class="setting-rule">
        <input
          id={id}
          class="input"
          value={added}
          placeholder={isRules ? "Tool, such as files__*" : "Name"}
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget: { value } }) => setAdded(value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") {
              event.preventDefault();
              add();
            }
          }}
        />
        <Button icon="plus" onClick={add}>Add a {what}</Button>
      </div>
    </div>
  );
}

/** The control of one entry. A rule for each case is a table of its own. */
function Entry({ field, edits, onEdit, onAdopt, name, entry, value, isKnown }: InputProps & { name: string; entry: string; value: unknown; isKnown: boolean }) {
  const [isReplaced, setReplaced] = useState(false);
  const now = edits.has(entry) ? edits.get(entry) : value;
  if (field.input === "rules") {
    if (typeof now !== "string") {
      return <span class="hint">a rule for each case, below</span>;
    }
    return (
      <>
        <select class="input" aria-label={`Rule for ${name}`} value={now} onChange={({ currentTarget }) => onEdit(entry, currentTarget.value)}>
          {field.choices.map((choice) => <option key={choice.value} value={choice.value}>{choice.value}</option>)}
        </select>
        {isKnown && (
          <Button
            look="quiet"
            aria-label={`By case: rules for ${name}`}
            onClick={() => void onAdopt([{ key: entry, value: null }, { key: `${entry}.default`, value: now }])}
          >
            By case
          </Button>
        )}
      </>
    );
  }
  if (now === null && !isReplaced) {
    return (
      <>
        <span class="mono" aria-hidden="true">••••••••</span>
        <Button aria-label={`Replace ${name}`} onClick={() => setReplaced(true)}>Replace</Button>
      </>
    );
  }
  const rest = {
    class: "input",
    "aria-label": `Text of ${name}`,
    value: now === null || now === undefined ? "" : String(now),
    spellcheck: false,
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) =>
      onEdit(entry, value === null && currentTarget.value === "" ? undefined : currentTarget.value),
  };
  return value === null
    ? <input {...rest} type="password" autocomplete="new-password" />
    : <input {...rest} type="text" autocomplete="off" />;
}
