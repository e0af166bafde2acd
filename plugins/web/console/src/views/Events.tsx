import { useState } from "preact/hooks";

import { counted } from "../format.js";
import { Button, Empty, Page, Problem, Skeleton } from "../parts/index.js";
import { href } from "../router.js";
import type { ViewProps } from "../routes.js";
import { EventFilters } from "./events/EventFilters.js";
import { EventRow } from "./events/EventRow.js";
import type { EventFilter } from "./events/older.js";
import { MOST_ROWS } from "./events/tailState.js";
import { useTail, type Tail } from "./events/useTail.js";

/** The part of the address that stands for all kinds. */
const ALL = "all";

/** The events of the log as they come: `#/events/turn.failed/telegram:main:7`. */
export function Events({ parts: [kind = ALL, session = ""] }: ViewProps) {
  const [filter, setFilter] = useState<EventFilter>({ kind: kind === ALL ? "" : kind, session });
  const tail = useTail(filter);
  const select = (next: EventFilter) => {
    setFilter(next);
    // The address of the selection, without a new view: that would take the focus from the select.
    history.replaceState(null, "", href("events", next.kind || ALL, ...(next.session ? [next.session] : [])));
  };
  return (
    <Page title="Events" hint="Each change in the log, the newest first.">
      <div class="toolbar">
        <EventFilters filter={filter} onChange={select} />
        {tail.isPaused
          ? <Button look="primary" onClick={tail.proceed}>Continue</Button>
          : <Button onClick={tail.pause}>Pause</Button>}
      </div>
      <p class="hint tail-state" role="status">{stateText(tail)}</p>
      {tail.error !== undefined && <Problem title="The events could not be loaded" error={tail.error} onRetry={tail.reload} />}
      {tail.isLoading && tail.rows.length === 0 ? <Skeleton lines={8} /> : <Rows tail={tail} />}
    </Page>
  );
}

function Rows({ tail }: { tail: Tail }) {
  if (tail.rows.length === 0) {
    return tail.error === undefined && <Empty icon="events" title="No events">Events of this filter appear here as they come.</Empty>;
  }
  return (
    <>
      <ol class="events">{tail.rows.map((event) => <EventRow key={event.seq} event={event} />)}</ol>
      {tail.hasOlder && (
        <div class="more"><Button isBusy={tail.isLoadingOlder} onClick={tail.older}>Show older events</Button></div>
      )}
    </>
  );
}

function stateText({ isPaused, waiting, hasGap }: Tail): string {
  if (!isPaused) {
    return "Shows new events as they come.";
  }
  const more = waiting.length >= MOST_ROWS ? `More than ${MOST_ROWS} new events wait.` : `${counted(waiting.length, "new event")} waiting.`;
  return `Paused. ${hasGap ? "\"Continue\" shows the newest events." : more}`;
}
