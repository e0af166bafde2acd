import { useId, useRef } from "preact/hooks";
import type { ComponentChildren } from "preact";

interface Props<Name extends string> {
  label: string;
  tabs: readonly { name: Name; title: string }[];
  selected: Name;
  onSelect: (name: Name) => void;
  /** The content of the selected tab. */
  children: ComponentChildren;
}

/** Tabs (WAI-ARIA practices): the arrow keys move between them. */
export function Tabs<Name extends string>({ label, tabs, selected, onSelect, children }: Props<Name>) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) {
      return;
    }
    const at = tabs.findIndex(({ name }) => name === selected);
    const next = (at + by + tabs.length) % tabs.length;
    onSelect(tabs[next]!.name);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[next]?.focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={move}>
        {tabs.map(({ name, title }) => (
          <button
            type="button"
            role="tab"
            key={name}
            id={`${id}-${name}`}
            aria-selected={name === selected}
            aria-controls={`${id}-panel`}
            tabIndex={name === selected ? 0 : -1}
            onClick={() => onSelect(name)}
          >
            {title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${selected}`}>{children}</div>
    </>
  );
}
