import { count, price } from "../../format.js";
import { compact } from "./DayChart.js";
import type { UsageRow } from "./days.js";

/** The sums of the period. */
export function Totals({ total }: { total: UsageRow }) {
  const cachedShare = total.input === 0 ? 0 : Math.round((total.cached / total.input) * 100);
  return (
    <>
      <dl class="totals">
        <div><dt>Cost</dt><dd>{price(total)}</dd></div>
        <div><dt>Input tokens</dt><dd title={count(total.input)}>{compact(total.input)}</dd></div>
        <div><dt>From the cache</dt><dd>{cachedShare} %</dd></div>
        <div><dt>Output tokens</dt><dd title={count(total.output)}>{compact(total.output)}</dd></div>
        <div><dt>Answers</dt><dd>{count(total.answers)}</dd></div>
      </dl>
      {total.unpriced > 0 && (
        <p class="hint totals-note">{count(total.unpriced)} tokens have no known price. The cost leaves them out.</p>
      )}
    </>
  );
}
