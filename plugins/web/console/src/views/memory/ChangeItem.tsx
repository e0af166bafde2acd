import { errorText, path, post } from "../../api.js";
import { useAction } from "../../hooks.js";
import { Button, Time } from "../../parts/index.js";
import { href } from "../../router.js";
import { TrustBadge } from "./TrustBadge.js";
import type { MemoryChange, MemoryText } from "../../types.js";

interface Props {
  change: MemoryChange;
  /** `true` if the item names its memory. */
  isNamed?: boolean;
  /** Called after an undo; without it, the change cannot be undone here. */
  onUndone?: () => void;
}

const VERBS: Record<MemoryChange["kind"], string> = { written: "Written", forgotten: "Forgotten", undone: "Undone" };

/** One change with the texts before and after. */
export function ChangeItem({ change, isNamed = false, onUndone }: Props) {
  const { id, memory, kind, at, author, before, after } = change;
  return (
    <li class="change">
      <header>
        <span>
          <strong>{kind === "written" && before !== null ? "Changed" : VERBS[kind]}</strong>
          {isNamed && <> <a href={href("memory", memory)}>{memory}</a></>}
          {" "}by {authorWords(author)}, <Time at={at} />
        </span>
        {onUndone && <UndoButton id={id} onUndone={onUndone} />}
      </header>
      <div class="change-texts">
        {before && <Side title="Before" text={before} />}
        {after && <Side title="After" text={after} />}
      </div>
    </li>
  );
}

function Side({ title, text: { text, trust } }: { title: "Before" | "After"; text: MemoryText }) {
  return (
    <div class={`change-side ${title.toLowerCase()}`}>
      <p class="change-head">{title} <TrustBadge trust={trust} /></p>
      <p class="change-text">{text}</p>
    </div>
  );
}

function UndoButton({ id, onUndone }: { id: string; onUndone: () => void }) {
  const undoing = useAction(async () => {
    await post(path("memory-changes", id, "undo"));
    onUndone();
  });
  return (
    <span>
      {undoing.error !== undefined && <span class="fault" role="alert">{errorText(undoing.error)} </span>}
      <Button isBusy={undoing.isRunning} onClick={() => void undoing.run()} aria-label={`Undo ${id}`}>Undo</Button>
    </span>
  );
}

function authorWords(author: string): string {
  const [kind, ...rest] = author.split(" ");
  switch (kind) {
    case "call":
      return `the agent (call ${rest.join(" ")})`;
    case "file":
      return "an edited file";
    case "process":
      return "the operator";
    case "consolidation":
      return "a consolidation";
    default:
      return author;
  }
}
