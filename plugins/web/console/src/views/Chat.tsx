import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";

import { useApprovals } from "../approvals/open.js";
import { Announcer } from "../chat/Announcer.js";
import { ChatHead } from "../chat/ChatHead.js";
import { Composer } from "../chat/Composer.js";
import { useConversation, type Snapshot } from "../chat/conversation.js";
import { History } from "../chat/History.js";
import { isOpen, itemsOf, takenMessages, type Item } from "../chat/items.js";
import { channelOf, isOwnChannel, isWritable, MAIN_CHAT } from "../chat/names.js";
import { useOutbox } from "../chat/outgoing.js";
import { ownTexts } from "../chat/ownTexts.js";
import { Row } from "../chat/Row.js";
import { Waiting } from "../chat/Waiting.js";
import { ApprovalCard } from "../approvals/ApprovalCard.js";
import { Empty, Problem, Skeleton } from "../parts/index.js";
import type { ViewProps } from "../routes.js";
import { useStore } from "../store.js";
import type { MessageAttachment, OpenApproval } from "../types.js";

const NO_APPROVALS: readonly OpenApproval[] = [];

/** The address has the session, and after a search the turn and the words. */
export function Chat({ parts }: ViewProps) {
  const session = parts[0] || MAIN_CHAT;
  const [, target, words] = parts;
  const conversation = useConversation(session);
  const state = useStore(conversation.state);
  const outbox = useOutbox(session);
  const waiting = useStore(outbox.list);
  const approvals = useSessionApprovals(session);
  const { turns, sent, isComplete } = state;
  const items = useMemo(() => itemsOf(turns, sent, isComplete), [turns, sent, isComplete]);
  useEffect(() => outbox.drop(takenMessages(turns)), [turns, waiting]);
  useEffect(() => {
    if (target !== undefined && state.isLoaded) {
      void conversation.loadTo(target);
    }
  }, [target, state.isLoaded]);
  const canWrite = isWritable(session);
  const [sends, setSends] = useState(0);
  const send = useCallback((text: string, attachments: MessageAttachment[] = []) => {
    outbox.send(text, attachments);
    setSends((count) => count + 1);
  }, [outbox]);
  const openTurn = turns.find(isOpen);
  const latest = useRef({ turns, waiting });
  latest.current = { turns, waiting };
  const earlier = useCallback(() => ownTexts(latest.current.turns, latest.current.waiting), []);

  // The day of the oldest loaded row may have begun earlier, so its line waits until no older rows are left.
  const row = (item: Item, before: Item | undefined) => {
    const isOfOpenTurn = openTurn !== undefined && item.key === openTurn.id;
    return (
      <Row
        item={item}
        isNewDay={before === undefined ? isComplete : dayOf(before) !== dayOf(item)}
        live={state.live?.turn === item.key ? state.live : null}
        approvals={isOfOpenTurn ? approvals : NO_APPROVALS}
        onAnswer={canWrite ? send : null}
      />
    );
  };
  const end = (
    <>
      {openTurn === undefined && approvals.map((approval) => <ApprovalCard key={approval.id} approval={approval} />)}
      <Waiting messages={waiting} outbox={outbox} />
      {state.isLoaded && items.length === 0 && waiting.length === 0 && <NoMessages canWrite={canWrite} />}
    </>
  );
  return (
    <div class="chat">
      <ChatHead session={session} open={openTurn?.state ?? null} />
      {state.error !== undefined && (
        <Problem
          title="The conversation could not be loaded"
          error={state.error}
          onRetry={() => conversation.reload()}
        />
      )}
      <Body state={state}>
        <History
          rows={items}
          render={row}
          hasOlder={!isComplete}
          onOlder={() => void conversation.loadOlder()}
          target={target}
          words={words}
          endRequest={sends}
          end={end}
        />
      </Body>
      <Announcer turns={turns} />
      {canWrite && !isOwnChannel(session) && <OtherChannel session={session} />}
      {canWrite ? (
        <Composer
          session={session}
          isRunning={openTurn !== undefined}
          isWaiting={openTurn?.state === "waiting"}
          canAttach={isOwnChannel(session)}
          earlier={earlier}
          onSend={send}
          onStop={() => send("/stop")}
        />
      ) : (
        <ReadOnly session={session} />
      )}
    </div>
  );
}

function dayOf({ at }: Item): string {
  return new Date(at).toDateString();
}

function Body({ state, children }: { state: Snapshot; children: ComponentChildren }) {
  if (!state.isLoaded) {
    return (
      <div class="history-frame">
        <div class="history-rows">{state.error === undefined && <Skeleton lines={6} />}</div>
      </div>
    );
  }
  return <>{children}</>;
}

/** Returns the same list as long as the approvals of the session stay the same. */
function useSessionApprovals(session: string): readonly OpenApproval[] {
  const { data } = useApprovals();
  return useMemo(() => {
    const own = (data ?? []).filter((approval) => approval.session === session);
    return own.length === 0 ? NO_APPROVALS : own;
  }, [data, session]);
}

function NoMessages({ canWrite }: { canWrite: boolean }) {
  return (
    <Empty icon="chat" title="No messages yet">
      {canWrite
        ? "Write the first one below. The command /help lists the commands of the chat."
        : "Messages of this chat appear here."}
    </Empty>
  );
}

/** Says where the answers of a chat of another channel go. */
function OtherChannel({ session }: { session: string }) {
  return <p class="other-channel">This conversation takes place on {channelOf(session)}. The agent answers there, and here you read along.</p>;
}

function ReadOnly({ session }: { session: string }) {
  return <p class="read-only">This is work without a chat: {channelOf(session)}. You can only read it.</p>;
}
