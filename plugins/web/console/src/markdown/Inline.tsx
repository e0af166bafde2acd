import type { Token, Tokens } from "marked";
import type { ComponentChildren } from "preact";

import { Formula } from "./Formula.js";
import { isFormula } from "./tex.js";
import { decodeEntities, safeLink } from "./safety.js";

/** The content of a paragraph, a cell or a heading. */
export function Inline({ tokens = [] }: { tokens?: Token[] | undefined }) {
  return <>{tokens.map((token, at) => <Piece key={at} token={token as Tokens.Generic} />)}</>;
}

function Piece({ token }: { token: Tokens.Generic }) {
  if (isFormula(token)) {
    return <Formula formula={token} />;
  }
  const inner = () => <Inline tokens={token.tokens} />;
  switch (token.type) {
    case "strong":
      return <strong>{inner()}</strong>;
    case "em":
      return <em>{inner()}</em>;
    case "del":
      return <del>{inner()}</del>;
    case "br":
      return <br />;
    case "codespan":
      return <code>{token["text"]}</code>;
    case "link":
      return <Link target={token["href"]}>{inner()}</Link>;
    case "image":
      // A picture of another host would tell that host about the reader.
      return <Link target={token["href"]}>{token["text"] || token["href"]}</Link>;
    case "escape":
      return <>{token["text"]}</>;
    case "html":
      return <>{token.raw}</>;
    default:
      return token.tokens ? inner() : <>{decodeEntities(token["text"] ?? token.raw)}</>;
  }
}

function Link({ target, children }: { target: string; children: ComponentChildren }) {
  const href = safeLink(target);
  if (href === null) {
    return <>{children}</>;
  }
  return <a href={href} target="_blank" rel="noopener noreferrer">{children}</a>;
}
