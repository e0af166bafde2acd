import { size } from "../format.js";
import { Button, Icon } from "../parts/index.js";
import type { Outbox, Outgoing } from "./outgoing.js";
import { MessageTime } from "./Person.js";

/** Messages that no turn has taken in yet. */
export function Waiting({ messages, outbox }: { messages: readonly Outgoing[]; outbox: Outbox }) {
  return <>{messages.map((message) => <WaitingMessage key={message.key} message={message} outbox={outbox} />)}</>;
}

function WaitingMessage({ message, outbox }: { message: Outgoing; outbox: Outbox }) {
  const { text, attachments, state, at, error } = message;
  return (
    <article class="person">
      <div class="meta">
        <span>{state === "sending" ? "Sending" : state === "sent" ? "Sent, not answered yet" : "Not sent"}</span>
        <MessageTime at={at} />
      </div>
      <div class={`bubble ${state === "failed" ? "failed" : "waiting"}`}>
        {text !== "" && <p class="plain-text">{text}</p>}
        {attachments.map((file) => (
          <p class="file" key={file.reference}>
            <Icon name="file" size={16} /> {file.name} <span class="hint">{size(file.bytes)}</span>
          </p>
        ))}
      </div>
      {state === "failed" && (
        <div class="failure" role="alert">
          <span class="fault">{error}</span>
          <div class="actions">
            <Button icon="retry" onClick={() => outbox.retry(message)}>Try again</Button>
            <Button look="quiet" onClick={() => outbox.discard(message)}>Discard</Button>
          </div>
        </div>
      )}
    </article>
  );
}
