import { get, path } from "../api.js";
import { counted, count, duration, price } from "../format.js";
import { useLoad, type Load } from "../hooks.js";
import { Empty, Loaded, Page } from "../parts/index.js";
import { href } from "../router.js";
import type { ViewProps } from "../routes.js";
import type { LogEvent, TraceSpan } from "../types.js";
import { useNow } from "./shared/now.js";
import { Timeline } from "./trace/Timeline.js";
import { traceRows } from "./trace/rows.js";

const KINDS = ["message", "turn", "model", "usage", "call", "delivery"];

/** The timeline of one message: `#/trace/m12`. */
export function Trace({ parts: [message = ""] }: ViewProps) {
  const title = message === "" ? "Trace" : `Trace of ${message}`;
  if (message === "") {
    return (
      <Page title={title}>
        <Empty icon="trace" title="No message is selected">
          A message in a chat, or in the <a href={href("events")}>events</a>, has a link to its timeline.
        </Empty>
      </Page>
    );
  }
  return <MessageTrace key={message} message={message} title={title} />;
}

function MessageTrace({ message, title }: { message: string; title: string }) {
  const load: Load<TraceSpan[]> = useLoad(
    (signal) => get(path("messages", message, "trace"), {}, signal),
    [message],
    { on: KINDS, when: (event) => belongs(event, message, load.data ?? []) },
  );
  const spans = load.data ?? [];
  const session = spans.find((span) => span.type === "received")?.message.chat;
  const back = session === undefined ? undefined : { title: session, href: href("chat", session) };
  return (
    <Page title={title} hint={spans.length > 0 ? summary(spans) : undefined} {...(back && { back })}>
      <Loaded load={load} failure="The timeline could not be loaded">{(loaded) => <Spans spans={loaded} />}</Loaded>
    </Page>
  );
}

function Spans({ spans }: { spans: TraceSpan[] }) {
  const rows = traceRows(spans);
  // A delivery may stay open for days.
  const now = useNow(rows.some(({ kind, end }) => kind !== "delivery" && end === null));
  return <Timeline rows={rows} now={now} />;
}

/** `true` if the event may change the timeline. The turns of the message are known once they have begun. */
function belongs(event: LogEvent, message: string, spans: readonly TraceSpan[]): boolean {
  const turns = new Set(spans.flatMap(({ turn }) => turn ?? []));
  const isOwn = event.message?.id === message || (event.turn !== undefined && turns.has(event.turn));
  const isChild = event.turn_info?.parent !== undefined && turns.has(event.turn_info.parent);
  return isOwn || isChild || (turns.size === 0 && event.kind === "turn.running");
}

/** `42 s in all, 3 requests to models, 4 calls, 38,000 tokens, $0.0812`. */
function summary(spans: readonly TraceSpan[]): string {
  const models = spans.filter((span) => span.type === "model");
  const usage = models.flatMap((span) => span.usage);
  const calls = spans.filter((span) => span.type === "tool").length;
  const end = Math.max(...spans.map((span) => span.end ?? span.start));
  const tokens = usage.reduce((sum, { input, output }) => sum + input + output, 0);
  const cost = usage.reduce((sum, one) => sum + (one.cost ?? 0), 0);
  const unpriced = usage.filter((one) => one.cost === null).length;
  const parts = [
    `${duration(end - spans[0]!.start)} in all`,
    counted(models.length, "request to a model", "requests to models"),
    counted(calls, "call"),
    `${count(tokens)} tokens`,
    price({ cost, unpriced }),
  ];
  return parts.join(", ");
}
