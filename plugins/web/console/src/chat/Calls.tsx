import { useState } from "preact/hooks";

import { oneLine } from "../format.js";
import { Button, Icon, State } from "../parts/index.js";
import type { LoggedCall } from "../types.js";
import { isObject, mainArgument, Value } from "./Value.js";

/** Calls in a row that are shown at once. */
const SHOWN = 6;

/** Tool calls in a row, one line each. */
export function Calls({ calls }: { calls: readonly LoggedCall[] }) {
  const [isWhole, setWhole] = useState(false);
  const hidden = isWhole || calls.length <= SHOWN ? 0 : calls.length - SHOWN + 1;
  return (
    <div class="calls">
      {hidden > 0 && (
        <Button look="quiet" class="calls-more" onClick={() => setWhole(true)}>
          Show {hidden} earlier calls
        </Button>
      )}
      {calls.slice(hidden).map((call) => <Call key={call.id} call={call} />)}
    </div>
  );
}

function Call({ call }: { call: LoggedCall }) {
  const [isOpen, setOpen] = useState(false);
  const { name } = call.call;
  const given = argumentsOf(call);
  return (
    <details class="call" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="right" size={14} />
        <span class="call-name">{name}</span>
        <span class="call-argument">{isObject(given) ? oneLine(mainArgument(given), 120) : ""}</span>
        <Outcome call={call} />
      </summary>
      {isOpen && (
        <div class="call-details">
          <p class="call-label">Arguments</p>
          <Value value={given} />
          <Result call={call} />
        </div>
      )}
    </details>
  );
}

/** The object, or the text that is not one. */
function argumentsOf({ call }: LoggedCall): unknown {
  return "object" in call.arguments ? call.arguments.object : call.arguments.malformed;
}

function Outcome({ call: { state } }: { call: LoggedCall }) {
  if (typeof state === "string") {
    return <State word={state === "planned" ? "queued" : state === "started" ? "running" : state} />;
  }
  if ("interrupted" in state) {
    return <State word="interrupted" />;
  }
  const { ok, value } = state.finished;
  return <span class={ok ? "call-result" : "call-result fault"}>{oneLine(inShort(value), 60)}</span>;
}

/** Returns the part of a result that fits on the line of its call. */
function inShort(value: unknown): string {
  if (typeof value === "string") {
    return value;
  }
  if (Array.isArray(value)) {
    return `${value.length} entries`;
  }
  if (isObject(value)) {
    return typeof value["error"] === "string" ? value["error"] : mainArgument(value) || "done";
  }
  return value === null ? "done" : String(value);
}

function Result({ call: { state } }: { call: LoggedCall }) {
  if (typeof state === "string" || !("finished" in state)) {
    return null;
  }
  const { ok, value } = state.finished;
  const shown = !ok && isObject(value) && typeof value["error"] === "string" ? value["error"] : value;
  return (
    <>
      <p class="call-label">{ok ? "Result" : "Error"}</p>
      <Value value={shown} />
    </>
  );
}
