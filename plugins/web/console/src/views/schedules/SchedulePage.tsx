import { get, path, remove } from "../../api.js";
import { counted, exactTime } from "../../format.js";
import { useLoad } from "../../hooks.js";
import { ConfirmButton, Loaded, Page, State, Table, Time, type Column } from "../../parts/index.js";
import { go, href } from "../../router.js";
import { Facts, type Fact } from "../shared/Facts.js";
import { SessionLink } from "../shared/SessionLink.js";
import { ScheduleActions } from "./ScheduleActions.js";
import type { ScheduleRun, ShownSchedule } from "./types.js";
import { CATCH_UPS, RESULTS, tableOf, WORK_TITLES, workOf } from "./words.js";

const RUNS: Column<ScheduleRun>[] = [
  { title: "Due", kind: "lead", cell: ({ due }) => <><Time at={due} /> <span class="row-note">{exactTime(due)}</span></> },
  { title: "Result", cell: ({ result }) => RESULTS[result] },
  { title: "Replaces", cell: ({ skipped }) => skipped === 0 ? "none" : counted(skipped, "missed time") },
];

/** One schedule with its next times and its last runs. */
export function SchedulePage({ id }: { id: string }) {
  const load = useLoad<ShownSchedule>(
    (signal) => get(path("schedules", id), {}, signal),
    [id],
    { on: ["schedule", "message.queued"] },
  );
  const discard = async () => {
    await remove(path("schedules", id));
    go("schedules");
  };
  const table = load.data && tableOf(load.data);
  return (
    <Page
      title={load.data?.schedule.name ?? `Schedule ${id}`}
      back={{ title: "Schedules", href: href("schedules") }}
      actions={load.data && (
        <>
          <ScheduleActions shown={load.data} onDone={load.reload} />
          <ConfirmButton
            look="danger"
            icon="trash"
            question={`Remove schedule ${id}?`}
            confirm="Remove"
            details={table
              ? `The table ${table} of the configuration makes the schedule again at the next start. Delete that table, too.`
              : "Its runs are deleted with it. The conversation of its runs stays."}
            action={discard}
          >
            Remove
          </ConfirmButton>
        </>
      )}
    >
      <Loaded load={load} failure={`Schedule ${id} could not be loaded`}>{(shown) => <Shown shown={shown} />}</Loaded>
    </Page>
  );
}

function Shown({ shown }: { shown: ShownSchedule }) {
  const { kind, body } = workOf(shown.schedule.work);
  return (
    <>
      <section class="panel"><Facts facts={facts(shown)} /></section>
      <section class="panel">
        <h2>{WORK_TITLES[kind]}</h2>
        <div class="prose-box">{body}</div>
      </section>
      <section class="panel">
        <h2>Next times</h2>
        {shown.next.length === 0 ? <p class="hint">None.</p> : <ul class="lines">{shown.next.map((time) => <li key={time}>{time}</li>)}</ul>}
      </section>
      <section class="panel">
        <h2>Last runs</h2>
        {shown.runs.length === 0
          ? <p class="hint">It has not run yet.</p>
          : <Table label="Last runs" columns={RUNS} rows={shown.runs} rowKey={({ due }) => String(due)} />}
      </section>
    </>
  );
}

function facts(shown: ShownSchedule): Fact[] {
  const { schedule, times } = shown;
  const { owner, rule } = schedule;
  return [
    ["State", <State word={schedule.state} />],
    ["Reason", schedule.reason],
    ["Times", times],
    ["Time zone", rule.zone],
    ["Chat", <SessionLink session={owner.address} />],
    ["In the name of", owner.sender.name ? `${owner.sender.name} (${owner.sender.id})` : owner.sender.id],
    ["Agent", schedule.agent],
    ["Missed times", CATCH_UPS[schedule.catch_up]],
    ["No news", schedule.quiet ? "An answer without news is not sent." : "Every answer is sent."],
    ["Configured in", tableOf(shown)],
    ["Created", <Time at={schedule.made_at} />],
  ];
}
