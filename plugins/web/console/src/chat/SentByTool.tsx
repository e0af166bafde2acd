import { path } from "../api.js";
import { Markdown } from "../markdown/Markdown.js";
import { Download, isPicture, Picture } from "../parts/index.js";
import type { LoggedCall, ToolCall, TurnRecord } from "../types.js";

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
            <li key={at}><SentFile address={path("sessions", turn.session, "files", turn.id, String(first + at))} name={name} /></li>
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

/** A picture is shown, any other file is a button. */
function SentFile({ address, name }: { address: string; name: string }) {
  return isPicture(name) ? <Picture address={address} name={name} /> : <Download address={address} name={name} />;
}
