import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

import { IconButton } from "./Button.js";

interface Props {
  title: string;
  isOpen: boolean;
  /** Default: `plain`. `picture` takes the whole screen. */
  look?: "plain" | "picture";
  onClose: () => void;
  children: ComponentChildren;
}

/** A modal dialog. Escape and a click beside it close it; the browser keeps the focus inside. */
export function Dialog({ title, isOpen, look = "plain", onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    if (isOpen && element && !element.open) {
      element.showModal();
      return () => element.close();
    }
    return undefined;
  }, [isOpen]);
  if (!isOpen) {
    return null;
  }
  const closeBeside = (event: MouseEvent) => {
    if (event.target === dialog.current) {
      onClose();
    }
  };
  return (
    <dialog ref={dialog} class={`dialog ${look}`} aria-labelledby={id} onClose={onClose} onClick={closeBeside}>
      <div class="dialog-body">
        <header class="dialog-head">
          <h2 id={id}>{title}</h2>
          <IconButton icon="close" label="Close" onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  );
}
