import type { ComponentChildren } from "preact";

import { ApprovalCard } from "../approvals/ApprovalCard.js";
import { useAction } from "../hooks.js";
import { Markdown } from "../markdown/Markdown.js";
import { CopyButton, Problem } from "../parts/index.js";
import { href } from "../router.js";
import type { LoggedCall, LoggedInbound, OpenApproval, TurnRecord } from "../types.js";
import { branchFrom, regenerate, textToRegenerate } from "./branch.js";
import { Calls } from "./Calls.js";
import { isOpen, messagesOf } from "./items.js";
import { isLogged, type LiveTurn } from "./liveTurn.js";
import { MessageTime, Person } from "./Person.js";
import { isQuestion, Question } from "./Question.js";
import { isSentHere, SentByTool } from "./SentByTool.js";
import { Status } from "./Status.js";

interface Props {
  turn: TurnRecord;
  /** Its events, if it runs. */
  live: LiveTurn | null;
  /** Its calls that wait for a decision. */
  approvals: readonly OpenApproval[];
  /** Sends an answer to a question; `null` if the session is read only. */
  onAnswer: ((text: string) => void) | null;
}

/** The messages of people, and the agent's work and reply. */
export function Turn({ turn, live, approvals, onAnswer }: Props) {
  const messages = messagesOf(turn);
  return (
    <>
      {messages.map((message) => <Person key={message.id} message={message} />)}
      {"child" in turn.origin && <Task prompt={turn.origin.child.prompt} parent={turn.origin.child.parent} />}
      <article class="agent" aria-label="Answer">
        <Steps turn={turn} onAnswer={isOpen(turn) ? onAnswer : null} />
        {isOpen(turn) && <LiveText turn={turn} live={live} />}
        {turn.state !== "cancelled" && turn.notice !== null && <p class="notice">{turn.notice}</p>}
        {approvals.map((approval) => <ApprovalCard key={approval.id} approval={approval} />)}
        {isOpen(turn) && approvals.length === 0 && <Status turn={turn} live={live} />}
        {turn.state === "cancelled" && <p class="notice neutral">{asSentence(turn.notice ?? "stopped")}</p>}
        <Footer turn={turn} first={messages[0]} onAsk={onAnswer} />
      </article>
    </>
  );
}

function Task({ prompt, parent }: { prompt: string; parent: string }) {
  return (
    <article class="person">
      <div class="meta"><span class="sender">Task of turn {parent}</span></div>
      <div class="bubble"><p class="plain-text">{prompt}</p></div>
    </article>
  );
}

interface StepsProps {
  turn: TurnRecord;
  onAnswer: ((text: string) => void) | null;
}

/** Texts, calls and messages in their order. Calls without anything between them are one list. */
function Steps({ turn, onAnswer }: StepsProps) {
  const parts: ComponentChildren[] = [];
  let calls: LoggedCall[] = [];
  const add = (part: ComponentChildren) => {
    if (calls.length > 0) {
      parts.push(<Calls key={calls[0]!.id} calls={calls} />);
      calls = [];
    }
    parts.push(part);
  };
  for (const step of turn.steps) {
    if (step.text.trim() !== "") {
      add(<Markdown key={`text${step.number}`} text={step.text} />);
    }
    for (const call of step.calls) {
      if (isQuestion(call)) {
        add(<Question key={call.id} call={call} onAnswer={onAnswer} />);
      } else if (isSentHere(call, turn.session)) {
        add(<SentByTool key={call.id} turn={turn} call={call} />);
      } else {
        calls = [...calls, call];
      }
    }
    step.steered.forEach((message) => add(<Person key={message.id} message={message} />));
  }
  add(null);
  return <>{parts}</>;
}

/** The text that is being written, until the log has it. */
function LiveText({ turn, live }: { turn: TurnRecord; live: LiveTurn | null }) {
  if (live === null || live.text === "" || isLogged(turn, live)) {
    return null;
  }
  return <div class="writing" aria-busy="true"><Markdown text={live.text} /></div>;
}

function asSentence(text: string): string {
  const sentence = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}

interface FooterProps {
  turn: TurnRecord;
  /** The message that started the turn. */
  first: LoggedInbound | undefined;
  /** Sends a message; `null` if the session is read only. */
  onAsk: ((text: string) => void) | null;
}

function Footer({ turn, first, onAsk }: FooterProps) {
  const last = isOpen(turn) ? undefined : turn.steps.at(-1);
  return (
    <footer class="turn-foot">
      <MessageTime at={turn.started_at} />
      {last && last.calls.length === 0 && last.text !== "" && <CopyButton text={last.text} />}
      {!isOpen(turn) && onAsk !== null && <AgainActions turn={turn} first={first} onAsk={onAsk} />}
      {first && <a href={href("trace", first.id)}>Trace</a>}
    </footer>
  );
}

/** The ways to get another answer. A chat of another channel stays there, so its message is asked again in place. */
function AgainActions({ turn, first, onAsk }: FooterProps & { onAsk: (text: string) => void }) {
  const regenerating = useAction(() => regenerate(turn, text ?? ""));
  const branching = useAction(() => branchFrom(turn));
  const text = textToRegenerate(turn);
  const question = first?.message.inbound.content.text ?? "";
  const error = regenerating.error ?? branching.error;
  return (
    <>
      {text !== null && (
        <button type="button" class="link" disabled={regenerating.isRunning} onClick={() => void regenerating.run()}>Regenerate</button>
      )}
      {text === null && question !== "" && (
        <button type="button" class="link" onClick={() => onAsk(question)}>Ask again</button>
      )}
      <button type="button" class="link" disabled={branching.isRunning} onClick={() => void branching.run()}>Branch from here</button>
      {error !== undefined && <Problem title="The conversation could not be branched" error={error} />}
    </>
  );
}
