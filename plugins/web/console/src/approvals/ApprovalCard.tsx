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
  const [isDenying, setDenying] = useState(false);
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
      {grant && <p class="hint">For this session allows: <code>{grant.tool} {grant.scope}</code></p>}
      {isDenying ? (
        <Denial
          isBusy={deciding.isRunning}
          onCancel={() => setDenying(false)}
          onDeny={(why) => void deciding.run("denied", why)}
        />
      ) : (
        <div class="actions">
          <Button look="primary" disabled={deciding.isRunning} onClick={() => act("once")}>Allow once</Button>
          {grant && (
            <Button disabled={deciding.isRunning} onClick={() => act("for_session")}>
              Allow for this session
            </Button>
          )}
          <Button look="danger" disabled={deciding.isRunning} onClick={() => setDenying(true)}>Deny</Button>
        </div>
      )}
    </section>
  );
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
  isBusy: boolean;
  onCancel: () => void;
  onDeny: (why: string) => void;
}

function Denial({ isBusy, onCancel, onDeny }: DenialProps) {
  const [why, setWhy] = useState("");
  const deny = (event: Event) => {
    event.preventDefault();
    onDeny(why.trim());
  };
  return (
    <form class="denial" onSubmit={deny}>
      <label class="field">
        <span>Reason for the agent (optional)</span>
        <input class="input" value={why} ref={focus} onInput={(event) => setWhy(event.currentTarget.value)} />
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
