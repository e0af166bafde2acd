import { get } from "../api.js";
import { count } from "../format.js";
import { useLoad } from "../hooks.js";
import { Button, Loaded, Page, Table, type Column } from "../parts/index.js";
import type { DaemonStatus, Ignored } from "../types.js";
import { Browsers } from "./health/Browsers.js";
import { Findings } from "./health/Findings.js";
import {
  channelFinding,
  daemonFindings,
  deliveryFindings,
  laneFindings,
  providerFinding,
  storageFindings,
  workFindings,
  type Finding,
} from "./health/sentences.js";

const KINDS = ["message", "turn", "usage", "delivery", "schedule", "daemon", "log"];
const GATHER_MS = 5000;

/** The state of the daemon. */
export function Health() {
  const load = useLoad<DaemonStatus>((signal) => get("/v1/status", {}, signal), [], { on: KINDS, gather: GATHER_MS });
  return (
    <Page
      title="Health"
      hint="Updates after events, at most every 5 seconds."
      actions={<Button icon="retry" isBusy={load.isLoading} onClick={load.reload}>Load again</Button>}
    >
      <Loaded load={load} failure="The state could not be loaded">{(status) => <Status status={status} />}</Loaded>
    </Page>
  );
}

function Status({ status }: { status: DaemonStatus }) {
  const { log } = status;
  const warnings: Finding[] = status.warnings.map((text) => ({ tone: "warn", text }));
  const sections = [
    { title: "Daemon", findings: daemonFindings(status) },
    { title: "Channels", findings: status.channels.map(channelFinding) },
    { title: "Providers", findings: status.providers.map(providerFinding) },
    { title: "Lanes", findings: laneFindings(log) },
    { title: "Deliveries", findings: deliveryFindings(log) },
    { title: "Disk and log", findings: storageFindings(status) },
    { title: "Background work", findings: workFindings(log) },
  ];
  const all = [...warnings, ...sections.flatMap(({ findings }) => findings)];
  const faults = all.filter(({ tone }) => tone === "bad").length;
  const hasWarnings = all.some(({ tone }) => tone === "warn");
  return (
    <>
      <p class={`verdict ${faults > 0 ? "bad" : hasWarnings ? "warn" : "good"}`} role="status">{verdict(faults, hasWarnings)}</p>
      <Findings title="Warnings" findings={warnings} />
      <div class="health">{sections.map((section) => <Findings key={section.title} {...section} />)}</div>
      <Browsers />
      <IgnoredUpdates rows={log.ignored} />
    </>
  );
}

function verdict(faults: number, hasWarnings: boolean): string {
  if (faults > 0) {
    return faults === 1 ? "One thing does not work." : `${faults} things do not work.`;
  }
  return hasWarnings ? "Everything works, with warnings." : "Everything works.";
}

const COLUMNS: Column<Ignored>[] = [
  { title: "Account", cell: ({ account }) => <span class="mono">{account}</span> },
  { title: "Reason", cell: ({ reason }) => reason },
  { title: "Updates", kind: "number", cell: (row) => count(row.count) },
];

function IgnoredUpdates({ rows }: { rows: readonly Ignored[] }) {
  if (rows.length === 0) {
    return null;
  }
  return (
    <section class="panel">
      <h2>Updates that were not for the agent</h2>
      <Table label="Updates that were not for the agent" columns={COLUMNS} rows={rows} rowKey={({ account, reason }) => `${account} ${reason}`} />
    </section>
  );
}
