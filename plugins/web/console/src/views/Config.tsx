import { useRef } from "preact/hooks";

import { get } from "../api.js";
import { useLoad } from "../hooks.js";
import { Loaded, Page } from "../parts/index.js";
import type { ConfigFile } from "../types.js";
import { ConfigViews } from "./config/ConfigViews.js";

/** The file of the configuration, as a form and as text. */
export function Config() {
  const loads = useRef(0);
  const load = useLoad(async (signal) => {
    const file = await get<ConfigFile>("/v1/config", {}, signal);
    loads.current += 1;
    return { file, number: loads.current };
  }, []);
  const path = load.data?.file.path;
  return (
    <Page title="Configuration" hint={path && <span class="mono">{path}</span>}>
      <p class="hint config-note">
        The daemon uses a saved change within a few seconds. If a change needs a restart, the page Health names its keys.
      </p>
      <Loaded load={load} failure="The configuration could not be loaded">
        {({ file, number }) => <ConfigViews key={number} file={file} onReload={load.reload} />}
      </Loaded>
    </Page>
  );
}
