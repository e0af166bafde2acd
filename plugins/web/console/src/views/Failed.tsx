import { get } from "../api.js";
import { oneLine } from "../format.js";
import { Empty, Loaded, Page, Table, Time, type Column } from "../parts/index.js";
import { href } from "../router.js";
import type { ViewProps } from "../routes.js";
import type { DeadLetter } from "../types.js";
import { FailedActions } from "./failed/FailedActions.js";
import { FailedPage } from "./failed/FailedPage.js";
import { Reason } from "./failed/Reason.js";
import { More } from "./shared/More.js";
import { usePages } from "./shared/pages.js";

const PAGE = 50;
/** Events that may add or remove a failed message. */
const FAILED_KINDS = ["delivery.dead", "delivery.unconfirmed", "delivery.pending", "delivery.sent", "message.dead", "message.queued"];

/** The list of failed messages, or one of them: `#/failed/o7`. */
export function Failed({ parts: [id] }: ViewProps) {
  return id ? <FailedPage id={id} /> : <FailedList />;
}

function FailedList() {
  const load = usePages<DeadLetter>(
    (last, signal) => get("/v1/dead-letters", { limit: PAGE, after: last?.id }, signal),
    PAGE,
    { on: FAILED_KINDS },
  );
  const columns: Column<DeadLetter>[] = [
    {
      title: "Message",
      kind: "lead",
      cell: ({ id, summary, error }) => (
        <div>
          <a class="row-link" href={href("failed", id)}>{summary || id}</a>
          {error && <p class="row-note">{oneLine(error, 140)}</p>}
        </div>
      ),
    },
    { title: "Reason", cell: ({ reason }) => <Reason reason={reason} /> },
    { title: "Chat", cell: ({ chat }) => <span class="mono">{chat}</span> },
    { title: "Time", cell: ({ at }) => <Time at={at} /> },
    { title: "Actions", kind: "actions", cell: (letter) => <FailedActions letter={letter} onDone={load.reload} /> },
  ];
  return (
    <Page title="Failed messages" hint="Messages that the daemon has stopped trying to deliver or to answer.">
      <Loaded load={load} failure="The failed messages could not be loaded">
        {({ rows }) => rows.length === 0 ? (
          <Empty icon="check" title="No failed messages">
            A message that a platform refuses, or that cannot be answered, is listed here. You can then retry it or drop it.
          </Empty>
        ) : (
          <Table label="Failed messages, the newest first" columns={columns} rows={rows} rowKey={({ id }) => id} />
        )}
      </Loaded>
      <More load={load} />
    </Page>
  );
}
