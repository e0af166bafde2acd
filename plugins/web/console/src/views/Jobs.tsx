import { useState } from "preact/hooks";

import { get } from "../api.js";
import { counted, oneLine, price } from "../format.js";
import { Button, Empty, Loaded, Page, State, Table, Time, type Column } from "../parts/index.js";
import { go, href } from "../router.js";
import type { ViewProps } from "../routes.js";
import type { JobStatus } from "../types.js";
import { JobForm } from "./jobs/JobForm.js";
import { JobPage } from "./jobs/JobPage.js";
import { More } from "./shared/More.js";
import { usePages } from "./shared/pages.js";

const PAGE = 50;
const GATHER_MS = 1000;

const COLUMNS: Column<JobStatus>[] = [
  { title: "Job", kind: "lead", cell: ({ id, task }) => <a class="row-link" href={href("jobs", id)}>{oneLine(task)}</a> },
  { title: "State", cell: ({ state }) => <State word={state} /> },
  { title: "Agent", cell: ({ agent }) => agent },
  { title: "Submitted", cell: ({ submitted_at }) => <Time at={submitted_at} /> },
  { title: "Requests", kind: "number", cell: ({ inference_runs, limits }) => `${inference_runs} of ${limits.max_inference_runs}` },
  { title: "Cost", kind: "number", cell: ({ usage }) => price(usage) },
];

/** The list of jobs, or one of them: `#/jobs/j3`. */
export function Jobs({ parts: [id] }: ViewProps) {
  return id ? <JobPage id={id} /> : <JobList />;
}

function JobList() {
  const [isFormOpen, setFormOpen] = useState(false);
  const load = usePages<JobStatus>(
    (last, signal) => get("/v1/jobs", { limit: PAGE, before: last?.id }, signal),
    PAGE,
    { on: ["message", "turn"], gather: GATHER_MS },
  );
  const open = () => setFormOpen(true);
  return (
    <Page
      title="Jobs"
      hint="Long tasks that the agent works on in sessions of their own."
      actions={<Button look="primary" icon="plus" onClick={open}>New job</Button>}
    >
      <Loaded load={load} failure="The jobs could not be loaded">
        {({ rows }) => rows.length === 0 ? (
          <Empty icon="jobs" title="No jobs yet">
            A job is a task with limits on time, requests and cost. "New job" submits the first one.
          </Empty>
        ) : (
          <>
            <p class="sr-only" role="status">{counted(rows.length, "job")}</p>
            <Table label="Jobs, the newest first" columns={COLUMNS} rows={rows} rowKey={({ id }) => id} />
          </>
        )}
      </Loaded>
      <More load={load} />
      <JobForm isOpen={isFormOpen} onClose={() => setFormOpen(false)} onSubmitted={(id) => go("jobs", id)} />
    </Page>
  );
}
