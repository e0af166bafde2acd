import type { ComponentChildren } from "preact";

interface Props {
  label: string;
  /** One line below the control. */
  hint?: ComponentChildren;
  children: ComponentChildren;
}

/** A label around a control. */
export function Field({ label, hint, children }: Props) {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
      {hint && <small class="hint">{hint}</small>}
    </label>
  );
}
