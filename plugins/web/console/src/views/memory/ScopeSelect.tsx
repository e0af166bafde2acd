import { get } from "../../api.js";
import { useLoad } from "../../hooks.js";
import { Field } from "../shared/Field.js";
import type { Memory } from "../../types.js";

const MOST = 500;

interface Props {
  /** Empty for all scopes. */
  selected: string;
  onSelect: (scope: string) => void;
}

/** Selects the readers of memories. The choices are those of the newest memories. */
export function ScopeSelect({ selected, onSelect }: Props) {
  const { data = [] } = useLoad<Memory[]>((signal) => get("/v1/memories", { limit: MOST }, signal), []);
  const scopes = [...new Set([...data.map(({ scope }) => scope), ...(selected ? [selected] : [])])].sort();
  return (
    <Field label="Readers">
      <select class="input" value={selected} onChange={(event) => onSelect(event.currentTarget.value)}>
        <option value="">All</option>
        {scopes.map((scope) => <option key={scope} value={scope}>{scope}</option>)}
      </select>
    </Field>
  );
}
