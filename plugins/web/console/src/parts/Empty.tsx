import type { ComponentChildren } from "preact";

import { Icon, type IconName } from "./Icon.js";

interface Props {
  icon?: IconName;
  /** "No jobs yet". */
  title: string;
  /** The way to make the first one. */
  children?: ComponentChildren;
}

/** The place of a list that has no rows. */
export function Empty({ icon, title, children }: Props) {
  return (
    <div class="empty">
      {icon && <Icon name={icon} size={28} />}
      <p class="empty-title">{title}</p>
      {children && <div class="empty-text">{children}</div>}
    </div>
  );
}
