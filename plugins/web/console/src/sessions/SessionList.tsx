import { useState } from "preact/hooks";

import { channelOf, newChat, shortName } from "../chat/names.js";
import { counted } from "../format.js";
import { useLoad } from "../hooks.js";
import { Badge, Button, Empty, Icon, Loaded, State, Tabs, Time } from "../parts/index.js";
import { href } from "../router.js";
import type { SessionSummary } from "../types.js";
import { SessionMenu } from "./SessionMenu.js";
import { loadSessions } from "./summaries.js";

const PAGE = 50;
const MOST_PINNED = 500;
const EVENTS = ["message.queued", "turn"];

const TABS = [
  { name: "current", title: "Current" },
  { name: "archived", title: "Archived" },
] as const;

export function SessionList() {
  const [tab, setTab] = useState<"current" | "archived">("current");
  return (
    <Tabs label="Sessions" tabs={TABS} selected={tab} onSelect={setTab}>
      <Rows key={tab} isArchive={tab === "archived"} />
    </Tabs>
  );
}

interface LoadedRows {
  pinned: SessionSummary[];
  rows: SessionSummary[];
}

function Rows({ isArchive }: { isArchive: boolean }) {
  const [pages, setPages] = useState(1);
  const sessions = useLoad((signal) => loadRows(isArchive, pages, signal), [], { on: EVENTS });
  const showMore = () => {
    setPages(pages + 1);
    sessions.reload();
  };
  return (
    <Loaded load={sessions} failure="The sessions could not be loaded">
      {({ pinned, rows }) =>
        pinned.length + rows.length === 0 ? (
          <NoSessions isArchive={isArchive} />
        ) : (
          <>
            <ul class="list" aria-label="Sessions">
              {[...pinned, ...rows].map((row) => <SessionItem key={row.session} row={row} />)}
            </ul>
            {rows.length > 0 && rows.length % PAGE === 0 && (
              <Button class="more" isBusy={sessions.isLoading} onClick={showMore}>Show more</Button>
            )}
          </>
        )
      }
    </Loaded>
  );
}

function NoSessions({ isArchive }: { isArchive: boolean }) {
  if (isArchive) {
    return <Empty icon="sessions" title="The archive is empty">A conversation is archived in its menu. The next message brings it back.</Empty>;
  }
  return (
    <Empty icon="sessions" title="No sessions yet">
      <p>Each chat with the agent is a session, on any channel.</p>
      <Button onClick={newChat}>Start the first chat</Button>
    </Empty>
  );
}

/** Loads all shown pages again, because a message moves its session to the top. */
async function loadRows(isArchive: boolean, pages: number, signal: AbortSignal): Promise<LoadedRows> {
  const pinned = isArchive ? [] : await loadSessions({ limit: MOST_PINNED, only: "pinned" }, signal);
  const rows: SessionSummary[] = [];
  for (let page = 0; page < pages; page += 1) {
    const last = rows.at(-1);
    const after = last && `${last.used_at}/${last.session}`;
    const more = await loadSessions({ limit: PAGE, after, only: isArchive ? "archived" : "other" }, signal);
    rows.push(...more);
    if (more.length < PAGE) {
      break;
    }
  }
  return { pinned, rows };
}

function SessionItem({ row }: { row: SessionSummary }) {
  const { session, title, turns, used_at, open, is_pinned } = row;
  const name = shortName(session);
  return (
    <li>
      <a class="list-link" href={href("chat", session)}>
        <span class="list-title">{title || name}</span>
        <span class="list-details">
          {is_pinned && <span class="pinned"><Icon name="pin" size={14} />Pinned</span>}
          <Badge>{channelOf(session)}</Badge>
          {title && <span>{name}</span>}
          <span>{counted(turns, "turn")}</span>
          <Time at={used_at} />
          {open && <State word={open} />}
        </span>
      </a>
      <SessionMenu row={row} />
    </li>
  );
}
