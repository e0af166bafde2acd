import { useState } from "preact/hooks";

import { errorText } from "../api.js";
import { Value } from "../chat/Value.js";
import { useAction } from "../hooks.js";
import { Markdown } from "../markdown/Markdown.js";
import { Button, Icon, Time } from "../parts/index.js";
import { href } from "../router.js";
import type { OpenApproval } from "../types.js";
import { decide, type Decision } from "./open.js";

interface Props {
  approval: OpenApproval;
  /** Shows the session, for a list of several sessions. */
  hasSession?: boolean;
}

/** A call that waits for a person: the question as in a chat, and its choices. */
export function ApprovalCard({ approval, hasSession = false }: Props) {
  const { id, tool, card, session, expires_at } = approval;
  const deciding = useAction((decision: Decision, why: string) => decide(id, decision, why));
  const [reason, setReason] = useReason(id);
  const choose = (decision: Decision) => (decision === "denied" ? setReason("") : void deciding.run(decision, ""));
  return (
    <section class="approval" role="group" aria-label={`Approval of ${tool}`}>
      <header>
        <Icon name="approvals" />
        {hasSession && <span class="hint">In <a href={href("chat", session)}>{session}</a></span>}
        <span class="hint">expires <Time at={expires_at} /></span>
      </header>
      <Markdown text={card.text} />
      <OtherArguments approval={approval} />
      {deciding.error !== undefined && <p class="fault" role="alert">{errorText(deciding.error)}</p>}
      {reason !== null ? (
        <Denial
          why={reason}
          isBusy={deciding.isRunning}
          onWrite={setReason}
          onCancel={() => setReason(null)}
          onDeny={() => void deciding.run("denied", reason.trim())}
        />
      ) : (
        <div class="actions">
          {card.choices.map(({ label, decision: { decision } }) => (
            <Button key={label} look={looks[decision]} disabled={deciding.isRunning} onClick={() => choose(decision)}>
              {label}
            </Button>
          ))}
        </div>
      )}
    </section>
  );
}

const looks = { once: "primary", for_session: "plain", denied: "danger" } as const;

/** The arguments that the question leaves out: it cuts a long text, and shows the change of a file in place of its content. */
function OtherArguments({ approval: { arguments: given, card } }: { approval: OpenApproval }) {
  const isShown = (value: unknown) => card.text.includes(typeof value === "string" ? value : JSON.stringify(value));
  const others = Object.entries(given).filter(([, value]) => !isShown(value));
  if (others.length === 0) {
    return null;
  }
  return (
    <details>
      <summary>Exact arguments</summary>
      <Value value={Object.fromEntries(others)} />
    </details>
  );
}

const reasons = new Map<string, string>();

/**
 * The reason for a denial that is being written, or `null`. The reason survives the move of the card into the answer,
 * which happens as soon as the turn is loaded.
 */
function useReason(id: string): [string | null, (reason: string | null) => void] {
  const [reason, setReason] = useState(() => reasons.get(id) ?? null);
  const set = (value: string | null) => {
    setReason(value);
    if (value === null) {
      reasons.delete(id);
    } else {
      reasons.set(id, value);
    }
  };
  return [reason, set];
}

interface DenialProps {
  why: string;
  isBusy: boolean;
  onWrite: (why: string) => void;
  onCancel: () => void;
  onDeny: () => void;
}

function Denial({ why, isBusy, onWrite, onCancel, onDeny }: DenialProps) {
  const deny = (event: Event) => {
    event.preventDefault();
    onDeny();
  };
  return (
    <form class="denial" onSubmit={deny}>
      <label class="field">
        <span>Reason for the agent (optional)</span>
        <input class="input" value={why} ref={focus} onInput={(event) => onWrite(event.currentTarget.value)} />
      </label>
      <div class="actions">
        <Button look="danger" type="submit" isBusy={isBusy}>Deny</Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}

function focus(input: HTMLInputElement | null) {
  input?.focus();
}
