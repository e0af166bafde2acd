import type { ComponentChildren } from "preact";

export interface Column<Row> {
  /** The head of the column, and the label of the value on a phone. */
  title: string;
  cell: (row: Row) => ComponentChildren;
  /** Default: `text`. Numbers stand at the right. On a phone, `lead` is the head of the card, and actions have no label. */
  kind?: "lead" | "text" | "number" | "actions";
}

interface Props<Row> {
  /** Read aloud in front of the table. */
  label: string;
  columns: Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
}

/** A table, which becomes a list of cards on a phone. */
export function Table<Row>({ label, columns, rows, rowKey }: Props<Row>) {
  return (
    <div class="table-box" role="group" aria-label={label} tabIndex={0}>
      <table class="table" aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ title, kind = "text" }) => (
              <th scope="col" class={kind} key={title}>
                {kind === "actions" ? <span class="sr-only">{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map(({ title, cell, kind = "text" }) => (
                <td class={kind} data-label={title} key={title}>{cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
