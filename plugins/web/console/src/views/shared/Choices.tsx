import { useId } from "preact/hooks";

interface Props<Value extends string> {
  /** Read aloud in front of the choices. */
  label: string;
  choices: readonly { value: Value; title: string }[];
  selected: Value;
  onSelect: (value: Value) => void;
}

/** A few choices beside each other, of which one is selected. */
export function Choices<Value extends string>({ label, choices, selected, onSelect }: Props<Value>) {
  const name = useId();
  return (
    <fieldset class="choices">
      <legend class="sr-only">{label}</legend>
      {choices.map(({ value, title }) => (
        <label key={value}>
          <input type="radio" name={name} checked={value === selected} onChange={() => onSelect(value)} />
          <span>{title}</span>
        </label>
      ))}
    </fieldset>
  );
}
