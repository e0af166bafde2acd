/** Lines of a text area. */

/** Number of lines of a text; an empty last line counts. */
export function lineCount(text: string): number {
  return text.split("\n").length;
}

/** Selects a line, from 1, and scrolls it to the middle. */
export function jumpToLine(area: HTMLTextAreaElement, line: number): void {
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  const height = parseFloat(getComputedStyle(area).lineHeight);
  area.scrollTop = (line - 1) * height - area.clientHeight / 2;
  area.scrollIntoView({ block: "nearest" });
}
