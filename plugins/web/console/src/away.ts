/**
 * What came while nobody looked. A hidden page usually closes its stream of events; one hidden page of the
 * browser, which the lock chooses, keeps it. It counts the answers in the title and on the icon, and shows
 * notifications if they are allowed. Looking at the page ends that.
 */

import { shortName } from "./chat/names.js";
import { oneLine } from "./format.js";
import { listen } from "./live.js";
import { go } from "./router.js";
import { summaries } from "./sessions/summaries.js";
import { Store } from "./store.js";
import type { LogEvent } from "./types.js";

const ASKED_KEY = "avocet.notifications.asked";
const BODY_CHARACTERS = 140;

/** The answers and questions that came while the page was hidden. */
export const unseen = new Store(0);

/** `true` while the page asks if it may show notifications: once, after the first answer in the background. */
export const isAsking = new Store(false);

interface News {
  session: string;
  text: string;
}

/** Returns what a person wants to know of an event at once; `null` for any other event. */
export function newsOf(event: LogEvent): News | null {
  const { kind, session = "", turn_info, delivery } = event;
  if (session.startsWith("web:")) {
    switch (kind) {
      case "turn.done":
        return { session, text: turn_info?.answer ?? "The answer is there." };
      case "turn.failed":
        return { session, text: turn_info?.notice ?? "There is no answer." };
      case "turn.waiting":
        return asksPerson(event) ? { session, text: "I need your decision." } : null;
      default:
        return null;
    }
  }
  // A report of a schedule or a job, or a text of another program.
  const isReport = kind === "delivery.sent" && delivery?.chat.startsWith("web:");
  return isReport ? { session: delivery!.chat, text: "A message has come." } : null;
}

function asksPerson({ turn_info }: LogEvent): boolean {
  return (turn_info?.waits_for ?? []).some((kind) => kind !== "child");
}

/** Starts to watch. Called once, by the page. */
export function startAway(): void {
  listen(["turn", "delivery"], (event) => {
    const news = event !== null && document.hidden ? newsOf(event) : null;
    if (news !== null) {
      unseen.set(unseen.get() + 1);
      showBadge(unseen.get());
      notify(news);
    }
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && unseen.get() > 0) {
      isAsking.set(mayAsk());
      unseen.set(0);
      showBadge(0);
    }
  });
}

function mayAsk(): boolean {
  return "Notification" in window && Notification.permission === "default" && localStorage.getItem(ASKED_KEY) === null;
}

/** Takes the person's answer. The browser then asks in its own words. */
export async function answerQuestion(isWanted: boolean): Promise<void> {
  localStorage.setItem(ASKED_KEY, "1");
  isAsking.set(false);
  if (isWanted) {
    await Notification.requestPermission();
  }
}

function notify({ session, text }: News): void {
  if (!("Notification" in window) || Notification.permission !== "granted") {
    return;
  }
  const title = summaries.get().get(session)?.title || shortName(session);
  try {
    const note = new Notification(title, { body: oneLine(text, BODY_CHARACTERS), tag: session, icon: "/icon.svg" });
    note.onclick = () => {
      focus();
      go("chat", session);
      note.close();
    };
  } catch {
    // Chrome on Android shows notifications of service workers only. The title and the badge remain.
  }
}

/** The number on the icon of an installed page. */
function showBadge(count: number): void {
  const { setAppBadge, clearAppBadge } = navigator as Partial<Navigator>;
  const done = count > 0 ? setAppBadge?.call(navigator, count) : clearAppBadge?.call(navigator);
  done?.catch(() => undefined);
}
