import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

import { highlight } from "../highlight.js";
import { Icon } from "./Icon.js";

interface Props {
  text: string;
  /** The name after the fence: `rust`. */
  language?: string | undefined;
}

/** A block of code with a button that copies it. */
export function Code({ text, language }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const nodes = useHighlight(box, text, language);
  return (
    <div class="code" ref={box}>
      <div class="code-head">
        <span>{language ?? "text"}</span>
        <CopyButton text={text} />
      </div>
      <pre tabIndex={0}><code>{nodes ?? text}</code></pre>
    </div>
  );
}

/** A block that is being written stays plain until it has not grown for this time. */
const SETTLE_MS = 200;

/** Returns the highlighted text once the block is near the screen, and `null` before. */
function useHighlight(box: { current: HTMLElement | null }, text: string, language?: string): ComponentChildren {
  const [done, setDone] = useState<{ text: string; nodes: ComponentChildren } | null>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!language) {
      return;
    }
    const observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) {
        observer.disconnect();
        setDone({ text, nodes: highlight(text, language) });
      }
    }, { rootMargin: "400px" });
    const timer = setTimeout(() => observer.observe(box.current!), isFirst.current ? 0 : SETTLE_MS);
    isFirst.current = false;
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [text, language]);
  return done?.text === text ? done.nodes : null;
}

/** Copies the text. The label shows the result until the pointer leaves. */
export function CopyButton({ text }: { text: string }) {
  const [label, setLabel] = useState("Copy");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setLabel("Copied");
    } catch {
      setLabel("Copy failed");
    }
  };
  const reset = () => setLabel("Copy");
  return (
    <button type="button" class="copy" onClick={() => void copy()} onPointerLeave={reset} onBlur={reset}>
      <Icon name={label === "Copied" ? "check" : "copy"} size={14} />
      <span aria-live="polite">{label}</span>
    </button>
  );
}

/** A value as JSON. */
export function Json({ value }: { value: unknown }) {
  return <Code text={JSON.stringify(value, null, 2) ?? "null"} language="json" />;
}
