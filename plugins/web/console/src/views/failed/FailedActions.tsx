import { errorText, path, post, remove } from "../../api.js";
import { useAction } from "../../hooks.js";
import { Button, ConfirmButton } from "../../parts/index.js";
import type { DeadLetter } from "../../types.js";

interface Props {
  letter: DeadLetter;
  onDone: () => void;
}

/** Retries or drops a failed message. A message that may have arrived asks before it is sent again. */
export function FailedActions({ letter: { id, reason }, onDone }: Props) {
  const retry = async () => {
    await post(path("dead-letters", id, "retry"));
    onDone();
  };
  const retrying = useAction(retry);
  const drop = async () => {
    await remove(path("dead-letters", id));
    onDone();
  };
  return (
    <div class="row-actions">
      {reason === "unconfirmed" ? (
        <ConfirmButton
          icon="retry"
          question={`Send ${id} again?`}
          confirm="Send again"
          details="The message may have arrived before. Then the chat gets it twice."
          action={retry}
          aria-label={`Retry ${id}`}
        >
          Retry
        </ConfirmButton>
      ) : (
        <Button icon="retry" isBusy={retrying.isRunning} onClick={() => void retrying.run()} aria-label={`Retry ${id}`}>Retry</Button>
      )}
      <ConfirmButton
        look="quiet"
        icon="trash"
        question={`Drop ${id}?`}
        confirm="Drop"
        details="The message leaves this list. You can no longer retry it."
        action={drop}
        aria-label={`Drop ${id}`}
      >
        Drop
      </ConfirmButton>
      {retrying.error !== undefined && <p class="fault" role="alert">{errorText(retrying.error)}</p>}
    </div>
  );
}
