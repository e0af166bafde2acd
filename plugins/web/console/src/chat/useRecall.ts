import { useRef } from "preact/hooks";

/**
 * Brings back one's last messages in an empty field, as a shell does. Returns the text for a key, or `null` if
 * the key has its usual effect. `earlier` has the newest message first.
 */
export function useRecall(text: string, earlier: () => readonly string[]): (key: string) => string | null {
  const shown = useRef<{ at: number; text: string } | null>(null);
  return (key) => {
    if (key !== "ArrowUp" && key !== "ArrowDown") {
      return null;
    }
    const isRecalled = shown.current !== null && shown.current.text === text;
    if (text !== "" && !isRecalled) {
      return null;
    }
    const at = (isRecalled ? shown.current!.at : -1) + (key === "ArrowUp" ? 1 : -1);
    const messages = earlier();
    if (at < -1 || at >= messages.length) {
      return null;
    }
    shown.current = at === -1 ? null : { at, text: messages[at]! };
    return shown.current?.text ?? "";
  };
}
