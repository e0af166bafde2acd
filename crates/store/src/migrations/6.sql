-- From version 5 to 6.

-- Replies in which a model with native calls wrote calls as text.
ALTER TABLE steps ADD COLUMN written TEXT;

ALTER TABLE outbox ADD COLUMN nonce TEXT;
ALTER TABLE outbox ADD COLUMN held_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN failing_since INTEGER;

CREATE TABLE undelivered (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session     TEXT NOT NULL,
    said_by     INTEGER REFERENCES turns (id),
    delivery    INTEGER NOT NULL,
    chat        TEXT NOT NULL,
    what        TEXT NOT NULL,
    why         TEXT NOT NULL,
    unconfirmed INTEGER NOT NULL,
    turn        INTEGER REFERENCES turns (id),
    trust       TEXT NOT NULL DEFAULT 'full' CHECK (trust IN ('low', 'user', 'full'))
) STRICT;
CREATE INDEX undelivered_untold ON undelivered (session) WHERE turn IS NULL;
CREATE INDEX undelivered_told ON undelivered (turn, id) WHERE turn IS NOT NULL;

-- SHA-256 of another process's message. It detects a key that is used again for another text.
ALTER TABLE inbound ADD COLUMN digest TEXT;
ALTER TABLE outbox ADD COLUMN digest TEXT;

-- Identity of the database, and data that shows missing transactions.
ALTER TABLE meta ADD COLUMN id TEXT;
ALTER TABLE meta ADD COLUMN was TEXT;
ALTER TABLE meta ADD COLUMN commits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE meta ADD COLUMN in_use INTEGER NOT NULL DEFAULT 0;
ALTER TABLE meta ADD COLUMN copied_at INTEGER;
ALTER TABLE meta ADD COLUMN rolled_back_at INTEGER;
ALTER TABLE meta ADD COLUMN rolled_back TEXT;
ALTER TABLE meta ADD COLUMN unsure_until INTEGER;
UPDATE meta SET id = lower(hex(randomblob(16)));
