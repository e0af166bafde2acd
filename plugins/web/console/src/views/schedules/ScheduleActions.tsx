import { errorText, path, post } from "../../api.js";
import { useAction } from "../../hooks.js";
import { Button } from "../../parts/index.js";
import type { ShownSchedule } from "./types.js";

interface Props {
  shown: ShownSchedule;
  /** Called after each change. */
  onDone: () => void;
}

/** Runs a schedule now, and pauses or resumes it. */
export function ScheduleActions({ shown: { schedule }, onDone }: Props) {
  const { id, state } = schedule;
  const acting = useAction(async (command: "run" | "pause" | "resume") => {
    await post(path("schedules", id, command));
    onDone();
  });
  return (
    <div class="row-actions">
      {state !== "ended" && (
        <Button isBusy={acting.isRunning} onClick={() => void acting.run("run")} aria-label={`Run now: ${id}`}>Run now</Button>
      )}
      {state === "active" && (
        <Button look="quiet" isBusy={acting.isRunning} onClick={() => void acting.run("pause")} aria-label={`Pause ${id}`}>Pause</Button>
      )}
      {state === "paused" && (
        <Button look="quiet" isBusy={acting.isRunning} onClick={() => void acting.run("resume")} aria-label={`Resume ${id}`}>Resume</Button>
      )}
      {acting.error !== undefined && <p class="fault" role="alert">{errorText(acting.error)}</p>}
    </div>
  );
}
