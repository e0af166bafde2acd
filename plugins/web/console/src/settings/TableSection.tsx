import { useRef } from "preact/hooks";

import { Badge, Button, ConfirmButton } from "../parts/index.js";
import type { ConfigRemark } from "../types.js";
import { RenameTable } from "./AddTable.js";
import { FieldRow } from "./FieldRow.js";
import { Help } from "./Help.js";
import type { Adopt, EditValue, FormField, FormTable } from "./types.js";
import { commonFields, faultOf, isEdited, titleOf, type Edits } from "./values.js";

interface Props {
  table: FormTable;
  /** `true` if the fields are those of a search. */
  isSearched: boolean;
  edits: Edits;
  faults: readonly ConfigRemark[];
  onEdit: (key: string, value: EditValue | undefined) => void;
  onAdopt: Adopt;
  onShowText: () => void;
}

/** A table of the configuration. Its rare keys are folded. */
export function TableSection({ table, isSearched, edits, faults, onEdit, onAdopt, onShowText }: Props) {
  const { key, kind, fields } = table;
  const title = titleOf(table);
  const row = (field: FormField) => (
    <FieldRow
      key={field.key}
      field={field}
      edits={edits}
      fault={faultOf(field, faults)}
      onEdit={onEdit}
      onAdopt={onAdopt}
      onShowText={onShowText}
    />
  );
  const common = isSearched ? fields : commonFields(fields);
  const rare = fields.filter((field) => !common.includes(field));
  const own = fields.some(({ path }) => path === table.path) ? [] : faults.filter((fault) => fault.key === table.path);
  // It stays open when the edit is taken back.
  const isOpen = useRef(false);
  isOpen.current ||= rare.some((field) => isEdited(field, edits) || faultOf(field, faults) !== null);
  return (
    <section class="settings-table" aria-label={title}>
      <header>
        <h3 class="mono">{title}</h3>
        {kind !== null && !key.endsWith(`.${kind}`) && <Badge>{kind}</Badge>}
        <span class="actions">
          {table.can_add && (
            <Button icon="plus" aria-label={`Add ${key}`} onClick={() => void onAdopt([{ key, value: {} }])}>Add</Button>
          )}
          {table.can_rename && <RenameTable table={table} onAdopt={onAdopt} />}
          {table.can_remove && (
            <ConfirmButton
              look="quiet"
              icon="trash"
              aria-label={`Remove ${key}`}
              question={`Remove the table ${key}?`}
              confirm="Remove"
              details="The file keeps it until you save the change."
              action={() => onAdopt([{ key, value: null }])}
            >
              Remove
            </ConfirmButton>
          )}
        </span>
      </header>
      {own.map(({ message }) => <p class="fault" key={message} tabIndex={-1}>{message}</p>)}
      {table.about !== "" && <p class="hint"><Help text={table.about} /></p>}
      {common.map(row)}
      {rare.length > 0 && (
        <details open={isOpen.current}>
          <summary>More settings of {title} ({rare.length})</summary>
          {rare.map(row)}
        </details>
      )}
    </section>
  );
}
