import { Markdown } from "../markdown/Markdown.js";

/** The text of a message from outside of the turns. A platform's text with styles keeps its lines and columns. */
export function NoticeText({ text, isPlain }: { text: string; isPlain: boolean }) {
  if (!isPlain) {
    return <Markdown text={text} />;
  }
  return (
    <div class="notice-text">
      {plainBlocks(text).map(({ lines, isTable }, at) => (
        isTable ? <pre key={at} tabIndex={0}>{lines.join("\n")}</pre> : <p key={at} class="plain-text">{lines.join("\n")}</p>
      ))}
    </div>
  );
}

interface PlainBlock {
  lines: string[];
  /** `true` for lines whose columns stand below each other. */
  isTable: boolean;
}

/** Splits a text into tables and other lines. One line alone is no table. */
export function plainBlocks(text: string): PlainBlock[] {
  const lines = text.split("\n");
  const hasColumns = (at: number) => /\S {2,}\S|[|│].*[|│]/.test(lines[at] ?? "");
  const blocks: PlainBlock[] = [];
  lines.forEach((line, at) => {
    const isTable = hasColumns(at) && (hasColumns(at - 1) || hasColumns(at + 1));
    const last = blocks.at(-1);
    if (last?.isTable === isTable) {
      last.lines.push(line);
    } else {
      blocks.push({ lines: [line], isTable });
    }
  });
  return blocks;
}
