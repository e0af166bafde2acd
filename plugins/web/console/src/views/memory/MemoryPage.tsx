import { get, path } from "../../api.js";
import { useLoad } from "../../hooks.js";
import { Badge, Loaded, Page, Time } from "../../parts/index.js";
import { href } from "../../router.js";
import { Facts } from "../shared/Facts.js";
import { SessionLink } from "../shared/SessionLink.js";
import { ChangeItem } from "./ChangeItem.js";
import { ForgetButton } from "./Forget.js";
import { TrustBadge } from "./TrustBadge.js";
import type { MemoryDetails } from "../../types.js";

/** One memory with its origin and its changes. */
export function MemoryPage({ id }: { id: string }) {
  const load = useLoad<MemoryDetails>((signal) => get(path("memories", id), {}, signal), [id], {
    on: ["memory"],
    when: (event) => event.memory?.id === id,
  });
  const isActive = load.data && !load.data.forgotten;
  return (
    <Page
      title={`Memory ${id}`}
      back={{ title: "Memory", href: href("memory") }}
      actions={isActive && <ForgetButton id={id} onForgotten={load.reload} />}
    >
      <Loaded load={load} failure={`Memory ${id} could not be loaded`}>
        {(memory) => <Shown memory={memory} onChanged={load.reload} />}
      </Loaded>
    </Page>
  );
}

function Shown({ memory, onChanged }: { memory: MemoryDetails; onChanged: () => void }) {
  const { source, changes } = memory;
  return (
    <>
      <section class="panel">
        <div class="prose-box">{memory.text}</div>
      </section>
      <section class="panel">
        <Facts facts={[
          ["State", memory.forgotten && <Badge tone="warn">forgotten</Badge>],
          ["Readers", <span class="mono">{memory.scope}</span>],
          ["Trust", <TrustBadge trust={memory.trust} />],
          ["Written", <Time at={source.written_at} />],
          ["Said by", source.said_by],
          ["Session", source.session && <SessionLink session={source.session} />],
          ["Message", source.message && <a href={href("trace", source.message)}>{source.message}</a>],
        ]} />
      </section>
      <section class="panel">
        <h2>Changes</h2>
        <ul class="changes">
          {changes.map((change, at) => (
            <ChangeItem key={change.id} change={change} {...(at === 0 && { onUndone: onChanged })} />
          ))}
        </ul>
      </section>
    </>
  );
}
