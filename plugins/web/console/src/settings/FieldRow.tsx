import { useId } from "preact/hooks";

import { Badge, Button } from "../parts/index.js";
import { Help } from "./Help.js";
import { Input, type InputProps } from "./Inputs.js";
import { isEdited, isSet, labelOf } from "./values.js";

interface Props extends Omit<InputProps, "id" | "describedBy" | "isFaulty"> {
  fault: string | null;
}

/** A key with its label, its control, its description and its fault. */
export function FieldRow({ fault, ...rest }: Props) {
  const { field, edits, onEdit } = rest;
  const id = useId();
  const { least } = field;
  const canReset = !["rules", "pairs", "other"].includes(field.input) && isSet(field) && edits.get(field.key) !== null;
  const label = labelOf(field);
  return (
    <div class="setting" data-key={field.key}>
      <div class="setting-head">
        <label for={id}>{label}</label>
        {isEdited(field, edits) && <Badge tone="busy">changed</Badge>}
      </div>
      {fault !== null && <p class="fault" id={`${id}-fault`}>{fault}</p>}
      <div class="setting-control">
        <Input {...rest} id={id} describedBy={fault === null ? `${id}-help` : `${id}-fault ${id}-help`} isFaulty={fault !== null} />
        {canReset && (
          <Button look="quiet" aria-label={`Use the default of ${label}`} onClick={() => onEdit(field.key, null)}>Use the default</Button>
        )}
      </div>
      <p class="hint" id={`${id}-help`}>
        {field.name !== "" && <code>{field.name}</code>} <Help text={field.help} />
        {least !== null && least > 0 && ` At least ${least}.`}
      </p>
    </div>
  );
}
