import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { errorText } from "../api.js";
import { useAction } from "../hooks.js";
import { Button, type ButtonProps } from "./Button.js";
import { Dialog } from "./Dialog.js";

interface Props extends Omit<ButtonProps, "onClick" | "action"> {
  /** The title of the dialog: "Delete this chat?" */
  question: string;
  /** The text of the button that acts: "Delete". */
  confirm: string;
  /** The text of the button that does nothing. Default: "Cancel". */
  dismiss?: string;
  /** The consequences. */
  details?: ComponentChildren;
  action: () => Promise<unknown>;
}

/** A button that asks before it acts. The dialog stays open with the error if the action fails. */
export function ConfirmButton({ question, confirm, dismiss = "Cancel", details, action, ...button }: Props) {
  const [isOpen, setOpen] = useState(false);
  const acting = useAction(action);
  const act = async () => {
    if (await acting.run()) {
      setOpen(false);
    }
  };
  const open = () => {
    acting.clear();
    setOpen(true);
  };
  return (
    <>
      <Button {...button} onClick={open} />
      <Dialog title={question} isOpen={isOpen} onClose={() => setOpen(false)}>
        {details && <p>{details}</p>}
        {acting.error !== undefined && <p class="fault" role="alert">{errorText(acting.error)}</p>}
        <div class="actions end">
          <Button onClick={() => setOpen(false)}>{dismiss}</Button>
          <Button look="danger" isBusy={acting.isRunning} onClick={() => void act()}>{confirm}</Button>
        </div>
      </Dialog>
    </>
  );
}
