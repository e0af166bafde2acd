import { Button } from "../parts/index.js";
import type { LoggedCall } from "../types.js";
import { isObject } from "./Value.js";

/** `true` for a question to the person that waits for an answer or has one. */
export function isQuestion({ call, state }: LoggedCall): boolean {
  return call.name === "ask_user" && (state === "waiting" || answerOf(state) !== null);
}

function answerOf(state: LoggedCall["state"]): string | null {
  const value = typeof state === "object" && "finished" in state && state.finished.ok ? state.finished.value : null;
  return isObject(value) && typeof value["answer"] === "string" ? value["answer"] : null;
}

interface Props {
  /** A call that `isQuestion` accepts. */
  call: LoggedCall;
  /** Sends an answer; `null` if the session is read only. */
  onAnswer: ((text: string) => void) | null;
}

/** A question of the agent, with its answer or a button for each answer that the agent offers. */
export function Question({ call, onAnswer }: Props) {
  const given = "object" in call.call.arguments ? call.call.arguments.object : {};
  const question = String(given["question"] ?? "The agent waits for an answer.");
  const answer = answerOf(call.state);
  if (answer !== null) {
    return <Answered question={question} answer={answer} />;
  }
  const options = Array.isArray(given["options"]) ? given["options"].map(String) : [];
  return (
    <section class="approval" role="group" aria-label="Question">
      <p class="plain-text">{question}</p>
      {onAnswer && options.length > 0 && (
        <div class="actions">
          {options.map((option) => <Button key={option} onClick={() => onAnswer(option)}>{option}</Button>)}
        </div>
      )}
      {onAnswer && <p class="hint">Your next message is the answer.</p>}
    </section>
  );
}

function Answered({ question, answer }: { question: string; answer: string }) {
  return (
    <>
      <p class="plain-text">{question}</p>
      <article class="person">
        <div class="bubble"><p class="plain-text">{answer}</p></div>
      </article>
    </>
  );
}
