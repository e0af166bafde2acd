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
