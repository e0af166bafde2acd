-- From version 6 to 7.

-- The profile that was chosen for a session, for example by a scheduled task. NULL: by the patterns
-- of the configuration.
ALTER TABLE sessions ADD COLUMN agent TEXT;

-- Upper limit of the trust level of a message that the daemon itself puts on the bus.
ALTER TABLE inbound ADD COLUMN trust TEXT NOT NULL DEFAULT 'full' CHECK (trust IN ('low', 'user', 'full'));

CREATE TABLE reports (                          -- texts that a chat received from other sessions than its own
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    session   TEXT NOT NULL,                    -- own session of the chat
    said_from TEXT NOT NULL,                    -- session that sent the text
    chat      TEXT NOT NULL,
    text      TEXT NOT NULL,
    at        INTEGER NOT NULL,
    turn      INTEGER REFERENCES turns (id),    -- turn whose requests show it; NULL: not shown yet
    trust     TEXT NOT NULL DEFAULT 'full' CHECK (trust IN ('low', 'user', 'full')) -- of the text
) STRICT;
CREATE INDEX reports_untold ON reports (session) WHERE turn IS NULL;
CREATE INDEX reports_told ON reports (turn, id) WHERE turn IS NOT NULL;

CREATE TABLE schedules (                        -- work that the daemon begins at set times
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT,                            -- its table in the configuration; NULL: made by a person
    state      TEXT NOT NULL CHECK (state IN ('active', 'paused', 'ended')),
    reason     TEXT,                            -- reason for a pause that nobody asked for
    channel    TEXT NOT NULL,                   -- chat that gets the answers
    account    TEXT NOT NULL,
    chat       TEXT NOT NULL,
    topic      TEXT,
    chat_kind  TEXT NOT NULL CHECK (chat_kind IN ('private', 'group')),
    sender     TEXT NOT NULL,                   -- person in whose name it runs
    sender_name TEXT,
    rule       TEXT NOT NULL,                   -- JSON: times and zone
    kind       TEXT NOT NULL CHECK (kind IN ('text', 'task', 'checklist')),
    body       TEXT NOT NULL,
    agent      TEXT,                            -- profile; NULL: by the configuration
    catch_up   TEXT NOT NULL CHECK (catch_up IN ('skip', 'once', 'all')),
    quiet      INTEGER NOT NULL,                -- 1: an answer without news is not sent
    trust      TEXT NOT NULL CHECK (trust IN ('low', 'user', 'full')), -- of the request that made it
    next_at    INTEGER,                         -- next time; NULL unless active
    made_at    INTEGER NOT NULL,
    CHECK ((state = 'active') = (next_at IS NOT NULL))
) STRICT;
CREATE INDEX schedules_due ON schedules (next_at) WHERE state = 'active';

CREATE TABLE schedule_runs (                    -- claimed times; each is claimed once
    schedule   INTEGER NOT NULL REFERENCES schedules (id),
    due        INTEGER NOT NULL,
    claimed_at INTEGER NOT NULL,
    result     TEXT NOT NULL CHECK (result IN ('queued', 'sent', 'missed', 'empty', 'undeliverable')),
    skipped    INTEGER NOT NULL DEFAULT 0,      -- earlier times that it replaces
    PRIMARY KEY (schedule, due)
) STRICT, WITHOUT ROWID;
