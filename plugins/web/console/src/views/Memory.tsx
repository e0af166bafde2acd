import { useState } from "preact/hooks";

import { Button, Page, Tabs } from "../parts/index.js";
import { go } from "../router.js";
import type { ViewProps } from "../routes.js";
import { MemoryForm } from "./memory/MemoryForm.js";
import { MemoryList } from "./memory/MemoryList.js";
import { MemoryPage } from "./memory/MemoryPage.js";
import { RecentChanges } from "./memory/RecentChanges.js";

const TABS = [
  { name: "memories", title: "Memories" },
  { name: "changes", title: "Changes" },
] as const;

/** The list of memories, their last changes (`#/memory/changes`), or one memory: `#/memory/m12`. */
export function Memory({ parts: [part] }: ViewProps) {
  return part === undefined || part === "changes" ? <Memories isOfChanges={part === "changes"} /> : <MemoryPage id={part} />;
}

function Memories({ isOfChanges }: { isOfChanges: boolean }) {
  const [isFormOpen, setFormOpen] = useState(false);
  const select = (name: (typeof TABS)[number]["name"]) => go("memory", ...(name === "changes" ? [name] : []));
  return (
    <Page
      title="Memory"
      hint="Facts that the agent keeps for later conversations."
      actions={<Button look="primary" icon="plus" onClick={() => setFormOpen(true)}>New memory</Button>}
    >
      <Tabs label="Memory" tabs={TABS} selected={isOfChanges ? "changes" : "memories"} onSelect={select}>
        {isOfChanges ? <RecentChanges /> : <MemoryList />}
      </Tabs>
      <MemoryForm isOpen={isFormOpen} onClose={() => setFormOpen(false)} onAdded={(id) => go("memory", id)} />
    </Page>
  );
}
