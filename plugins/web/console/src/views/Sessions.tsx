import { useRef, useState } from "preact/hooks";

import { newChat } from "../chat/names.js";
import { useSettled } from "../hooks.js";
import { useKey } from "../keys.js";
import { Button, Page } from "../parts/index.js";
import type { ViewProps } from "../routes.js";
import { SearchResults } from "../sessions/SearchResults.js";
import { SessionList } from "../sessions/SessionList.js";

/** The pause after the last key before a search begins. */
const SETTLE_MS = 250;

export function Sessions(_: ViewProps) {
  const [words, setWords] = useState("");
  const settled = useSettled(words.trim(), SETTLE_MS);
  const field = useRef<HTMLInputElement>(null);
  useKey("/", () => field.current?.focus());
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      setWords("");
      field.current?.blur();
    }
  };
  return (
    <Page title="Sessions" actions={<Button look="primary" icon="plus" onClick={newChat}>New chat</Button>}>
      <input
        class="input search"
        type="search"
        ref={field}
        value={words}
        placeholder="Search all messages"
        aria-label="Search all messages"
        onInput={(event) => setWords(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {settled === "" ? <SessionList /> : <SearchResults words={settled} />}
    </Page>
  );
}
