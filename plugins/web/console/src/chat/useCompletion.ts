import { useId, useLayoutEffect, useMemo, useState } from "preact/hooks";

import { completions, type ChatCommand } from "./commands.js";

export interface Completion {
  id: string;
  commands: readonly ChatCommand[];
  chosen: number;
  /** Takes a key; `true` if it was one for the list. */
  press: (key: string) => boolean;
  pick: (command: ChatCommand) => void;
}

const FIRST = { chosen: 0, isClosed: false };

/** The list of commands below a text that begins one. Escape closes it until the text changes. */
export function useCompletion(text: string, setText: (text: string) => void): Completion {
  const id = useId();
  const [{ chosen, isClosed }, setPlace] = useState(FIRST);
  // Before the next key: an effect after the paint would undo it.
  useLayoutEffect(() => setPlace(FIRST), [text]);
  const all = useMemo(() => completions(text), [text]);
  const isExact = all.length === 1 && text === `/${all[0]!.name}`;
  const commands = isClosed || isExact ? [] : all;
  const pick = ({ name, argument }: ChatCommand) => setText(argument === "" ? `/${name}` : `/${name} `);
  const move = (step: number) => {
    setPlace({ chosen: (chosen + step + commands.length) % commands.length, isClosed: false });
  };
  const press = (key: string) => {
    if (commands.length === 0) {
      return false;
    }
    switch (key) {
      case "ArrowDown":
        move(1);
        return true;
      case "ArrowUp":
        move(-1);
        return true;
      case "Tab":
        pick(commands[chosen]!);
        return true;
      case "Enter":
        // A complete name is sent, although longer ones begin with it.
        if (text === `/${commands[chosen]!.name}`) {
          return false;
        }
        pick(commands[chosen]!);
        return true;
      case "Escape":
        setPlace({ chosen, isClosed: true });
        return true;
      default:
        return false;
    }
  };
  return { id, commands, chosen, press, pick };
}
