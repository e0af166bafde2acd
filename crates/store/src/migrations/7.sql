-- From version 6 to 7.

-- The profile that was chosen for a session, for example by a scheduled task. NULL: by the patterns
-- of the configuration.
ALTER TABLE sessions ADD COLUMN agent TEXT;

-- Upper limit of the trust level of a message that the daemon itself puts on the bus.
ALTER TABLE inbound ADD COLUMN trust TEXT NOT NULL DEFAULT 'full' CHECK (trust IN ('low', 'user', 'full'));

-- The index for the search in past conversations. The first search fills it with the older turns.
CREATE VIRTUAL TABLE history_index USING fts5 ( -- texts of ended turns; a search brings it up to date
    scope, words, content = '', tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
);
CREATE TABLE history_mark (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    turn INTEGER NOT NULL                       -- newest turn that the index has seen
) STRICT;
INSERT INTO history_mark (only, turn) VALUES (1, 0);
CREATE TABLE history_pending (                  -- turns up to the mark that had not ended
    turn INTEGER PRIMARY KEY
) STRICT;
