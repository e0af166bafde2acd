import { State } from "../parts/index.js";
import type { TurnState } from "../types.js";
import { channelOf, shortName } from "./names.js";

export function ChatHead({ session, open }: { session: string; open: TurnState | null }) {
  return (
    <header class="chat-head">
      <h1>{shortName(session)}</h1>
      <span class="hint">{channelOf(session)}</span>
      {open && <State word={open} />}
    </header>
  );
}
