import { count, price } from "../../format.js";
import { dayLabel, type UsageRow } from "./days.js";

export type Metric = "cost" | "tokens";

interface Props {
  /** Oldest first. */
  days: readonly UsageRow[];
  metric: Metric;
}

/** The free part on both sides of a bar, as a share of its column. */
const MARGIN = 0.14;

/** The top of the scale without values: a dollar, or a thousand tokens. */
const EMPTY_TOP: Record<Metric, number> = { cost: 1e9, tokens: 1000 };

/** Bars by day. The table below the chart has the same values for screen readers. */
export function DayChart({ days, metric }: Props) {
  const parts = (day: UsageRow) => (metric === "cost" ? [day.cost] : [day.output, day.input]);
  const show = metric === "cost" ? dollars : compact;
  const most = Math.max(...days.map((day) => parts(day).reduce((sum, part) => sum + part, 0)));
  const top = roundUp(most === 0 ? EMPTY_TOP[metric] : most);
  const ticks = [0, Math.floor((days.length - 1) / 2), days.length - 1];
  return (
    <div class="chart">
      <div class="chart-scale" aria-hidden="true">
        {[top, top / 2, 0].map((value) => <span key={value}>{show(value)}</span>)}
      </div>
      <svg
        class="chart-bars"
        viewBox={`0 0 ${days.length} 100`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${metric === "cost" ? "Cost" : "Tokens"} by day, ${dayLabel(days[0]!.of)} to ${dayLabel(days.at(-1)!.of)}`}
      >
        {[0, 50, 100].map((y) => <line key={y} class="chart-line" x1={0} x2={days.length} y1={y} y2={y} />)}
        {days.map((day, column) => (
          <g key={day.of}>
            <rect class="chart-column" x={column} y={0} width={1} height={100}><title>{tooltip(day)}</title></rect>
            <Stack column={column} parts={parts(day)} top={top} />
          </g>
        ))}
      </svg>
      <div class="chart-days" aria-hidden="true">
        {ticks.map((tick) => <span key={tick}>{dayLabel(days[tick]!.of)}</span>)}
      </div>
    </div>
  );
}

/** The parts of a bar, the lowest first. */
function Stack({ column, parts, top }: { column: number; parts: number[]; top: number }) {
  let below = 0;
  return (
    <>
      {parts.map((part, index) => {
        const height = (part / top) * 100;
        below += height;
        return <rect key={index} class={`chart-part part-${index}`} x={column + MARGIN} y={100 - below} width={1 - 2 * MARGIN} height={height} />;
      })}
    </>
  );
}

function tooltip(day: UsageRow): string {
  return `${dayLabel(day.of)}: ${price(day)}, ${count(day.input)} tokens in, ${count(day.output)} out`;
}

/** Returns the next number with one significant digit out of 1, 2, 4, 5, 6 and 8. */
function roundUp(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value));
  return unit * ([1, 2, 4, 5, 6, 8].find((digit) => digit * unit >= value) ?? 10);
}

const dollarFormat = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumSignificantDigits: 2 });

/** `$0.4` of billionths of a dollar. */
function dollars(billionths: number): string {
  return dollarFormat.format(billionths / 1e9);
}

const compactFormat = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** `1.2M`. */
export function compact(value: number): string {
  return compactFormat.format(value);
}
