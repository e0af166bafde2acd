import { get } from "../../api.js";
import { useLoad } from "../../hooks.js";
import type { SessionSummary } from "../../types.js";
import { Field } from "../shared/Field.js";
import type { EventFilter } from "./older.js";
import { KINDS } from "./words.js";

const MOST_SESSIONS = 200;

interface Props {
  filter: EventFilter;
  onChange: (filter: EventFilter) => void;
}

/** Selects the kinds and the session of the events. */
export function EventFilters({ filter, onChange }: Props) {
  const { data = [] } = useLoad<SessionSummary[]>((signal) => get("/v1/sessions", { limit: MOST_SESSIONS }, signal), []);
  const known = data.map(({ session }) => session);
  const sessions = filter.session === "" || known.includes(filter.session) ? known : [filter.session, ...known];
  return (
    <>
      <Field label="Kind">
        <select class="input" value={filter.kind} onChange={(event) => onChange({ ...filter, kind: event.currentTarget.value })}>
          <option value="">All kinds</option>
          {Object.entries(KINDS).map(([table, kinds]) => (
            <optgroup key={table} label={table}>
              {kinds.length > 1 && <option value={table}>all of {table}</option>}
              {kinds.map((kind) => <option key={kind} value={kind}>{kind}</option>)}
            </optgroup>
          ))}
        </select>
      </Field>
      <Field label="Session">
        <select class="input" value={filter.session} onChange={(event) => onChange({ ...filter, session: event.currentTarget.value })}>
          <option value="">All sessions</option>
          {sessions.map((session) => <option key={session} value={session}>{session}</option>)}
        </select>
      </Field>
    </>
  );
}
