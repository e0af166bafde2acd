/** Shapes of memories: crates/protocol/src/store/memories.rs. */

import type { Memory, MemoryChangeId, MemoryId, MemoryScope, SessionId, Timestamp, Trust, TurnId } from "../../types.js";

/** The origin of a memory. A part is null if it is unknown. */
export interface MemorySource {
  session: SessionId | null;
  turn: TurnId | null;
  message: string | null;
  said_by: string | null;
  written_at: Timestamp;
}

export interface SourcedMemory extends Memory {
  source: MemorySource;
}

export interface MemoryText {
  text: string;
  trust: Trust;
}

export interface MemoryChange {
  id: MemoryChangeId;
  memory: MemoryId;
  scope: MemoryScope;
  at: Timestamp;
  /** `call t4s1c0`, `person telegram:main:7`, `file DIGEST`, `consolidation` or `process`. */
  author: string;
  kind: "written" | "forgotten" | "undone";
  before: MemoryText | null;
  after: MemoryText | null;
}

/** The answer of `GET /v1/memories/{id}`. */
export interface ShownMemory extends SourcedMemory {
  /** Newest first. */
  changes: MemoryChange[];
}
