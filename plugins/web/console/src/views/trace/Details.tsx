import type { ComponentChildren } from "preact";

import { count, duration, exactTime, money, size } from "../../format.js";
import { Code, Json, State } from "../../parts/index.js";
import { href } from "../../router.js";
import type { EventUsage, TraceSpan } from "../../types.js";
import { Facts, type Fact } from "../shared/Facts.js";
import { SessionLink } from "../shared/SessionLink.js";
import { word, type TraceRow } from "./rows.js";

/** All that the log has about a row. */
export function Details({ row }: { row: TraceRow }) {
  const times: Fact[] = [
    ["Begin", exactTime(row.start)],
    ["End", row.end === null ? "still open" : exactTime(row.end)],
    ["Time", row.end !== null && row.end > row.start && duration(row.end - row.start)],
  ];
  return (
    <div class="trace-details">
      <Facts facts={times} />
      {row.spans.map((span, index) => <SpanDetails key={index} span={span} />)}
    </div>
  );
}

function SpanDetails({ span }: { span: TraceSpan }): ComponentChildren {
  switch (span.type) {
    case "received": {
      const { message } = span;
      const author = message.sender_name ? `${message.sender_name} (${message.sender})` : message.sender;
      return (
        <>
          <Facts facts={[
            ["From", author],
            ["Chat", <SessionLink session={message.chat} />],
            ["Outcome", message.outcome && <State word={message.outcome} />],
          ]} />
          <Code text={message.text} />
          {message.reply !== undefined && <Code text={message.reply} />}
        </>
      );
    }
    case "model":
      return (
        <>
          {span.usage.map((usage, index) => <UsageFacts key={index} usage={usage} />)}
          {span.answer?.calls && span.answer.calls.length > 0 && <Facts facts={[["Calls", span.answer.calls.join(", ")]]} />}
          {span.answer?.text && <Code text={span.answer.text} language="markdown" />}
        </>
      );
    case "tool":
      return (
        <>
          <Facts facts={[
            ["Call", span.call],
            ["Result", span.tool.ok === undefined ? "none" : span.tool.ok ? "succeeded" : "failed"],
            ["Size", span.tool.result_bytes !== undefined && size(span.tool.result_bytes)],
          ]} />
          <Json value={span.tool.arguments} />
        </>
      );
    case "delivery": {
      const { delivery, state } = span;
      return (
        <>
          <Facts facts={[
            ["State", <State word={word(state)} />],
            ["Chat", <SessionLink session={delivery.chat} />],
            ["Platform id", delivery.platform_id],
            ["Part", String(delivery.part + 1)],
            ["Sends", `${delivery.attempts}${delivery.repeat ? ", may have arrived twice" : ""}`],
            ["Error", delivery.error],
            ["Failed message", state === "delivery.dead" && <a href={href("failed")}>Show failed messages</a>],
          ]} />
          <Code text={delivery.text} />
        </>
      );
    }
    case "ended":
      return <TurnDetails span={span} />;
    default:
      return null;
  }
}

function TurnDetails({ span }: { span: Extract<TraceSpan, { type: "ended" }> }) {
  const { state, turn_info: turn } = span;
  return (
    <>
      <Facts facts={[["State", <State word={word(state)} />], ["Parent", turn?.parent], ["Task", turn?.label]]} />
      {turn?.notice !== undefined && <Code text={turn.notice} />}
      {turn?.answer !== undefined && <Code text={turn.answer} language="markdown" />}
    </>
  );
}

function UsageFacts({ usage }: { usage: EventUsage }) {
  return (
    <Facts facts={[
      ["Model", usage.model],
      ["Input", `${count(usage.input)} tokens, ${count(usage.cached)} of them from the cache`],
      ["Output", `${count(usage.output)} tokens`],
      ["Cost", usage.cost === null ? "unknown price" : money(usage.cost)],
    ]} />
  );
}
