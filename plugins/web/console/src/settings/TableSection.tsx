import { useRef } from "preact/hooks";

import { Badge, ConfirmButton } from "../parts/index.js";
import type { ConfigRemark } from "../types.js";
import { FieldRow } from "./FieldRow.js";
import { Help } from "./Help.js";
import type { EditValue, FormField, FormTable } from "./types.js";
import { faultOf, isCommon, type Edits } from "./values.js";

interface Props {
  table: FormTable;
  edits: Edits;
  faults: readonly ConfigRemark[];
  onEdit: (key: string, value: EditValue | undefined) => void;
  /** Removes the table at once from the text that is edited. */
  onRemove: () => Promise<unknown>;
  onShowText: () => void;
}

/** Tables that hold more than the form shows are not removed here. */
const KEPT = new Set(["agents.defaults", "tools"]);

/** A table of the configuration. Its rare keys are folded. */
export function TableSection({ table, edits, faults, onEdit, onRemove, onShowText }: Props) {
  const row = (field: FormField) => (
    <FieldRow key={field.key} field={field} edits={edits} fault={faultOf(field, faults)} onEdit={onEdit} onShowText={onShowText} />
  );
  const common = table.fields.filter(isCommon);
  const rare = table.fields.filter((field) => !isCommon(field));
  // It stays open when the edit is taken back.
  const isOpen = useRef(false);
  isOpen.current ||= rare.some((field) => edits.has(field.key) || faultOf(field, faults) !== null);
  return (
    <section class="settings-table" aria-label={table.key}>
      <header>
        <h3 class="mono">{table.key}</h3>
        {table.kind !== null && !table.key.endsWith(`.${table.kind}`) && <Badge>{table.kind}</Badge>}
        {table.can_remove && !KEPT.has(table.key) && (
          <ConfirmButton
            look="quiet"
            icon="trash"
            aria-label={`Remove ${table.key}`}
            question={`Remove the table ${table.key}?`}
            confirm="Remove"
            details="The file keeps it until you save the change."
            action={onRemove}
          >
            Remove
          </ConfirmButton>
        )}
      </header>
      {table.about !== "" && <p class="hint"><Help text={table.about} /></p>}
      {common.map(row)}
      {rare.length > 0 && (
        <details open={isOpen.current}>
          <summary>More settings of {table.key} ({rare.length})</summary>
          {rare.map(row)}
        </details>
      )}
    </section>
  );
}
