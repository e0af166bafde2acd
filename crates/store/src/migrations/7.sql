-- From version 6 to 7.

-- The profile that was chosen for a session, for example by a scheduled task. NULL: by the patterns
-- of the configuration.
ALTER TABLE sessions ADD COLUMN agent TEXT;

-- Upper limit of the trust level of a message that the daemon itself puts on the bus.
ALTER TABLE inbound ADD COLUMN trust TEXT NOT NULL DEFAULT 'full' CHECK (trust IN ('low', 'user', 'full'));

CREATE TABLE memories (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    scope      TEXT NOT NULL,                   -- its readers: 'person ID', 'chat SESSION' or 'everyone'
    text       TEXT NOT NULL,
    words      TEXT NOT NULL,                   -- the text for the full-text index
    trust      TEXT NOT NULL DEFAULT 'full' CHECK (trust IN ('low', 'user', 'full')), -- of the request
    state      TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'forgotten')),
    revision   INTEGER NOT NULL DEFAULT 1,      -- number of changes
    session    TEXT,                            -- source: session, turn, last message and its author
    turn       INTEGER REFERENCES turns (id),
    message    INTEGER REFERENCES inbound (id),
    said_by    TEXT,
    written_at INTEGER NOT NULL
) STRICT;
CREATE INDEX memories_scope ON memories (scope, id) WHERE state = 'active';
CREATE INDEX memories_same ON memories (scope, substr(words, 1, 100)) WHERE state = 'active';
CREATE VIRTUAL TABLE memories_index USING fts5 (
    words, content = '', contentless_delete = 1,
    tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
);
CREATE VIRTUAL TABLE memories_words USING fts5vocab (memories_index, row);
CREATE TRIGGER memories_added AFTER INSERT ON memories WHEN new.state = 'active' BEGIN
    INSERT INTO memories_index (rowid, words) VALUES (new.id, new.words);
END;
CREATE TRIGGER memories_changed AFTER UPDATE OF words, state ON memories BEGIN
    DELETE FROM memories_index WHERE rowid = old.id AND old.state = 'active';
    INSERT INTO memories_index (rowid, words) SELECT new.id, new.words WHERE new.state = 'active';
END;

CREATE TABLE memory_changes (                   -- rows never change
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    memory       INTEGER NOT NULL REFERENCES memories (id),
    at           INTEGER NOT NULL,
    author       TEXT NOT NULL,                 -- 'call ID', 'person ID' or 'process'
    kind         TEXT NOT NULL CHECK (kind IN ('written', 'forgotten', 'undone')),
    text_before  TEXT,                          -- NULL: absent
    trust_before TEXT CHECK (trust_before IN ('low', 'user', 'full')),
    text_after   TEXT,
    trust_after  TEXT CHECK (trust_after IN ('low', 'user', 'full')),
    CHECK ((text_before IS NULL) = (trust_before IS NULL)),
    CHECK ((text_after IS NULL) = (trust_after IS NULL))
) STRICT;
CREATE INDEX memory_changes_memory ON memory_changes (memory, id);

-- A note becomes a memory of the person who asked for it in a private chat, or of the group. A note
-- without a turn is for everyone.
WITH RECURSIVE line (note, turn) AS (
    SELECT id, turn FROM notes WHERE turn IS NOT NULL
    UNION SELECT note, parent FROM line JOIN turns ON turns.id = line.turn WHERE parent IS NOT NULL
), asked (note, message) AS (
    SELECT note, max(inbound.id) FROM line JOIN inbound ON inbound.turn = line.turn GROUP BY note
)
INSERT INTO memories (id, scope, text, words, trust, session, turn, message, said_by, written_at)
SELECT notes.id,
    CASE
        WHEN notes.turn IS NULL THEN 'everyone'
        WHEN inbound.chat_kind = 'private' THEN 'person ' || channel || ':' || account || ':' || sender
        ELSE 'chat ' || coalesce(inbound.session, turns.session)
    END,
    notes.text, index_text(notes.text), notes.trust, turns.session, notes.turn, inbound.id,
    channel || ':' || account || ':' || sender, notes.written_at
FROM notes LEFT JOIN turns ON turns.id = notes.turn LEFT JOIN asked ON asked.note = notes.id
    LEFT JOIN inbound ON inbound.id = asked.message;
INSERT INTO memory_changes (memory, at, author, kind, text_after, trust_after)
SELECT id, written_at, 'process', 'written', text, trust FROM memories ORDER BY id;
DROP TRIGGER notes_indexed;
DROP TABLE notes_index;
DROP TABLE notes;

-- Memories in the requests of a turn.
ALTER TABLE turns ADD COLUMN recalled TEXT;

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

-- Tasks for an agent in the background.
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
) STRICT;
CREATE INDEX reports_untold ON reports (session) WHERE turn IS NULL;
CREATE INDEX reports_told ON reports (turn, id) WHERE turn IS NOT NULL;

-- The search by meaning.
CREATE TABLE memory_vectors (                   -- embeddings of active memories; a search adds missing ones
    memory INTEGER PRIMARY KEY REFERENCES memories (id),
    model  TEXT NOT NULL,                       -- name of the embedding model
    scale  REAL NOT NULL,                       -- factor from the bytes to the numbers
    vector BLOB NOT NULL                        -- one signed byte for each number of the unit vector
) STRICT;
CREATE TRIGGER memories_vector_outdated AFTER UPDATE OF words, state ON memories BEGIN
    DELETE FROM memory_vectors WHERE memory = old.id;
END;

CREATE TABLE schedules (                        -- work that the daemon begins at set times
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT,                            -- its table in the configuration; NULL: made by a person
    state      TEXT NOT NULL CHECK (state IN ('active', 'paused', 'ended')),
    reason     TEXT,                            -- reason, if the daemon paused it
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
