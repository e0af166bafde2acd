import { useState } from "preact/hooks";

import { get, path } from "../api.js";
import { oneLine } from "../format.js";
import { useLoad } from "../hooks.js";
import { Button, Empty, Loaded, Page, State, Table, Time, type Column } from "../parts/index.js";
import { go, href } from "../router.js";
import type { ViewProps } from "../routes.js";
import { ScheduleActions } from "./schedules/ScheduleActions.js";
import { ScheduleForm } from "./schedules/ScheduleForm.js";
import { SchedulePage } from "./schedules/SchedulePage.js";
import type { ShownSchedule } from "./schedules/types.js";
import { RESULTS, workOf } from "./schedules/words.js";

/** The list of schedules, or one of them: `#/schedules/s2`. */
export function Schedules({ parts: [id] }: ViewProps) {
  return id ? <SchedulePage id={id} /> : <ScheduleList />;
}

/** The list of the interface has no runs, so the first schedules are loaded one by one. */
const MOST_WITH_RUNS = 40;

async function listWithRuns(ended: boolean, signal: AbortSignal): Promise<ShownSchedule[]> {
  const all = await get<ShownSchedule[]>("/v1/schedules", { ended }, signal);
  const show = (row: ShownSchedule) =>
    // A schedule that was removed meanwhile stays as it was in the list, until the event comes.
    get<ShownSchedule>(path("schedules", row.schedule.id), {}, signal).catch(() => row);
  const shown = await Promise.all(all.slice(0, MOST_WITH_RUNS).map(show));
  return [...shown, ...all.slice(MOST_WITH_RUNS)];
}

function ScheduleList() {
  const [withEnded, setWithEnded] = useState(false);
  const [isFormOpen, setFormOpen] = useState(false);
  const load = useLoad<ShownSchedule[]>(
    (signal) => listWithRuns(withEnded, signal),
    [withEnded],
    { on: ["schedule"] },
  );
  const columns: Column<ShownSchedule>[] = [
    {
      title: "Schedule",
      kind: "lead",
      cell: ({ schedule, times }) => (
        <>
          <a class="row-link" href={href("schedules", schedule.id)}>{oneLine(workOf(schedule.work).body)}</a>
          <p class="row-note">{schedule.name ?? schedule.id}, {times}</p>
        </>
      ),
    },
    { title: "State", cell: ({ schedule }) => <State word={schedule.state} /> },
    { title: "Next", cell: ({ schedule }) => schedule.next_at === null ? "none" : <Time at={schedule.next_at} /> },
    { title: "Last run", cell: ({ runs: [last] }) => last ? <span title={RESULTS[last.result]}><Time at={last.due} /></span> : "none" },
    { title: "Actions", kind: "actions", cell: (shown) => <ScheduleActions shown={shown} onDone={load.reload} /> },
  ];
  return (
    <Page
      title="Schedules"
      hint="Reminders and tasks that begin by themselves."
      actions={<Button look="primary" icon="plus" onClick={() => setFormOpen(true)}>New schedule</Button>}
    >
      <label class="check">
        <input type="checkbox" checked={withEnded} onChange={(event) => setWithEnded(event.currentTarget.checked)} />
        Show schedules that have ended
      </label>
      <Loaded load={load} failure="The schedules could not be loaded">
        {(rows) => rows.length === 0 ? (
          <Empty icon="schedules" title="No schedules">
            "New schedule" makes one. You can also ask the agent, for example "Remind me at 6 to call Ben".
          </Empty>
        ) : (
          <Table label="Schedules" columns={columns} rows={rows} rowKey={({ schedule }) => schedule.id} />
        )}
      </Loaded>
      <ScheduleForm isOpen={isFormOpen} onClose={() => setFormOpen(false)} onAdded={(id) => go("schedules", id)} />
    </Page>
  );
}
