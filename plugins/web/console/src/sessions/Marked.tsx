/** A text in which the searched words are marked. */
export function Marked({ text, words }: { text: string; words: string }) {
  const parts = words.split(/\s+/).filter(Boolean).map(escaped);
  if (parts.length === 0) {
    return <>{text}</>;
  }
  // A split by a group puts the matches at the odd places.
  const pieces = text.split(new RegExp(`(${parts.join("|")})`, "gi"));
  return <>{pieces.map((piece, at) => (at % 2 === 1 ? <mark key={at}>{piece}</mark> : piece))}</>;
}

function escaped(word: string): string {
  return word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
