/** Markdown as Preact nodes. Raw HTML is shown as text. */

import { Marked, type Token, type Tokens } from "marked";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";

import { Code } from "../parts/Code.js";
import { Formula } from "./Formula.js";
import { formulaExtensions, isFormula } from "./tex.js";
import { Inline } from "./Inline.js";

const marked = new Marked({ extensions: formulaExtensions });

/** Longer texts are shown as they are, because the work would block the page. */
const LONGEST = 400_000;

export function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => (text.length > LONGEST ? null : marked.lexer(text)), [text]);
  if (blocks === null) {
    return <div class="plain-text">{text}</div>;
  }
  const levels = headingLevels(blocks);
  return <div class="markdown">{blocks.map((token, at) => <Block key={at} token={token} level={levels[at]} />)}</div>;
}

/** One block. While an answer grows, only its last block is rendered again. */
function Block({ token, level }: { token: Token; level?: number | undefined }) {
  return useMemo(() => <>{block(token, level)}</>, [token.type, token.raw, level]);
}

function block(token: Token, level: number | undefined): ComponentChildren {
  if (isFormula(token)) {
    return <Formula formula={token} />;
  }
  const known = token as Tokens.Generic;
  switch (known.type) {
    case "space":
    case "def":
      return null;
    case "code":
      return <Code text={known["text"]} language={language(known["lang"])} />;
    case "heading":
      return <Heading depth={known["depth"]} level={level ?? 2}><Inline tokens={known.tokens} /></Heading>;
    case "hr":
      return <hr />;
    case "blockquote":
      return <blockquote>{(known.tokens ?? []).map(keyed)}</blockquote>;
    case "list":
      return <List list={token as Tokens.List} />;
    case "table":
      return <Grid table={token as Tokens.Table} />;
    case "paragraph":
      return <p><Inline tokens={known.tokens} /></p>;
    case "html":
      return <p class="plain-text">{known.raw.trimEnd()}</p>;
    default:
      return known.tokens ? <Inline tokens={known.tokens} /> : known.raw;
  }
}

function keyed(token: Token, at: number) {
  return <Block key={at} token={token} />;
}

/** Returns the word after the fence, without attributes. */
function language(info: string | undefined): string | undefined {
  return info?.trim().split(/[\s,{]/)[0] || undefined;
}

/**
 * Returns the level of each heading in the page: the title of the page has the first one, and no
 * level is left out on the way down, whatever the text does.
 */
function headingLevels(blocks: readonly Token[]): (number | undefined)[] {
  let level = 1;
  return blocks.map((token) => {
    if (token.type !== "heading") {
      return undefined;
    }
    level = Math.min((token as Tokens.Heading).depth + 1, level + 1, 6);
    return level;
  });
}

interface HeadingProps {
  /** Sets the size. */
  depth: number;
  level: number;
  children: ComponentChildren;
}

function Heading({ depth, level, children }: HeadingProps) {
  const Level = `h${level}` as "h2" | "h3" | "h4" | "h5" | "h6";
  return <Level class={`heading level-${Math.min(depth, 4)}`}>{children}</Level>;
}

function List({ list }: { list: Tokens.List }) {
  const items = list.items.map((item, at) => <Item key={at} item={item} />);
  if (list.ordered) {
    return <ol start={list.start === "" ? 1 : list.start}>{items}</ol>;
  }
  return <ul>{items}</ul>;
}

function Item({ item }: { item: Tokens.ListItem }) {
  // Some versions of the lexer put the box of a task among the tokens as well.
  const tokens = item.tokens.filter(({ type }) => type !== "checkbox");
  if (!item.task) {
    return <li>{tokens.map(keyed)}</li>;
  }
  const isDone = item.checked ?? false;
  return (
    <li class="task">
      <input type="checkbox" checked={isDone} disabled aria-label={isDone ? "done" : "open"} />
      <div>{tokens.map(keyed)}</div>
    </li>
  );
}

function Grid({ table }: { table: Tokens.Table }) {
  const align = (at: number) => ({ textAlign: table.align[at] ?? ("left" as const) });
  const head = (cell: Tokens.TableCell, at: number) => (
    <th key={at} scope="col" style={align(at)}><Inline tokens={cell.tokens} /></th>
  );
  const data = (cell: Tokens.TableCell, at: number) => (
    <td key={at} style={align(at)}><Inline tokens={cell.tokens} /></td>
  );
  return (
    <div class="grid-box" role="group" aria-label="Table" tabIndex={0}>
      <table>
        <thead>
          <tr>{table.header.map(head)}</tr>
        </thead>
        <tbody>
          {table.rows.map((row, line) => <tr key={line}>{row.map(data)}</tr>)}
        </tbody>
      </table>
    </div>
  );
}
