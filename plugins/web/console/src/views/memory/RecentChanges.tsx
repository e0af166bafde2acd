import { get } from "../../api.js";
import { useLoad } from "../../hooks.js";
import { Empty, Loaded } from "../../parts/index.js";
import { ChangeItem } from "./ChangeItem.js";
import type { MemoryChange } from "../../types.js";

const LIMIT = 100;

/** The last changes of all memories. */
export function RecentChanges() {
  const load = useLoad<MemoryChange[]>((signal) => get("/v1/memory-changes", { limit: LIMIT }, signal), [], { on: ["memory"] });
  return (
    <Loaded load={load} failure="The changes could not be loaded">
      {(changes) => changes.length === 0 ? (
        <Empty icon="memory" title="No changes yet">Each change of a memory is listed here, with the texts before and after.</Empty>
      ) : (
        <ul class="changes">{changes.map((change) => <ChangeItem key={change.id} change={change} isNamed />)}</ul>
      )}
    </Loaded>
  );
}
