import { useState } from "preact/hooks";

import { count, price } from "../../format.js";
import { Table, type Column } from "../../parts/index.js";
import { Choices } from "../shared/Choices.js";
import { DayChart, type Metric } from "./DayChart.js";
import { dayLabel, type UsageRow } from "./days.js";

const METRICS = [
  { value: "cost", title: "Cost" },
  { value: "tokens", title: "Tokens" },
] as const;

const COLUMNS: Column<UsageRow>[] = [
  { title: "Day", kind: "lead", cell: ({ of }) => dayLabel(of) },
  { title: "Cost", kind: "number", cell: price },
  { title: "Input tokens", kind: "number", cell: ({ input }) => count(input) },
  { title: "From the cache", kind: "number", cell: ({ cached }) => count(cached) },
  { title: "Output tokens", kind: "number", cell: ({ output }) => count(output) },
  { title: "Answers", kind: "number", cell: ({ answers }) => count(answers) },
];

/** The chart of the days, with its values as a table. */
export function DayPanel({ days }: { days: readonly UsageRow[] }) {
  // Local models have no price.
  const [metric, setMetric] = useState<Metric>(days.some(({ cost }) => cost > 0) ? "cost" : "tokens");
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>By day</h2>
        <Choices label="Value of the chart" choices={METRICS} selected={metric} onSelect={setMetric} />
      </div>
      <DayChart days={days} metric={metric} />
      {metric === "tokens" && (
        <p class="legend"><span class="legend-mark part-1" />Input <span class="legend-mark part-0" />Output</p>
      )}
      <details>
        <summary>Values as a table</summary>
        <Table label="Usage by day, the newest first" columns={COLUMNS} rows={[...days].reverse()} rowKey={({ of }) => of} />
      </details>
    </section>
  );
}
