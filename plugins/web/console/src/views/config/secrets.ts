/** Secrets in the text of the configuration: hidden while it is shown, and back in place when it is sent. */

/** Keys whose values are secrets. */
const SECRET_KEY = /^(?:api_key|key|token|secret|password|proxy|authorization|cookie)$|(?:_|-)(?:key|token|secret|password)$/i;

/** Tables whose values may all be secrets. */
const SECRET_TABLE = /^(?:headers|env)$/;

/** A key with its value, a text without line breaks. Comments are matched so that they can be left alone. */
const PAIR = /("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+)(\s*=\s*)("(?:[^"\\\n]|\\.)*"|'[^'\n]*')|#[^\n]*|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/g;

/** The beginning of a table, in its own line or within one. */
const TABLE = /^\s*\[+\s*([^\]]+?)\s*\]+|([A-Za-z0-9_-]+)\s*=\s*\{/;

export interface MaskedText {
  /** The text with a mark in place of each secret. */
  shown: string;
  /** The values by their marks, with their quotation marks. */
  values: ReadonlyMap<string, string>;
}

/** Hides the values of secrets. A value that names a variable or a file is no secret. */
export function maskSecrets(text: string): MaskedText {
  const values = new Map<string, string>();
  let table = "";
  const shown = text.split("\n").map((line) => {
    const header = /^\s*\[/.test(line) ? TABLE.exec(line)?.[1] : undefined;
    if (header !== undefined) {
      table = header.split(".").at(-1)!.trim();
    }
    const own = /^\s*([A-Za-z0-9_-]+)\s*=\s*\{/.exec(line)?.[1] ?? table;
    return line.replace(PAIR, (whole, key: string | undefined, between: string, value: string) => {
      if (key === undefined || !isSecret(key.replace(/^["']|["']$/g, ""), value, own)) {
        return whole;
      }
      const mark = `"•••••••• ${values.size + 1}"`;
      values.set(mark, value);
      return `${key}${between}${mark}`;
    });
  }).join("\n");
  return { shown, values };
}

/** Puts the values back in the places of their marks. */
export function unmaskSecrets(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(/"•{8} \d+"/g, (mark) => values.get(mark) ?? mark);
}

function isSecret(key: string, value: string, table: string): boolean {
  const inner = value.slice(1, -1);
  return inner !== "" && !inner.includes("${") && (SECRET_KEY.test(key) || SECRET_TABLE.test(table));
}
