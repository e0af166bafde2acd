import type { ComponentChildren } from "preact";

/** A term and its value. Values of `null`, `undefined` and `false` are left out. */
export type Fact = readonly [term: string, value: ComponentChildren];

/** Terms with their values, in two columns. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  const shown = facts.filter(([, value]) => value !== null && value !== undefined && value !== false);
  return (
    <dl class="facts">
      {shown.map(([term, value]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
