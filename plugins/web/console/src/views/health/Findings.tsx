import { Icon } from "../../parts/index.js";
import { href } from "../../router.js";
import type { Finding } from "./sentences.js";

const MARKS = {
  good: { icon: "check", label: "Good: " },
  warn: { icon: "failed", label: "Warning: " },
  bad: { icon: "failed", label: "Fault: " },
  neutral: { icon: null, label: "" },
} as const;

/** A part of the state, with a sentence for each finding. */
export function Findings({ title, findings }: { title: string; findings: readonly Finding[] }) {
  if (findings.length === 0) {
    return null;
  }
  return (
    <section class="panel">
      <h2>{title}</h2>
      <ul class="findings">
        {findings.map((finding, at) => {
          const { icon, label } = MARKS[finding.tone];
          return (
            <li key={at} class={`finding ${finding.tone}`}>
              {icon === null ? <span class="dot" /> : <Icon name={icon} />}
              <p>
                {label && <span class="sr-only">{label}</span>}
                {finding.subject && <><strong>{finding.subject}:</strong>{" "}</>}
                {finding.text}
                {finding.more && <>{" "}<a href={href(finding.more.view)}>{finding.more.title}</a></>}
              </p>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
