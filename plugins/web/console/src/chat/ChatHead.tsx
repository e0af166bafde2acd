import { useLoad, useTitle } from "../hooks.js";
import { Icon, State } from "../parts/index.js";
import { go } from "../router.js";
import { SessionMenu } from "../sessions/SessionMenu.js";
import { loadSessions, summaries } from "../sessions/summaries.js";
import { useStore } from "../store.js";
import type { SessionSummary, TurnState } from "../types.js";
import { channelOf, isWritable, shortName } from "./names.js";
import { Settings } from "./Settings.js";

/** The rows among which a chat that no list has shown is looked for. */
const LOOKED_AT = 200;

export function ChatHead({ session, open }: { session: string; open: TurnState | null }) {
  const summary = useSummary(session);
  const name = shortName(session);
  const title = summary?.title || name;
  useTitle(title);
  return (
    <header class="chat-head">
      <h1 title={title}>{title}</h1>
      <span class="hint">{summary?.title ? `${channelOf(session)} · ${name}` : channelOf(session)}</span>
      {summary?.is_pinned && <Icon name="pin" size={14} />}
      {open && <State word={open} />}
      <span class="chat-actions">
        {isWritable(session) && <Settings session={session} />}
        {summary && <SessionMenu row={summary} onDeleted={() => go("sessions")} />}
      </span>
    </header>
  );
}

/** Returns the row of a session in the lists; `undefined` for a new or an old one. */
function useSummary(session: string): SessionSummary | undefined {
  const known = useStore(summaries).get(session);
  const isNew = known === undefined;
  useLoad(async (signal) => (isNew ? loadSessions({ limit: LOOKED_AT }, signal) : []), [session], { on: ["message.queued"], when: ({ session: of }) => isNew && of === session });
  return known;
}
