/** Arguments and results of tools. */

import { Code } from "../parts/Code.js";

/** Arguments that tell most about a call, the best first. */
const TELLING = [
  "command", "path", "query", "pattern", "url", "task", "question", "text", "message", "name", "id", "action",
];

/** Returns the argument that tells most about a call; empty if there is none. */
export function mainArgument(given: Record<string, unknown>): string {
  const texts = Object.entries(given).filter(([, value]) => typeof value === "string" && value !== "");
  const best = TELLING.flatMap((name) => texts.filter(([key]) => key === name))[0] ?? texts[0];
  return (best?.[1] as string | undefined) ?? "";
}

/** A text as a block; an object as rows, so that line breaks in its texts are readable. */
export function Value({ value }: { value: unknown }) {
  if (typeof value === "string") {
    return <Code text={value} language={undefined} />;
  }
  if (!isObject(value) || Object.keys(value).length === 0) {
    return <Code text={JSON.stringify(value, null, 2) ?? "null"} language="json" />;
  }
  return (
    <dl class="rows">
      {Object.entries(value).map(([key, part]) => (
        <div key={key}>
          <dt>{key}</dt>
          <dd><Part value={part} /></dd>
        </div>
      ))}
    </dl>
  );
}

function Part({ value }: { value: unknown }) {
  if (typeof value === "object" && value !== null) {
    return <Code text={JSON.stringify(value, null, 2)} language="json" />;
  }
  return <pre>{String(value)}</pre>;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
