import type { ConfigRemark } from "../../types.js";

interface Props {
  title: string;
  tone: "bad" | "warn";
  remarks: readonly ConfigRemark[];
  /** Goes to a line of the text. */
  onJump: (line: number) => void;
}

/** Faults or warnings of the checked text. A press goes to the line. */
export function Remarks({ title, tone, remarks, onJump }: Props) {
  if (remarks.length === 0) {
    return null;
  }
  return (
    <section class={`remarks ${tone}`}>
      <h2>{title}</h2>
      <ul>
        {remarks.map((remark, at) => <li key={at}><Remark remark={remark} onJump={onJump} /></li>)}
      </ul>
    </section>
  );
}

function Remark({ remark: { line, key, message }, onJump }: { remark: ConfigRemark; onJump: (line: number) => void }) {
  const text = <>{key !== null && <code>{key}: </code>}{message}</>;
  return line === null
    ? <p>{text}</p>
    : <button type="button" onClick={() => onJump(line)}><span class="remark-line">Line {line}</span><span>{text}</span></button>;
}
