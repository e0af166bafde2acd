import { get, path, remove, setToken } from "../../api.js";
import { useLoad } from "../../hooks.js";
import { isOwnBrowser } from "../../login.js";
import { Badge, ConfirmButton, Loaded, Table, Time, type Column } from "../../parts/index.js";
import type { WebBrowser } from "../../types.js";

/** The browsers that are signed in. Each can be signed out alone. */
export function Browsers() {
  const load = useLoad<WebBrowser[]>((signal) => get(path("web", "browsers"), {}, signal), []);
  const columns: Column<WebBrowser>[] = [
    { title: "Browser", cell: ({ id, name }) => <span>{name} {isOwnBrowser(id) && <Badge>this one</Badge>}</span> },
    { title: "Signed in", cell: (row) => <Time at={row.signed_in_at} /> },
    { title: "Last request", cell: ({ seen_at }) => (seen_at === null ? "not since the last start" : <Time at={seen_at} />) },
    { title: "Until", cell: (row) => <Time at={row.expires_at} /> },
    { title: "Person", cell: ({ sender }) => <span class="mono">{sender}</span> },
    { title: "Action", cell: (row) => <SignOut browser={row} onDone={load.reload} /> },
  ];
  return (
    <section class="panel">
      <h2>Browsers</h2>
      <Loaded load={load} failure="The browsers could not be loaded">
        {(rows) => <Table label="Browsers that are signed in" columns={columns} rows={rows} rowKey={({ id }) => id} />}
      </Loaded>
    </section>
  );
}

function SignOut({ browser: { id, name }, onDone }: { browser: WebBrowser; onDone: () => void }) {
  const signOut = async () => {
    await remove(path("web", "browsers", id));
    if (isOwnBrowser(id)) {
      setToken(null);
    } else {
      onDone();
    }
  };
  return (
    <ConfirmButton
      look="quiet"
      icon="leave"
      question={`Sign out ${name}?`}
      details={<>Its pages stop at once. To come back, run <code>avocet web</code> there again.</>}
      confirm="Sign out"
      action={signOut}
      aria-label={`Sign out ${name}`}
    >
      Sign out
    </ConfirmButton>
  );
}
