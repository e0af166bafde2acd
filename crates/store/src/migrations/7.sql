-- From version 6 to 7.

-- The profile that was chosen for a session, for example by a scheduled task. NULL: by the patterns
-- of the configuration.
ALTER TABLE sessions ADD COLUMN agent TEXT;

-- Upper limit of the trust level of a message that the daemon itself puts on the bus.
ALTER TABLE inbound ADD COLUMN trust TEXT NOT NULL DEFAULT 'full' CHECK (trust IN ('low', 'user', 'full'));

-- Child turns, and the model calls of each.
ALTER TABLE turns ADD COLUMN root INTEGER REFERENCES turns (id);
ALTER TABLE turns ADD COLUMN label TEXT;
ALTER TABLE turns ADD COLUMN background INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN child INTEGER REFERENCES turns (id);
