import { useMemo } from "preact/hooks";

import { dayName } from "../format.js";
import { State } from "../parts/index.js";
import type { OpenApproval } from "../types.js";
import type { Item } from "./items.js";
import type { LiveTurn } from "./liveTurn.js";
import { NoticeText } from "./Notice.js";
import { MessageTime } from "./Person.js";
import { Turn } from "./Turn.js";

interface Props {
  item: Item;
  /** `true` if the row before it is of another day. */
  isNewDay: boolean;
  live: LiveTurn | null;
  approvals: readonly OpenApproval[];
  onAnswer: ((text: string) => void) | null;
}

/** One row of a conversation. It is rendered again only if one of these values has changed. */
export function Row({ item, isNewDay, live, approvals, onAnswer }: Props) {
  return useMemo(
    () => (
      <>
        {isNewDay && <p class="day"><span>{dayName(item.at)}</span></p>}
        {item.kind === "turn" ? (
          <Turn turn={item.turn} live={live} approvals={approvals} onAnswer={onAnswer} />
        ) : (
          <article class="agent" aria-label="Notice">
            <NoticeText text={item.sent.text} isPlain={item.sent.is_plain ?? false} />
            <footer class="turn-foot">
              <MessageTime at={item.at} />
              <span>Notice</span>
              {item.sent.state !== "sent" && <State word={item.sent.state} />}
            </footer>
          </article>
        )}
      </>
    ),
    [item, isNewDay, live, approvals, onAnswer],
  );
}
