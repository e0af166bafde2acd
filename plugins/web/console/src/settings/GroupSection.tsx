import { useRef } from "preact/hooks";

import { AddTable } from "./AddTable.js";
import { Help } from "./Help.js";
import { TableSection } from "./TableSection.js";
import type { ConfigRemark } from "../types.js";
import type { Adopt, ConfigForm, EditValue, FormGroup } from "./types.js";
import { findTables, groupTitle, isInUse, type Edits } from "./values.js";

interface Props {
  group: FormGroup;
  form: ConfigForm;
  /** The words of the search; empty without one. */
  query: string;
  edits: Edits;
  faults: readonly ConfigRemark[];
  onEdit: (key: string, value: EditValue | undefined) => void;
  onAdopt: Adopt;
  onShowText: () => void;
}

/** The tables whose keys begin with the same name. It is folded as long as the text has none of them. */
export function GroupSection({ group, form, query, edits, faults, onEdit, onAdopt, onShowText }: Props) {
  const own = form.tables.filter((table) => table.group === group.name);
  const isOpen = useRef(false);
  isOpen.current ||= own.some((table) => isInUse(table, edits, faults));
  const tables = findTables(own, query);
  const additions = query === "" ? form.additions.filter((addition) => addition.group === group.name) : [];
  if (tables.length === 0 && additions.length === 0) {
    return null;
  }
  return (
    <details class="settings-group" open={isOpen.current || query !== ""}>
      <summary><h2>{groupTitle(group.name)}</h2></summary>
      {tables.length === 0 && group.about !== "" && <p class="hint"><Help text={group.about} /></p>}
      {tables.map((table) => (
        <TableSection
          key={table.key}
          table={table}
          isSearched={query !== ""}
          edits={edits}
          faults={faults}
          onEdit={onEdit}
          onAdopt={onAdopt}
          onShowText={onShowText}
        />
      ))}
      {additions.map((addition) => <AddTable key={addition.parent} addition={addition} onAdopt={onAdopt} />)}
    </details>
  );
}
