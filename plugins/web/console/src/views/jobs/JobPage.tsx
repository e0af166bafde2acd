import { get, path, post } from "../../api.js";
import { count, duration, money, price } from "../../format.js";
import { useLoad } from "../../hooks.js";
import { Markdown } from "../../markdown/Markdown.js";
import { ConfirmButton, Loaded, Page, State, Time } from "../../parts/index.js";
import { href } from "../../router.js";
import type { JobStatus } from "../../types.js";
import { Facts, type Fact } from "../shared/Facts.js";
import { SessionLink } from "../shared/SessionLink.js";

const ENDED = ["completed", "failed", "cancelled"];
const GATHER_MS = 500;

/** One job: its task, its limits, its progress and its report. */
export function JobPage({ id }: { id: string }) {
  const load = useLoad<JobStatus>((signal) => get(path("jobs", id), {}, signal), [id], {
    on: ["message", "turn", "usage", "model"],
    gather: GATHER_MS,
  });
  const cancel = async () => {
    await post(path("jobs", id, "cancel"));
    load.reload();
  };
  const isOpen = load.data && !ENDED.includes(load.data.state);
  return (
    <Page
      title={`Job ${id}`}
      back={{ title: "Jobs", href: href("jobs") }}
      actions={isOpen && (
        <ConfirmButton
          look="danger"
          icon="stop"
          question={`Cancel job ${id}?`}
          confirm="Cancel the job"
          dismiss="Let it run"
          details="The work ends at once. Changes that it has made stay."
          action={cancel}
        >
          Cancel the job
        </ConfirmButton>
      )}
    >
      <Loaded load={load} failure={`Job ${id} could not be loaded`}>{(job) => <JobDetails job={job} />}</Loaded>
    </Page>
  );
}

function JobDetails({ job }: { job: JobStatus }) {
  return (
    <>
      <section class="panel"><Facts facts={facts(job)} /></section>
      <section class="panel">
        <h2>Task</h2>
        <div class="prose-box">{job.task}</div>
      </section>
      <section class="panel">
        <h2>Report</h2>
        {job.result === null
          ? <p class="hint">The report is written when the job ends. <a href={href("chat", job.session)}>Follow its session</a> until then.</p>
          : <Markdown text={job.result} />}
      </section>
    </>
  );
}

function facts(job: JobStatus): Fact[] {
  const { limits, usage } = job;
  const time = job.started_at !== null && job.ended_at !== null && duration(job.ended_at - job.started_at);
  const limit = limits.max_cost ? ` of ${money(limits.max_cost)}` : "";
  return [
    ["State", <State word={job.state} />],
    ["Agent", job.agent],
    ["Submitted", <><Time at={job.submitted_at} /> by {job.submitted_by}</>],
    ["Started", job.started_at !== null && <Time at={job.started_at} />],
    ["Ended", job.ended_at !== null && <><Time at={job.ended_at} />{time && `, after ${time}`}</>],
    ["Requests", `${job.inference_runs} of ${limits.max_inference_runs}`],
    ["Time limit", `${duration(limits.max_seconds * 1000)}; waits for people do not count`],
    ["Cost", `${price(usage)}${limit}`],
    ["Tokens", `${count(usage.input)} in, ${count(usage.output)} out`],
    ["Directory", <span class="mono">{job.workspace ?? "the workspace of the profile"}</span>],
    ["Session", <SessionLink session={job.session} />],
  ];
}
