import { useState } from "preact/hooks";

import { get, path, remove } from "../api.js";
import { channelOf, newChat, shortName } from "../chat/names.js";
import { counted } from "../format.js";
import { useLoad } from "../hooks.js";
import { reloadAll } from "../live.js";
import { Badge, Button, ConfirmButton, Empty, Loaded, State, Time } from "../parts/index.js";
import { href } from "../router.js";
import type { SessionSummary } from "../types.js";

const PAGE = 50;
const EVENTS = ["message.queued", "turn"];

export function SessionList() {
  const [pages, setPages] = useState(1);
  const sessions = useLoad((signal) => loadPages(pages, signal), [], { on: EVENTS });
  const showMore = () => {
    setPages(pages + 1);
    sessions.reload();
  };
  return (
    <Loaded load={sessions} failure="The sessions could not be loaded">
      {(rows) =>
        rows.length === 0 ? (
          <Empty icon="sessions" title="No sessions yet">
            <p>Each chat with the agent is a session, on any channel.</p>
            <Button onClick={newChat}>Start the first chat</Button>
          </Empty>
        ) : (
          <>
            <ul class="list" aria-label="Sessions">
              {rows.map((row) => <SessionItem key={row.session} row={row} />)}
            </ul>
            {rows.length % PAGE === 0 && (
              <Button class="more" isBusy={sessions.isLoading} onClick={showMore}>Show more</Button>
            )}
          </>
        )
      }
    </Loaded>
  );
}

/** Loads all shown pages again, because a message moves its session to the top. */
async function loadPages(pages: number, signal: AbortSignal): Promise<SessionSummary[]> {
  const rows: SessionSummary[] = [];
  for (let page = 0; page < pages; page += 1) {
    const last = rows.at(-1);
    const after = last && `${last.used_at}/${last.session}`;
    const more = await get<SessionSummary[]>("/v1/sessions", { limit: PAGE, after }, signal);
    rows.push(...more);
    if (more.length < PAGE) {
      break;
    }
  }
  return rows;
}

function SessionItem({ row }: { row: SessionSummary }) {
  const { session, title, turns, used_at, open } = row;
  const name = shortName(session);
  const deleteSession = async () => {
    await remove(path("sessions", session));
    reloadAll();
  };
  return (
    <li>
      <a class="list-link" href={href("chat", session)}>
        <span class="list-title">{title || name}</span>
        <span class="list-details">
          <Badge>{channelOf(session)}</Badge>
          {title && <span>{name}</span>}
          <span>{counted(turns, "turn")}</span>
          <Time at={used_at} />
          {open && <State word={open} />}
        </span>
      </a>
      <ConfirmButton
        look="quiet"
        class="square"
        icon="trash"
        aria-label={`Delete ${name}`}
        title="Delete"
        question="Delete this conversation?"
        details={`All messages of ${session} are removed from the log. This cannot be undone.`}
        confirm="Delete"
        action={deleteSession}
      />
    </li>
  );
}
