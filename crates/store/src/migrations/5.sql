-- From version 4 to 5: trust levels, grants of a session, and the audit table, in which a new chain begins.

ALTER TABLE sessions ADD COLUMN summary_trust TEXT NOT NULL DEFAULT 'full'
    CHECK (summary_trust IN ('low', 'user', 'full'));
-- The sources of an old summary are unknown.
UPDATE sessions SET summary_trust = 'low' WHERE summary IS NOT NULL;
ALTER TABLE sessions ADD COLUMN believed_turn INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN believed_step INTEGER;
ALTER TABLE turns ADD COLUMN prompt_trust TEXT NOT NULL DEFAULT 'full'
    CHECK (prompt_trust IN ('low', 'user', 'full'));
ALTER TABLE steps ADD COLUMN trust TEXT NOT NULL DEFAULT 'full'
    CHECK (trust IN ('low', 'user', 'full'));
ALTER TABLE calls ADD COLUMN trust TEXT NOT NULL DEFAULT 'full'
    CHECK (trust IN ('low', 'user', 'full'));
ALTER TABLE notes ADD COLUMN trust TEXT NOT NULL DEFAULT 'full'
    CHECK (trust IN ('low', 'user', 'full'));
ALTER TABLE waits ADD COLUMN may_grant TEXT;
ALTER TABLE waits ADD COLUMN shown TEXT;
ALTER TABLE waits ADD COLUMN came_before INTEGER NOT NULL DEFAULT 0;
ALTER TABLE waits ADD COLUMN asked_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE calls DROP COLUMN approved;
ALTER TABLE calls ADD COLUMN allowed TEXT;

CREATE TABLE grants (                           -- calls of a session that no longer need approval
    session TEXT NOT NULL REFERENCES sessions (id),
    tool    TEXT NOT NULL,
    scope   TEXT NOT NULL,
    PRIMARY KEY (session, tool, scope)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (                            -- every decision and every effect; rows never change
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, -- without gaps
    at       INTEGER NOT NULL,
    kind     TEXT NOT NULL,
    session  TEXT,
    turn     INTEGER,
    call     TEXT,
    actor    TEXT NOT NULL,                     -- id of a person, 'host' or 'process'
    tool     TEXT,
    digest   TEXT,                              -- SHA-256 of the exact arguments
    summary  TEXT NOT NULL,                     -- without secrets
    outcome  TEXT,
    previous TEXT NOT NULL,                     -- hash of the previous row
    hash     TEXT NOT NULL                      -- SHA-256 of the other columns
) STRICT;
