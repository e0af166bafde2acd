/** The rows of a timeline: the message, its turns, and the work of each turn. */

import { count, money, oneLine, size } from "../../format.js";
import type {
  EventKind,
  TraceSpan,
  TraceSpanDelivery,
  TraceSpanModel,
  TraceSpanTool,
  WaitKind,
} from "../../types.js";

type Of<Type extends TraceSpan["type"]> = Extract<TraceSpan, { type: Type }>;

export interface TraceRow {
  id: string;
  /** 0 for the message. */
  depth: number;
  kind: "message" | "turn" | Exclude<TraceSpan["type"], "received" | "ended">;
  title: string;
  /** One line beside the title. */
  note: string;
  start: number;
  /** `null` while it lasts. */
  end: number | null;
  isFault: boolean;
  /** The spans that the details show. */
  spans: TraceSpan[];
}

const WAITS: Record<WaitKind, string> = {
  approval: "an approval",
  answer: "an answer",
  child: "a sub-agent",
  choice: "a decision about a call with an unknown outcome",
};

/** Returns the rows of the spans, which are ordered by their begin. */
export function traceRows(spans: readonly TraceSpan[]): TraceRow[] {
  const received = spans.find((span) => span.type === "received");
  const parents = parentsOf(spans);
  const turns = [...new Set(spans.flatMap(({ turn }) => turn ?? []))];
  const isTop = (turn: string) => !turns.includes(parents.get(turn) ?? "");
  return [
    ...(received ? [messageRow(received, spans)] : []),
    ...spans.flatMap((span, at) => (span.turn === undefined ? spanRows(span, at, 1) : [])),
    ...turns.filter(isTop).flatMap((turn) => turnRows(turn, spans, turns, parents, 1)),
    ...(received && isUnderWay(received, spans) ? [underWayRow(spans, turns.length === 0 ? 1 : 2)] : []),
  ];
}

/** Returns the parent of each sub-agent that has ended. The log has it at the end only. */
function parentsOf(spans: readonly TraceSpan[]): Map<string, string> {
  const parents = new Map<string, string>();
  for (const span of spans) {
    if (span.type === "ended" && span.turn && span.turn_info?.parent) {
      parents.set(span.turn, span.turn_info.parent);
    }
  }
  return parents;
}

function messageRow(span: Of<"received">, spans: readonly TraceSpan[]): TraceRow {
  const { message } = span;
  return {
    id: message.id,
    depth: 0,
    kind: "message",
    title: `Message ${message.id}`,
    note: oneLine(message.text),
    start: span.start,
    end: message.outcome === undefined ? null : Math.max(...spans.map(({ start, end }) => end ?? start)),
    isFault: message.outcome === "error" || message.outcome === "dropped",
    spans: [span],
  };
}

/** `true` if a model is asked, or a tool runs: their spans come when they end. */
function isUnderWay({ message }: Of<"received">, spans: readonly TraceSpan[]): boolean {
  return message.outcome === undefined && !spans.some(({ type, end }) => type !== "delivery" && end === null);
}

function underWayRow(spans: readonly TraceSpan[], depth: number): TraceRow {
  return {
    id: "under-way",
    depth,
    kind: "model",
    title: "Under way",
    note: "a model is asked, or a tool runs",
    start: Math.max(...spans.map(({ type, start, end }) => (type === "delivery" ? start : (end ?? start)))),
    end: null,
    isFault: false,
    spans: [],
  };
}

/** Returns the row of a turn, its work, and the turns of its sub-agents in the order of the begins. */
function turnRows(
  turn: string,
  all: readonly TraceSpan[],
  turns: readonly string[],
  parents: ReadonlyMap<string, string>,
  depth: number,
): TraceRow[] {
  const own = all.filter((span) => span.turn === turn);
  const groups = own.map((span) => ({ start: span.start, rows: spanRows(span, all.indexOf(span), depth + 1) }));
  for (const child of turns.filter((other) => parents.get(other) === turn)) {
    const rows = turnRows(child, all, turns, parents, depth + 2);
    groups.push({ start: rows[0]!.start, rows });
  }
  // The sort is stable, so a sub-agent stands behind the call that started it.
  groups.sort((one, other) => one.start - other.start);
  return [turnRow(turn, own, depth), ...groups.flatMap(({ rows }) => rows)];
}

