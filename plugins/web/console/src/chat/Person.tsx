import { clockTime, exactTime, size } from "../format.js";
import { isOwnSender } from "../login.js";
import { Icon } from "../parts/index.js";
import type { Attachment, LoggedInbound } from "../types.js";

/** A message of a person. */
export function Person({ message }: { message: LoggedInbound }) {
  const { sender, content } = message.message.inbound;
  return (
    <article class="person">
      <div class="meta">
        <span class="sender">{isOwnSender(sender.id) ? "You" : (sender.name ?? sender.id)}</span>
        <MessageTime at={message.received_at} />
      </div>
      <div class="bubble">
        {content.forwarded_from && <p class="hint">Forwarded from {content.forwarded_from}</p>}
        {content.quote && <blockquote>{content.quote.text}</blockquote>}
        {content.text !== "" && <p class="plain-text">{content.text}</p>}
        {content.attachments && <Attachments list={content.attachments} />}
      </div>
    </article>
  );
}

export function MessageTime({ at }: { at: number }) {
  return <time dateTime={new Date(at).toISOString()} title={exactTime(at)}>{clockTime(at)}</time>;
}

function Attachments({ list }: { list: readonly Attachment[] }) {
  return (
    <ul class="files">
      {list.map((file, at) => (
        <li key={at} class="file">
          <Icon name="file" size={16} />
          <span>{file.name ?? file.kind}</span>
          {file.bytes !== undefined && <span class="hint">{size(file.bytes)}</span>}
          {"lost" in file.source && <span class="fault">{file.source.lost}</span>}
          {file.transcript && "said" in file.transcript && <q>{file.transcript.said}</q>}
        </li>
      ))}
    </ul>
  );
}
