import { get, path } from "../../api.js";
import { useLoad } from "../../hooks.js";
import { Loaded, Page, Time } from "../../parts/index.js";
import { go, href } from "../../router.js";
import type { DeadLetter } from "../../types.js";
import { Facts } from "../shared/Facts.js";
import { SessionLink } from "../shared/SessionLink.js";
import { FailedActions } from "./FailedActions.js";
import { MEANINGS, Reason } from "./Reason.js";

/** One failed message with its reason and its whole text. */
export function FailedPage({ id }: { id: string }) {
  const load = useLoad<DeadLetter>((signal) => get(path("dead-letters", id), {}, signal), [id]);
  return (
    <Page
      title={`Failed message ${id}`}
      back={{ title: "Failed messages", href: href("failed") }}
      actions={load.data && <FailedActions letter={load.data} onDone={() => go("failed")} />}
    >
      <Loaded load={load} failure={`Message ${id} could not be loaded`}>{(letter) => <Letter letter={letter} />}</Loaded>
    </Page>
  );
}

function Letter({ letter }: { letter: DeadLetter }) {
  const isIncoming = letter.reason === "dropped";
  return (
    <>
      <section class="panel">
        <Facts facts={[
          ["Reason", <><Reason reason={letter.reason} /> {MEANINGS[letter.reason]}</>],
          [isIncoming ? "Notice" : "Last error", letter.error],
          ["Chat", <SessionLink session={letter.chat} />],
          [isIncoming ? "Received" : "First sent", <Time at={letter.at} />],
          [isIncoming ? "Crashes" : "Attempts", isIncoming ? `${letter.attempts} during the answer` : String(letter.attempts)],
          ["Turn", letter.turn],
          ["Timeline", isIncoming && <a href={href("trace", letter.id)}>Show the timeline</a>],
        ]} />
      </section>
      <section class="panel">
        <h2>Text</h2>
        <div class="prose-box">{letter.text}</div>
      </section>
    </>
  );
}
