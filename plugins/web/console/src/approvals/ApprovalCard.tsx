import { useState } from "preact/hooks";

import { errorText } from "../api.js";
import { Value } from "../chat/Value.js";
import { useAction } from "../hooks.js";
import { Button, Code, Icon, Time } from "../parts/index.js";
import { href } from "../router.js";
import type { OpenApproval } from "../types.js";
import { decide, type Decision } from "./open.js";

interface Props {
  approval: OpenApproval;
  /** Shows the session, for a list of several sessions. */
  hasSession?: boolean;
}

/** A call that waits for a person, and the three answers. */
export function ApprovalCard({ approval, hasSession = false }: Props) {
  const { id, tool, arguments: given, grant, session, expires_at } = approval;
  const deciding = useAction((decision: Decision, why: string) => decide(id, decision, why));
  const [reason, setReason] = useReason(id);
  const act = (decision: Decision) => void deciding.run(decision, "");
  return (
    <section class="approval" role="group" aria-label={`Approval of ${tool}`}>
      <header>
        <Icon name="approvals" />
        <h2>Allow <code>{tool}</code>?</h2>
        <span class="hint">expires <Time at={expires_at} /></span>
      </header>
      {hasSession && <p class="hint">In <a href={href("chat", session)}>{session}</a></p>}
      <Arguments given={given} />
      {deciding.error !== undefined && <p class="fault" role="alert">{errorText(deciding.error)}</p>}
      {grant && <p class="hint">"Allow for this session" covers: <code>{grant.tool} {grant.scope}</code></p>}
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
          <Button look="primary" disabled={deciding.isRunning} onClick={() => act("once")}>Allow once</Button>
          {grant && (
            <Button disabled={deciding.isRunning} onClick={() => act("for_session")}>
              Allow for this session
            </Button>
          )}
          <Button look="danger" disabled={deciding.isRunning} onClick={() => setReason("")}>Deny</Button>
        </div>
      )}
    </section>
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

/** A command alone, or all arguments with their names. */
function Arguments({ given }: { given: Record<string, unknown> }) {
  const { command, ...others } = given;
  if (typeof command === "string" && Object.keys(others).length === 0) {
    return <Code text={command} language="bash" />;
  }
  return <Value value={given} />;
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