function turnRow(turn: string, own: readonly TraceSpan[], depth: number): TraceRow {
  const ended = own.find((span) => span.type === "ended");
  const label = ended?.turn_info?.label;
  return {
    id: turn,
    depth,
    kind: "turn",
    title: label === undefined ? `Turn ${turn}` : `Sub-agent ${turn}`,
    note: [label, ended ? word(ended.state) : "open"].filter(Boolean).join(", "),
    start: own[0]!.start,
    end: ended?.start ?? null,
    isFault: ended?.state === "turn.failed",
    spans: ended ? [ended] : [],
  };
}

function spanRows(span: TraceSpan, at: number, depth: number): TraceRow[] {
  const row = { id: `${span.type}-${at}`, depth, start: span.start, end: span.end, isFault: false, spans: [span] };
  switch (span.type) {
    case "queued":
      return [{ ...row, kind: "queued", title: "Wait for the lane", note: "" }];
    case "model":
      return [{ ...row, kind: "model", title: "Model", note: modelNote(span), isFault: span.answer === null }];
    case "tool":
      return [{ ...row, kind: "tool", title: span.tool.name, note: toolNote(span), depth: depth + 1, isFault: span.tool.ok !== true }];
    case "paused":
      return [{ ...row, kind: "paused", title: "Wait", note: pausedNote(span.waits_for) }];
    case "interrupted":
      return [{ ...row, kind: "interrupted", title: "Interrupted", note: "the daemon ended or stopped", isFault: true }];
    case "delivery":
      return [{ ...row, kind: "delivery", title: `Delivery ${span.delivery.id}`, note: deliveryNote(span), isFault: isLost(span.state) }];
    default:
      return [];
  }
}

function modelNote({ answer, usage }: TraceSpanModel): string {
  const priced = usage.flatMap(({ cost }) => cost ?? []);
  const cost = priced.length > 0 ? [money(priced.reduce((sum, one) => sum + one, 0))] : [];
  if (answer === null) {
    return ["no answer", ...cost].join(", ");
  }
  const tokens = `${count(answer.input_tokens)} + ${count(answer.output_tokens)} tokens`;
  return [tokens, ...cost].join(", ");
}

function toolNote({ tool }: TraceSpanTool): string {
  const values = Object.values(tool.arguments);
  const shown = values.length === 1 && typeof values[0] === "string" ? values[0] : JSON.stringify(tool.arguments);
  const result =
    tool.ok === undefined ? "no result"
    : `${tool.ok ? "" : "failed, "}${size(tool.result_bytes ?? 0)}`;
  return `${result} · ${oneLine(shown, 80)}`;
}

function pausedNote(waits: readonly WaitKind[]): string {
  return `for ${waits.map((kind) => WAITS[kind]).join(" and ") || "an event"}`;
}

function deliveryNote({ delivery, state }: TraceSpanDelivery): string {
  const id = delivery.platform_id === undefined ? "" : ` as ${delivery.platform_id}`;
  const sends = delivery.attempts > 1 ? `, ${delivery.attempts} sends` : "";
  return `${word(state)}${id}${sends}${delivery.error === undefined ? "" : `: ${oneLine(delivery.error, 60)}`}`;
}

function isLost(state: EventKind): boolean {
  return state === "delivery.dead" || state === "delivery.unconfirmed";
}

/** Returns the state of an event: `done` of `turn.done`. */
export function word(kind: EventKind): string {
  return kind.slice(kind.indexOf(".") + 1);
}
