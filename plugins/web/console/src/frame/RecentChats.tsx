import { channelOf, isOwnChannel, shortName } from "../chat/names.js";
import { useLoad } from "../hooks.js";
import { href, useRoute } from "../router.js";
import { loadSessions } from "../sessions/summaries.js";
import type { SessionSummary } from "../types.js";

const SHOWN = 6;
const MOST_PINNED = 20;

/** Loads the pinned sessions, and those that were used last. */
async function load(signal: AbortSignal): Promise<SessionSummary[]> {
  const [pinned, others] = await Promise.all([
    loadSessions({ limit: MOST_PINNED, only: "pinned" }, signal),
    loadSessions({ limit: SHOWN, only: "other" }, signal),
  ]);
  return [...pinned, ...others];
}

/** The sessions that were used last. After an error nothing is shown here; the view Sessions shows the error. */
export function RecentChats({ onLeave }: { onLeave: () => void }) {
  const { data } = useLoad(load, [], { on: ["message.queued", "turn.running"] });
  const { name, parts } = useRoute();
  if (data === undefined || data.length === 0) {
    return null;
  }
  return (
    <section>
      <h2>Recent</h2>
      <ul>
        {data.map(({ session, title }) => (
          <li key={session}>
            <a
              class="nav-link recent"
              href={href("chat", session)}
              title={session}
              aria-current={name === "chat" && parts[0] === session ? "true" : undefined}
              onClick={onLeave}
            >
              <span>{title || shortName(session)}</span>
              {!isOwnChannel(session) && <span class="nav-channel">{channelOf(session)}</span>}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
