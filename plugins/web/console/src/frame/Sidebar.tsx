import { useApprovals } from "../approvals/open.js";
import { Button, ConfirmButton, Icon, IconButton } from "../parts/index.js";
import { newChat } from "../chat/names.js";
import { logOut } from "../login.js";
import { href } from "../router.js";
import { routes, type RouteEntry } from "../routes.js";
import { RecentChats } from "./RecentChats.js";
import { ThemeSwitch } from "./ThemeSwitch.js";

interface Props {
  active: string;
  /** Called when a link was followed. */
  onLeave: () => void;
  onHelp: () => void;
}

const GROUPS = [
  { group: "talk", title: "Talk" },
  { group: "work", title: "Work" },
  { group: "run", title: "Operate" },
] as const;

export function Sidebar({ active, onLeave, onHelp }: Props) {
  const start = () => {
    newChat();
    onLeave();
  };
  return (
    <aside class="sidebar" aria-label="Navigation">
      <a class="brand" href={href("chat")} onClick={onLeave}>
        <img src="/icon.svg" alt="" width={24} height={24} />
        <span>Avocet</span>
      </a>
      <Button icon="plus" class="new-chat" onClick={start}>New chat</Button>
      <nav aria-label="Views">
        {GROUPS.map(({ group, title }) => (
          <section key={group}>
            <h2>{title}</h2>
            <ul>
              {routes.filter((route) => route.group === group).map((route) => (
                <li key={route.name}><NavLink route={route} active={active} onLeave={onLeave} /></li>
              ))}
            </ul>
          </section>
        ))}
        <RecentChats onLeave={onLeave} />
      </nav>
      <footer class="sidebar-foot">
        <ThemeSwitch />
        <IconButton icon="keyboard" label="Keys" onClick={onHelp} />
        <ConfirmButton
          look="quiet"
          class="square"
          icon="leave"
          aria-label="Sign out"
          title="Sign out"
          question="Sign out of this browser?"
          details={<>To come back, run <code>avocet web</code> again.</>}
          confirm="Sign out"
          action={logOut}
        />
      </footer>
    </aside>
  );
}

interface NavLinkProps {
  route: RouteEntry;
  active: string;
  onLeave: () => void;
}

function NavLink({ route, active, onLeave }: NavLinkProps) {
  const isActive = route.name === active;
  const open = useApprovals().data?.length ?? 0;
  return (
    <a
      class="nav-link"
      href={href(route.name)}
      aria-current={isActive ? "page" : undefined}
      onClick={onLeave}
    >
      <Icon name={route.icon} />
      <span>{route.title}</span>
      {route.name === "approvals" && open > 0 && <span class="nav-count">{open}</span>}
    </a>
  );
}
