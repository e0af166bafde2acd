import { useState } from "preact/hooks";

import { get } from "../../api.js";
import { count, price } from "../../format.js";
import { useLoad } from "../../hooks.js";
import { Loaded, Table, Tabs, type Column } from "../../parts/index.js";
import { href } from "../../router.js";
import { SessionLink } from "../shared/SessionLink.js";
import type { UsageRow } from "./days.js";

const GROUPS = [
  { name: "model", title: "Models" },
  { name: "session", title: "Sessions" },
  { name: "purpose", title: "Purposes" },
  { name: "schedule", title: "Schedules" },
] as const;
type Group = (typeof GROUPS)[number]["name"];

const LIMIT = 100;
const GATHER_MS = 5000;

/** The usage of the period by model, session, purpose or schedule. */
export function GroupPanel({ since }: { since: number }) {
  const [group, setGroup] = useState<Group>("model");
  const load = useLoad<UsageRow[]>(
    (signal) => get("/v1/usage", { by: group, since, limit: LIMIT }, signal),
    [group, since],
    { on: ["usage"], gather: GATHER_MS },
  );
  return (
    <section class="panel">
      <Tabs label="Grouping" tabs={GROUPS} selected={group} onSelect={setGroup}>
        <Loaded load={load} failure="The usage could not be loaded">
          {(rows) => <Table label={`Usage by ${group}`} columns={columns(group, rows)} rows={rows} rowKey={({ of }) => of} />}
        </Loaded>
      </Tabs>
    </section>
  );
}

function columns(group: Group, rows: readonly UsageRow[]): Column<UsageRow>[] {
  const most = Math.max(1, ...rows.map(({ cost }) => cost));
  return [
    {
      title: GROUPS.find(({ name }) => name === group)!.title,
      kind: "lead",
      cell: ({ of, cost }) => (
        <>
          <Name group={group} of={of} />
          <span class="share" aria-hidden="true"><span style={{ width: `${(cost / most) * 100}%` }} /></span>
        </>
      ),
    },
    { title: "Cost", kind: "number", cell: price },
    { title: "Input", kind: "number", cell: ({ input }) => count(input) },
    { title: "Output", kind: "number", cell: ({ output }) => count(output) },
    { title: "Answers", kind: "number", cell: ({ answers }) => count(answers) },
  ];
}

function Name({ group, of }: { group: Group; of: string }) {
  if (group === "session" && of.includes(":")) {
    return <SessionLink session={of} />;
  }
  if (group === "schedule" && /^s\d+$/.test(of)) {
    return <a href={href("schedules", of)}>{of}</a>;
  }
  return <span>{of}</span>;
}
