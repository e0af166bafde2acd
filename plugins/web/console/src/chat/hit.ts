/** The place of a search hit within its turn. */

/** The name of the highlight in the style sheet. */
const HIGHLIGHT = "hit";

/** Returns the words of a search in lower case. */
export function searchedWords(words: string): string[] {
  return words.toLowerCase().split(/\s+/).filter(Boolean);
}

/** Returns the place of the text with the most of the words, the first of several; -1 if no text has one. */
export function bestMatch(texts: readonly string[], words: readonly string[]): number {
  let best = -1;
  let most = 0;
  texts.forEach((text, at) => {
    const lower = text.toLowerCase();
    const found = words.filter((word) => lower.includes(word)).length;
    if (found > most) {
      [best, most] = [at, found];
    }
  });
  return best;
}

/** Scrolls to the words within a row, and marks them. `false` if the row does not show them. */
export function showHit(box: HTMLElement, row: Element, given: string): boolean {
  const words = searchedWords(given);
  const nodes = textNodes(row);
  const node = nodes[bestMatch(nodes.map(({ data }) => data), words)];
  if (node === undefined) {
    return false;
  }
  const ranges = words.flatMap((word) => rangesOf(node, word));
  const { top } = (ranges[0] ?? rangeOf(node, 0, node.length)).getBoundingClientRect();
  box.scrollTop += top - box.getBoundingClientRect().top - box.clientHeight / 3;
  // Older browsers show the row without the mark.
  if ("highlights" in CSS) {
    CSS.highlights.set(HIGHLIGHT, new Highlight(...ranges));
  }
  return true;
}

function textNodes(row: Element): Text[] {
  const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
  const nodes: Text[] = [];
  while (walker.nextNode() !== null) {
    nodes.push(walker.currentNode as Text);
  }
  return nodes;
}

function rangesOf(node: Text, word: string): Range[] {
  const text = node.data.toLowerCase();
  // Lower case of a few letters is longer, and would move the place.
  if (text.length !== node.length) {
    return [];
  }
  const ranges: Range[] = [];
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + word.length)) {
    ranges.push(rangeOf(node, at, at + word.length));
  }
  return ranges;
}

function rangeOf(node: Text, start: number, end: number): Range {
  const range = document.createRange();
  range.setStart(node, start);
  range.setEnd(node, end);
  return range;
}
