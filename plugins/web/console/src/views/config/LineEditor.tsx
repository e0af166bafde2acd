import type { RefObject } from "preact";
import { useMemo, useRef } from "preact/hooks";

import { lineCount } from "./lines.js";

interface Props {
  area: RefObject<HTMLTextAreaElement | null>;
  text: string;
  isReadOnly: boolean;
  /** Lines with a fault, from 1. */
  marked: ReadonlySet<number>;
  /** The id of the text that explains the Tab key. */
  hintId: string;
  onInput: (text: string) => void;
  /** Called for Ctrl+S and Cmd+S. */
  onSave: () => void;
}

const INDENT = "  ";

/** A text area with line numbers. Tab indents; Escape and then Tab leave the field. */
export function LineEditor({ area, text, isReadOnly, marked, hintId, onInput, onSave }: Props) {
  const gutter = useRef<HTMLDivElement>(null);
  const isLeaving = useRef(false);
  const follow = () => {
    if (gutter.current && area.current) {
      gutter.current.scrollTop = area.current.scrollTop;
    }
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "s" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      onSave();
    } else if (event.key === "Tab" && !event.shiftKey && !isReadOnly && !isLeaving.current) {
      event.preventDefault();
      // The only way to insert text that the browser can undo.
      document.execCommand("insertText", false, INDENT);
    }
    isLeaving.current = event.key === "Escape";
  };
  return (
    <div class="editor">
      <Gutter box={gutter} lines={lineCount(text)} marked={marked} />
      <textarea
        ref={area}
        value={text}
        readOnly={isReadOnly}
        placeholder="# The file is empty, or does not exist yet."
        wrap="off"
        spellcheck={false}
        autocapitalize="off"
        autocomplete="off"
        aria-label="Configuration"
        aria-describedby={hintId}
        aria-invalid={marked.size > 0}
        onInput={(event) => onInput(event.currentTarget.value)}
        onKeyDown={press}
        onBlur={() => (isLeaving.current = false)}
        onScroll={follow}
      />
    </div>
  );
}

interface GutterProps {
  box: RefObject<HTMLDivElement | null>;
  lines: number;
  marked: ReadonlySet<number>;
}

/** The line numbers. They are made again only if their number or the marks change. */
function Gutter({ box, lines, marked }: GutterProps) {
  return useMemo(() => (
    <div class="gutter" ref={box} aria-hidden="true">
      {Array.from({ length: lines }, (_, index) => (
        <div key={index} class={marked.has(index + 1) ? "marked" : ""}>{index + 1}</div>
      ))}
    </div>
  ), [lines, marked]);
}
