import { useState } from "preact/hooks";

import { get } from "../../api.js";
import { counted } from "../../format.js";
import { useLoad, useSettled } from "../../hooks.js";
import { Empty, Loaded, Table, Time, type Column } from "../../parts/index.js";
import { href } from "../../router.js";
import { Field } from "../shared/Field.js";
import { ForgetButton, ForgottenNotice } from "./Forget.js";
import { ScopeSelect } from "./ScopeSelect.js";
import { TrustBadge } from "./TrustBadge.js";
import type { Memory } from "../../types.js";

const MOST = 500;
const TYPING_MS = 250;

/** Memories, the newest first, or the best first for some words. */
export function MemoryList() {
  const [words, setWords] = useState("");
  const [scope, setScope] = useState("");
  const [forgotten, setForgotten] = useState<string | null>(null);
  const settled = useSettled(words.trim(), TYPING_MS);
  const load = useLoad<Memory[]>(
    (signal) => get("/v1/memories", { words: settled || null, scope: scope || null, limit: MOST }, signal),
    [settled, scope],
    { on: ["memory"] },
  );
  const columns: Column<Memory>[] = [
    { title: "Memory", kind: "lead", cell: ({ id, text }) => <a class="row-link memory-text" href={href("memory", id)}>{text}</a> },
    { title: "Readers", cell: ({ scope }) => <span class="mono">{scope}</span> },
    { title: "Trust", cell: ({ trust }) => <TrustBadge trust={trust} /> },
    { title: "Written", cell: ({ source }) => <Time at={source.written_at} /> },
    { title: "Actions", kind: "actions", cell: ({ id }) => <ForgetButton id={id} onForgotten={() => setForgotten(id)} /> },
  ];
  return (
    <>
      <search class="toolbar">
        <Field label="Words">
          <input class="input" type="search" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
        </Field>
        <ScopeSelect selected={scope} onSelect={setScope} />
      </search>
      <ForgottenNotice id={forgotten} onClose={() => setForgotten(null)} />
      <Loaded load={load} failure="The memories could not be loaded">
        {(rows) => rows.length === 0 ? <NoMemories isSearch={settled !== "" || scope !== ""} /> : (
          <>
            <Table label="Memories" columns={columns} rows={rows} rowKey={({ id }) => id} />
            <p class="hint list-end" role="status">
              {rows.length === MOST ? `The first ${counted(rows.length, "memory", "memories")}. Search for words to find others.` : counted(rows.length, "memory", "memories")}
            </p>
          </>
        )}
      </Loaded>
    </>
  );
}

function NoMemories({ isSearch }: { isSearch: boolean }) {
  return isSearch ? (
    <Empty icon="search" title="No memory matches">Try other words, or all readers.</Empty>
  ) : (
    <Empty icon="memory" title="No memories yet">
      The agent remembers facts from chats by itself. "New memory" adds one by hand.
    </Empty>
  );
}
