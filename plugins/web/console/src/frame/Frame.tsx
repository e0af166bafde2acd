import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { useFollowedApprovals } from "../approvals/open.js";
import { newChat } from "../chat/names.js";
import { pageTitle } from "../hooks.js";
import { useKey } from "../keys.js";
import { connection } from "../live.js";
import { IconButton } from "../parts/index.js";
import { go } from "../router.js";
import { routes } from "../routes.js";
import { useStore } from "../store.js";
import { AwayQuestion } from "./AwayQuestion.js";
import { KeysDialog } from "./KeysDialog.js";
import { Sidebar } from "./Sidebar.js";

interface Props {
  /** The name of the shown view. */
  active: string;
  children: ComponentChildren;
}

/** The navigation around a view: a sidebar, or on a phone a drawer. */
export function Frame({ active, children }: Props) {
  const [isDrawerOpen, setDrawerOpen] = useState(false);
  const [isHelpOpen, setHelpOpen] = useState(false);
  useFollowedApprovals();
  const menu = useRef<HTMLButtonElement>(null);
  const close = () => setDrawerOpen(false);
  const wasOpen = useRef(false);
  useEffect(() => {
    if (wasOpen.current && !isDrawerOpen) {
      menu.current?.focus();
    }
    wasOpen.current = isDrawerOpen;
  }, [isDrawerOpen]);
  useKey("?", () => setHelpOpen(true));
  useKey("n", newChat);
  const title = useStore(pageTitle);
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={skip}>Skip to the content</a>
      {routes.map(({ name, key }) => key && <ViewKey key={name} name={name} letter={key} />)}
      <header class="topbar" inert={isDrawerOpen}>
        <IconButton icon="menu" ref={menu} label="Open the navigation" onClick={() => setDrawerOpen(true)} />
        <span aria-hidden="true">{title}</span>
      </header>
      <Drawer isOpen={isDrawerOpen} onClose={close}>
        <Sidebar active={active} onLeave={close} onHelp={() => setHelpOpen(true)} />
      </Drawer>
      <main id="main" class="main" tabIndex={-1} inert={isDrawerOpen}>
        <ConnectionBar />
        <AwayQuestion />
        {children}
      </main>
      <KeysDialog isOpen={isHelpOpen} onClose={() => setHelpOpen(false)} />
    </div>
  );
}

/** The hash of the address names the view, so the link moves the focus by itself. */
function skip(event: Event) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function ViewKey({ name, letter }: { name: string; letter: string }) {
  useKey(`g ${letter}`, () => go(name));
  return null;
}

interface DrawerProps {
  isOpen: boolean;
  onClose: () => void;
  children: ComponentChildren;
}

function Drawer({ isOpen, onClose, children }: DrawerProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) {
      return;
    }
    box.current?.querySelector<HTMLElement>("a, button")?.focus();
    const closeOnEscape = (event: KeyboardEvent) => event.key === "Escape" && onClose();
    // The drawer exists on narrow screens only; a phone can be turned.
    const wide = matchMedia("(min-width: 721px)");
    addEventListener("keydown", closeOnEscape);
    wide.addEventListener("change", onClose);
    return () => {
      removeEventListener("keydown", closeOnEscape);
      wide.removeEventListener("change", onClose);
    };
  }, [isOpen]);
  return (
    <>
      <div class={`drawer ${isOpen ? "open" : ""}`} ref={box}>{children}</div>
      {isOpen && <div class="shade" onClick={onClose} />}
    </>
  );
}

function ConnectionBar() {
  const state = useStore(connection);
  return (
    <div class="connection" role="status">
      {state === "lost" && <span>Connection lost. Connecting again...</span>}
      {state === "ended" && <span>The daemon refused live updates. Load the page again.</span>}
    </div>
  );
}
