/** Loads the script of the form of settings, once. */

import type * as SettingsForm from "./form.js";
import { SHARED } from "./shared.js";

declare const SETTINGS_SCRIPT: string;
declare const SETTINGS_STYLE: string;

let loading: Promise<typeof SettingsForm> | null = null;

/** Resolves when the form can be shown. */
export function loadSettings(): Promise<typeof SettingsForm> {
  loading ??= Promise.all([loadScript(), loadStyle()]).then(
    ([script]) => script,
    (error: unknown) => {
      // The next view tries again.
      loading = null;
      throw error;
    },
  );
  return loading;
}

async function loadScript(): Promise<typeof SettingsForm> {
  Object.assign(globalThis, { avocetShared: SHARED });
  const address: string = SETTINGS_SCRIPT;
  return (await import(address)) as typeof SettingsForm;
}

function loadStyle(): Promise<void> {
  return new Promise((resolve, reject) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: SETTINGS_STYLE });
    link.onload = () => resolve();
    link.onerror = () => reject(new Error("the style sheet of the form cannot be loaded"));
    document.head.append(link);
  });
}
