/** The views, in the order of the navigation. */

import type { ComponentType } from "preact";

import type { IconName } from "./parts/Icon.js";
import { Approvals } from "./views/Approvals.js";
import { Chat } from "./views/Chat.js";
import { Config } from "./views/Config.js";
import { Events } from "./views/Events.js";
import { Failed } from "./views/Failed.js";
import { Health } from "./views/Health.js";
import { Jobs } from "./views/Jobs.js";
import { Memory } from "./views/Memory.js";
import { Schedules } from "./views/Schedules.js";
import { Sessions } from "./views/Sessions.js";
import { Trace } from "./views/Trace.js";
import { Usage } from "./views/Usage.js";

/** The parts of the address after the name of the view. */
export interface ViewProps {
  parts: string[];
}

export interface RouteEntry {
  /** The first part of the address, and the key of the group. */
  name: string;
  title: string;
  icon: IconName;
  /** Pressed after `g`. */
  key?: string;
  group: "talk" | "work" | "run" | "hidden";
  View: ComponentType<ViewProps>;
}

export const routes: readonly RouteEntry[] = [
  { name: "chat", title: "Chat", icon: "chat", key: "c", group: "talk", View: Chat },
  { name: "sessions", title: "Sessions", icon: "sessions", key: "s", group: "talk", View: Sessions },
  { name: "approvals", title: "Approvals", icon: "approvals", key: "a", group: "talk", View: Approvals },
  { name: "jobs", title: "Jobs", icon: "jobs", key: "j", group: "work", View: Jobs },
  { name: "schedules", title: "Schedules", icon: "schedules", key: "d", group: "work", View: Schedules },
  { name: "memory", title: "Memory", icon: "memory", key: "m", group: "work", View: Memory },
  { name: "usage", title: "Usage", icon: "usage", key: "u", group: "run", View: Usage },
  { name: "failed", title: "Failed messages", icon: "failed", key: "f", group: "run", View: Failed },
  { name: "events", title: "Events", icon: "events", key: "e", group: "run", View: Events },
  { name: "health", title: "Health", icon: "health", key: "h", group: "run", View: Health },
  { name: "config", title: "Configuration", icon: "config", key: "o", group: "run", View: Config },
  { name: "trace", title: "Trace", icon: "trace", group: "hidden", View: Trace },
];
