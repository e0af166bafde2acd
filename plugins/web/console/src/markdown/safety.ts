/** Links and characters from texts of strangers and models. */

const SCHEMES = new Set(["http:", "https:", "mailto:"]);

/** Returns the address of a link, or `null` if a browser must not follow it. */
export function safeLink(target: string): string | null {
  // A relative link would point into the console.
  const url = parsed(target);
  return url !== null && SCHEMES.has(url.protocol) ? url.href : null;
}

function parsed(target: string): URL | null {
  try {
    return new URL(target);
  } catch {
    return null;
  }
}

const NAMED: Record<string, string> = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", ndash: "–", mdash: "—",
  hellip: "…", copy: "©", times: "×", rarr: "→", larr: "←", euro: "€",
};

/** Replaces character references of HTML, which Markdown allows in text. */
export function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,8}));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) {
      return NAMED[name] ?? whole;
    }
    const code = decimal !== undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
