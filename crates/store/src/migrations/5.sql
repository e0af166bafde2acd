-- From version 4 to 5: how far what was read may be believed, and what was allowed for a session.

ALTER TABLE sessions ADD COLUMN summary_trust TEXT NOT NULL DEFAULT 'full'
    CHECK (summary_trust IN ('low', 'user', 'full'));
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

CREATE TABLE grants (                           -- calls that need no approval any more in a session
    session TEXT NOT NULL REFERENCES sessions (id),
    tool    TEXT NOT NULL,
    scope   TEXT NOT NULL,
    PRIMARY KEY (session, tool, scope)
) STRICT, WITHOUT ROWID;
