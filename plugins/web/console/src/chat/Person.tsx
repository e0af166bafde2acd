import { path } from "../api.js";
import { clockTime, exactTime, size } from "../format.js";
import { isOwnSender } from "../login.js";
import { Icon, isPicture, Picture } from "../parts/index.js";
import type { Attachment, LoggedInbound } from "../types.js";
import { writeAgain } from "./draft.js";
import { isWritable } from "./names.js";

/** A message of a person. */
export function Person({ message }: { message: LoggedInbound }) {
  const { sender, content } = message.message.inbound;
  return (
    <article class="person">
      <div class="meta">
        <span class="sender">{isOwnSender(sender.id) ? "You" : (sender.name ?? sender.id)}</span>
        <MessageTime at={message.received_at} />
        {isWritable(message.message.session) && content.text !== "" && (
          <button type="button" class="link" onClick={() => writeAgain(content.text)}>Edit</button>
        )}
      </div>
      <div class="bubble">
        {content.forwarded_from && <p class="hint">Forwarded from {content.forwarded_from}</p>}
        {content.quote && <blockquote>{content.quote.text}</blockquote>}
        {content.text !== "" && <p class="plain-text">{content.text}</p>}
        {content.attachments && <Attachments list={content.attachments} message={message} />}
      </div>
    </article>
  );
}

export function MessageTime({ at }: { at: number }) {
  return <time dateTime={new Date(at).toISOString()} title={exactTime(at)}>{clockTime(at)}</time>;
}

interface AttachmentsProps {
  list: readonly Attachment[];
  /** The message of the files. */
  message: LoggedInbound;
}

function Attachments({ list, message }: AttachmentsProps) {
  return (
    <ul class="files">
      {list.map((file, at) => (
        <li key={at} class="file">
          {isShown(file) ? (
            <Picture
              address={path("sessions", message.message.session, "received", message.id, String(at))}
              name={file.name ?? "picture"}
            />
          ) : (
            <FileLine file={file} />
          )}
        </li>
      ))}
    </ul>
  );
}

/** A picture that the workspace has. */
function isShown({ kind, source, name, media_type }: Attachment): boolean {
  const isKnown = media_type == null && name == null ? kind === "image" : isPicture(name ?? undefined, media_type);
  return "workspace" in source && isKnown;
}

function FileLine({ file }: { file: Attachment }) {
  return (
    <>
      <Icon name="file" size={16} />
      <span>{file.name ?? file.kind}</span>
      {file.bytes !== undefined && <span class="hint">{size(file.bytes)}</span>}
      {"lost" in file.source && <span class="fault">{file.source.lost}</span>}
      {file.transcript && "said" in file.transcript && <q>{file.transcript.said}</q>}
    </>
  );
}
