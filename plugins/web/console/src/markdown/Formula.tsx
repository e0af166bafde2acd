import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { drawFormula, loadFormulas } from "../formulas/load.js";
import type { FormulaToken } from "./tex.js";

/** A formula. Its source is shown until the script that draws it is loaded, and if it has a fault. */
export function Formula({ formula: { raw, text, isBlock } }: { formula: FormulaToken }) {
  const box = useRef<HTMLSpanElement>(null);
  const [isDrawn, setDrawn] = useState(false);
  useLayoutEffect(() => {
    let isShown = true;
    const draw = () => {
      const isDone = drawFormula(box.current!, text, isBlock);
      setDrawn(isDone);
      return isDone;
    };
    if (!draw()) {
      void loadFormulas().then(() => isShown && draw(), () => undefined);
    }
    return () => void (isShown = false);
  }, [text, isBlock]);
  return (
    <span class={isBlock ? "formula block" : "formula"}>
      <span ref={box} hidden={!isDrawn} />
      {!isDrawn && <code>{raw.trim()}</code>}
    </span>
  );
}
