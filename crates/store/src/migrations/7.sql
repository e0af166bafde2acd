-- From version 6 to 7.

-- The profile that was chosen for a session, for example by a scheduled task. NULL: by the patterns
-- of the configuration.
ALTER TABLE sessions ADD COLUMN agent TEXT;

-- Upper limit of the trust level of a message that the daemon itself puts on the bus.
ALTER TABLE inbound ADD COLUMN trust TEXT NOT NULL DEFAULT 'full' CHECK (trust IN ('low', 'user', 'full'));

-- Work for an agent that nobody waits for.
CREATE TABLE jobs (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL UNIQUE,
    message INTEGER NOT NULL REFERENCES inbound (id),
    key     TEXT NOT NULL UNIQUE,
    rules   TEXT NOT NULL
) STRICT;
-- Child turns, and the model calls of each.
ALTER TABLE turns ADD COLUMN root INTEGER REFERENCES turns (id);
ALTER TABLE turns ADD COLUMN label TEXT;
ALTER TABLE turns ADD COLUMN background INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN child INTEGER REFERENCES turns (id);

CREATE TABLE reports (                          -- texts that a chat received from other sessions than its own
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    session   TEXT NOT NULL,                    -- own session of the chat
    said_from TEXT NOT NULL,                    -- session that sent the text
    chat      TEXT NOT NULL,
    text      TEXT NOT NULL,
    at        INTEGER NOT NULL,
    turn      INTEGER REFERENCES turns (id),    -- turn whose requests show it; NULL: not shown yet
    trust     TEXT NOT NULL DEFAULT 'full' CHECK (trust IN ('low', 'user', 'full')) -- of the text
CREATE INDEX reports_untold ON reports (session) WHERE turn IS NULL;
CREATE INDEX reports_told ON reports (turn, id) WHERE turn IS NOT NULL;
