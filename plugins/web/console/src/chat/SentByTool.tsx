import { errorText, path, send } from "../api.js";
import { useAction } from "../hooks.js";
import { Markdown } from "../markdown/Markdown.js";
import { Button } from "../parts/index.js";
import type { LoggedCall, ToolCall, TurnRecord } from "../types.js";

/** The time that a browser has to read a file. */
const KEEP_MS = 30_000;

/** `true` for a call of the tool `message` that has sent something to the chat of its own turn. */
export function isSentHere({ call, state }: LoggedCall, session: string): boolean {
  const isSent = typeof state === "object" && "finished" in state && state.finished.ok;
  const chat = argumentsOf(call)["chat"] ?? session;
  return call.name === "message" && isSent && chat === session;
}

function argumentsOf({ arguments: given }: ToolCall): Record<string, unknown> {
  return "object" in given ? given.object : {};
}

function filesOf({ call }: LoggedCall): string[] {
  const files = argumentsOf(call)["files"];
  return Array.isArray(files) ? files.map(String) : [];
}

interface Props {
  turn: TurnRecord;
  /** A call that `isSentHere` accepts. */
  call: LoggedCall;
}

/** A text and files that the agent has sent before its reply. */
export function SentByTool({ turn, call }: Props) {
  const text = String(argumentsOf(call.call)["text"] ?? "");
  const names = filesOf(call).map((file) => file.split("/").at(-1) ?? file);
  const first = filesBefore(turn, call);
  return (
    <>
      {text.trim() !== "" && <Markdown text={text} />}
      {names.length > 0 && (
        <ul class="files" aria-label="Files">
          {names.map((name, at) => (
            <li key={at}><Download session={turn.session} turn={turn.id} index={first + at} name={name} /></li>
          ))}
        </ul>
      )}
    </>
  );
}

/** Returns the number of files of the turn before those of a call. The daemon counts all files of a turn. */
function filesBefore(turn: TurnRecord, call: LoggedCall): number {
  const sent = turn.steps.flatMap(({ calls }) => calls).filter((other) => isSentHere(other, turn.session));
  const before = sent.slice(0, sent.findIndex(({ id }) => id === call.id));
  return before.reduce((sum, other) => sum + filesOf(other).length, 0);
}

interface DownloadProps {
  session: string;
  turn: string;
  index: number;
  name: string;
}

/** A link cannot send the token, so the button loads the file and hands it to the browser. */
function Download({ session, turn, index, name }: DownloadProps) {
  const downloading = useAction(async () => {
    const response = await send(path("sessions", session, "files", turn, String(index)), undefined, {});
    const url = URL.createObjectURL(await response.blob());
    const link = Object.assign(document.createElement("a"), { href: url, download: name });
    link.click();
    // Some browsers read the object only after this function has returned.
    setTimeout(() => URL.revokeObjectURL(url), KEEP_MS);
  });
  return (
    <>
      <Button icon="download" isBusy={downloading.isRunning} onClick={() => void downloading.run()}>{name}</Button>
      {downloading.error !== undefined && <span class="fault" role="alert"> {errorText(downloading.error)}</span>}
    </>
  );
}
