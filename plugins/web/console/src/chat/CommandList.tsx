import { useEffect, useRef } from "preact/hooks";

import type { ChatCommand } from "./commands.js";

interface Props {
  id: string;
  commands: readonly ChatCommand[];
  /** The place of the chosen command. */
  chosen: number;
  onPick: (command: ChatCommand) => void;
}

/** The commands that begin as the text does. The focus stays in the field. */
export function CommandList({ id, commands, chosen, onPick }: Props) {
  const box = useRef<HTMLUListElement>(null);
  useEffect(() => {
    box.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <ul class="commands" id={id} role="listbox" aria-label="Commands" ref={box}>
      {commands.map((command, at) => (
        <li
          key={command.name}
          id={`${id}-${at}`}
          role="option"
          aria-selected={at === chosen}
          onPointerDown={(event) => (event.preventDefault(), onPick(command))}
        >
          <span class="command-name">/{command.name} <span class="hint">{command.argument}</span></span>
          <span class="hint">{command.help}</span>
        </li>
      ))}
    </ul>
  );
}
