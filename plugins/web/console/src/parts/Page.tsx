import type { ComponentChildren } from "preact";

import { useTitle } from "../hooks.js";

interface Props {
  title: string;
  /** The view above this one. */
  back?: { title: string; href: string };
  /** One line below the title. */
  hint?: ComponentChildren;
  /** Buttons at the right of the title. */
  actions?: ComponentChildren;
  children: ComponentChildren;
}

/** A view with a title and a column of content. */
export function Page({ title, back, hint, actions, children }: Props) {
  useTitle(title);
  return (
    <div class="page">
      <header class="page-head">
        <div>
          {back && <a class="page-back" href={back.href}>{back.title}</a>}
          <h1>{title}</h1>
          {hint && <p class="hint">{hint}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}
