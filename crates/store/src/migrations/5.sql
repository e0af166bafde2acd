-- From version 4 to 5: how far what was read may be believed, what was allowed for a
-- session, and the audit table, in which a new chain begins.

ALTER TABLE sessions ADD COLUMN summary_trust TEXT NOT NULL DEFAULT 'full'
    CHECK (summary_trust IN ('low', 'user', 'full'));
-- Nobody knows any more of whose words an old summary was made.
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

CREATE TABLE grants (                           -- calls that need no approval any more in a session
    session TEXT NOT NULL REFERENCES sessions (id),
    tool    TEXT NOT NULL,
    scope   TEXT NOT NULL,
    PRIMARY KEY (session, tool, scope)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (                            -- every decision and every effect; never changed
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, -- without gaps
    at       INTEGER NOT NULL,
    kind     TEXT NOT NULL,
    session  TEXT,
    turn     INTEGER,
    call     TEXT,
    actor    TEXT NOT NULL,                     -- a person's id, 'host' or 'process'
    tool     TEXT,
    digest   TEXT,                              -- SHA-256 of the exact arguments
    summary  TEXT NOT NULL,                     -- without secrets
    outcome  TEXT,
    previous TEXT NOT NULL,                     -- the hash of the row before
    hash     TEXT NOT NULL                      -- SHA-256 of all of this
) STRICT;
