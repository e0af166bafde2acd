import { useState } from "preact/hooks";

import { get } from "../api.js";
import { useLoad } from "../hooks.js";
import { Empty, Loaded, Page } from "../parts/index.js";
import { Choices } from "./shared/Choices.js";
import { DayPanel } from "./usage/DayPanel.js";
import { fillDays, periodStart, sumOf, type UsageRow } from "./usage/days.js";
import { GroupPanel } from "./usage/GroupPanel.js";
import { Totals } from "./usage/Totals.js";

const PERIODS = [
  { value: "7", title: "7 days" },
  { value: "30", title: "30 days" },
  { value: "90", title: "90 days" },
] as const;
type Period = (typeof PERIODS)[number]["value"];

const GATHER_MS = 5000;

/** The cost and the tokens of models. */
export function Usage() {
  const [period, setPeriod] = useState<Period>("30");
  const days = Number(period);
  const since = periodStart(days);
  const load = useLoad<UsageRow[]>(
    (signal) => get("/v1/usage", { by: "day", since, limit: days }, signal),
    [days, since],
    { on: ["usage"], gather: GATHER_MS },
  );
  return (
    <Page
      title="Usage"
      hint="Days begin at 00:00 UTC."
      actions={<Choices label="Period" choices={PERIODS} selected={period} onSelect={setPeriod} />}
    >
      <Loaded load={load} failure="The usage could not be loaded">
        {(rows) => rows.length === 0 ? (
          <Empty icon="usage" title="No usage in this period">
            Each answer of a model is counted here, with its tokens and its cost.
          </Empty>
        ) : (
          <>
            <Totals total={sumOf(rows)} />
            <DayPanel days={fillDays(rows, since, days)} />
            <GroupPanel since={since} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
