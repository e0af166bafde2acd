import { errorText, get, path, post, remove } from "../../api.js";
import { useAction } from "../../hooks.js";
import { Button } from "../../parts/index.js";
import { Notice } from "../shared/Notice.js";
import type { MemoryDetails } from "../../types.js";

/** Forgets a memory at once, because it can be undone. */
export function ForgetButton({ id, onForgotten }: { id: string; onForgotten: () => void }) {
  const forgetting = useAction(async () => {
    await remove(path("memories", id));
    onForgotten();
  });
  return (
    <>
      <Button look="quiet" icon="trash" isBusy={forgetting.isRunning} onClick={() => void forgetting.run()} aria-label={`Forget ${id}`}>
        Forget
      </Button>
      {forgetting.error !== undefined && <p class="fault" role="alert">{errorText(forgetting.error)}</p>}
    </>
  );
}

interface NoticeProps {
  /** The memory that was forgotten; `null` for none. */
  id: string | null;
  onClose: () => void;
}

/** Says that a memory is forgotten, and undoes it. */
export function ForgottenNotice({ id, onClose }: NoticeProps) {
  const undoing = useAction(async () => {
    if (id !== null) {
      await undoForget(id);
      onClose();
    }
  });
  return (
    <Notice onClose={onClose}>
      {id === null ? null : (
        <>
          {`${id} is forgotten. `}
          <button type="button" class="text-button" disabled={undoing.isRunning} onClick={() => void undoing.run()}>Undo</button>
          {undoing.error !== undefined && <p class="fault">{errorText(undoing.error)}</p>}
        </>
      )}
    </Notice>
  );
}

/** Undoes the last change of a memory if it made the agent forget it. */
async function undoForget(id: string): Promise<void> {
  const { changes } = await get<MemoryDetails>(path("memories", id));
  const [last] = changes;
  if (last?.kind === "forgotten") {
    await post(path("memory-changes", last.id, "undo"));
  }
}
