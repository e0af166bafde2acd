import type { ButtonHTMLAttributes, ComponentChildren } from "preact";

import { Icon, type IconName } from "./Icon.js";

export interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "icon"> {
  /** Default: `plain`. */
  look?: "plain" | "primary" | "danger" | "quiet";
  icon?: IconName;
  isBusy?: boolean;
  disabled?: boolean;
  type?: "button" | "submit";
  children?: ComponentChildren;
}

export function Button({ look = "plain", icon, isBusy = false, children, ...rest }: ButtonProps) {
  const { disabled = false, type = "button", class: extra = "", ...others } = rest;
  return (
    <button
      {...others}
      type={type}
      class={`button ${look} ${extra as string}`}
      disabled={disabled || isBusy}
      aria-busy={isBusy}
    >
      {icon && <Icon name={icon} />}
      {children !== undefined && <span>{children}</span>}
    </button>
  );
}

/** A button that shows only an icon. The label is read aloud and shown as a hint. */
export function IconButton({ label, ...rest }: ButtonProps & { label: string; icon: IconName }) {
  const { class: extra = "", ...others } = rest;
  return <Button look="quiet" {...others} class={`square ${extra as string}`} aria-label={label} title={label} />;
}
