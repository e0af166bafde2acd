import { useRef, useState } from "preact/hooks";

import { duration } from "../../format.js";
import { Details } from "./Details.js";
import type { TraceRow } from "./rows.js";
import { makeScale, type Scale } from "./scale.js";

const percent = (share: number) => `${(share * 100).toFixed(3)}%`;

/** A label behind this position may not fit on a phone. */
const LATE = 0.8;

/** The rows of a message with their bars. The arrow keys move between rows; Enter opens one. */
export function Timeline({ rows, now }: { rows: readonly TraceRow[]; now: number }) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const list = useRef<HTMLUListElement>(null);
  const scale = makeScale(rows, now);
  const toggle = (id: string) => {
    const next = new Set(open);
    if (!next.delete(id)) {
      next.add(id);
    }
    setOpen(next);
  };
  const move = (event: KeyboardEvent) => {
    const buttons = [...(list.current?.querySelectorAll<HTMLElement>(".trace-button") ?? [])];
    const at = buttons.indexOf(event.target as HTMLElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (at !== -1 && next !== undefined && buttons[next]) {
      event.preventDefault();
      buttons[next].focus();
    }
  };
  return (
    <div class="trace">
      <Axis scale={scale} />
      <ul ref={list} onKeyDown={move}>
        {rows.map((row) => (
          <Row key={row.id} row={row} scale={scale} now={now} isOpen={open.has(row.id)} onToggle={() => toggle(row.id)} />
        ))}
      </ul>
    </div>
  );
}

function Axis({ scale }: { scale: Scale }) {
  return (
    <div class="trace-axis">
      <span class="trace-legend">{scale.gaps.length > 0 && "Hatched: long waits, shortened"}</span>
      <div class="trace-ticks" aria-hidden="true">
        {scale.ticks.map(({ at, label }) => (
          <span key={at} class={at > LATE ? "late" : ""} style={{ left: percent(at) }}>{label}</span>
        ))}
      </div>
    </div>
  );
}

interface RowProps {
  row: TraceRow;
  scale: Scale;
  now: number;
  isOpen: boolean;
  onToggle: () => void;
}

function Row({ row, scale, now, isOpen, onToggle }: RowProps) {
  const from = scale.at(row.start);
  const to = scale.at(row.end ?? now);
  const lasts = (row.end ?? now) - row.start;
  const time = row.end === null ? `${duration(lasts)}, open` : duration(lasts);
  return (
    <li class={`trace-row ${row.kind} ${row.isFault ? "fault-row" : ""}`} style={{ "--depth": row.depth }}>
      <button type="button" class="trace-button" aria-expanded={isOpen} onClick={onToggle}>
        <span class="trace-label">
          <span class="trace-title">{row.title}</span>
          {row.note && <span class="trace-note">{row.note}</span>}
        </span>
        <span class="trace-track" aria-hidden="true">
          {scale.ticks.map(({ at }) => <span key={at} class="trace-line" style={{ left: percent(at) }} />)}
          {scale.gaps.map((gap) => (
            <span
              key={gap.from}
              class="trace-gap"
              title={`A wait of ${gap.label}, shortened`}
              style={{ left: percent(gap.from), width: percent(gap.to - gap.from) }}
            />
          ))}
          <span
            class={`trace-bar ${row.end === null ? "open" : ""}`}
            style={{ left: percent(from), width: percent(to - from) }}
          />
        </span>
        <span class="trace-time">{time}</span>
      </button>
      {isOpen && <Details row={row} />}
    </li>
  );
}
