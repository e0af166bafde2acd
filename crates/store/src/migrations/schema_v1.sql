-- The complete schema of version 1. Enumerations are stored as the words of the protocol's types.

CREATE TABLE meta (
    only  INTEGER PRIMARY KEY CHECK (only = 1),
    epoch INTEGER NOT NULL                      -- number of starts; every UPDATE checks it
) STRICT;
INSERT INTO meta (only, epoch) VALUES (1, 0);

CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    mode       TEXT,                            -- queue mode; NULL: the configured default
    fresh_from INTEGER NOT NULL DEFAULT 0,      -- messages up to this id are forgotten (/new)
    used_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_used ON sessions (used_at);

CREATE TABLE cursors (
    channel  TEXT NOT NULL,
    account  TEXT NOT NULL,
    position TEXT NOT NULL,
    PRIMARY KEY (channel, account)
) STRICT, WITHOUT ROWID;

CREATE TABLE ignored (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    reason  TEXT NOT NULL,
    count   INTEGER NOT NULL,
    PRIMARY KEY (channel, account, reason)
) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session     TEXT NOT NULL REFERENCES sessions (id),
    state       TEXT NOT NULL CHECK (state IN
                    ('queued', 'running', 'waiting', 'done', 'cancelled', 'failed')),
    parent      INTEGER REFERENCES turns (id),  -- parent and task of a child
    prompt      TEXT,
    attempts    INTEGER NOT NULL DEFAULT 0,     -- process deaths during this turn
    deaths_alone INTEGER NOT NULL DEFAULT 0,    -- of these, deaths while no other turn ran
    suspect     INTEGER NOT NULL DEFAULT 0,
    notice      TEXT,                           -- text shown to the chat instead of a reply
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER
) STRICT;
CREATE UNIQUE INDEX turns_open ON turns (session) WHERE state IN ('queued', 'running', 'waiting');
CREATE INDEX turns_session ON turns (session, id);
CREATE INDEX turns_parent ON turns (parent) WHERE parent IS NOT NULL;

CREATE TABLE inbound (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session     TEXT NOT NULL REFERENCES sessions (id),
    channel     TEXT NOT NULL,
    account     TEXT NOT NULL,
    chat        TEXT NOT NULL,
    topic       TEXT,
    key         TEXT NOT NULL,                  -- idempotency key, unique in its chat; absorbs a redelivery
    sender      TEXT NOT NULL,
    sender_name TEXT,
    kind        TEXT NOT NULL CHECK (kind IN ('text', 'command')),
    content     TEXT NOT NULL,                  -- JSON
    removed     INTEGER NOT NULL,               -- characters that sanitising removed
    state       TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'dead')),
    outcome     TEXT CHECK (outcome IN ('replied', 'error', 'dropped', 'merged', 'stopped')),
    reply       TEXT,                           -- answer to a command
    turn        INTEGER REFERENCES turns (id),
    after_step  INTEGER,                        -- step after which it steered its turn; -1: it answered a question
    received_at INTEGER NOT NULL,
    CHECK ((state IN ('done', 'dead')) = (outcome IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX inbound_key ON inbound (channel, account, chat, key);
CREATE INDEX inbound_open ON inbound (session, id) WHERE state = 'queued' AND turn IS NULL;
CREATE INDEX inbound_commands ON inbound (id) WHERE state = 'queued' AND kind = 'command';
CREATE INDEX inbound_turn ON inbound (turn, id) WHERE turn IS NOT NULL;

CREATE TABLE steps (
    turn          INTEGER NOT NULL REFERENCES turns (id),
    number        INTEGER NOT NULL,
    text          TEXT NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    closed        INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (turn, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE calls (
    turn      INTEGER NOT NULL,
    step      INTEGER NOT NULL,
    ordinal   INTEGER NOT NULL,
    name      TEXT NOT NULL,
    arguments TEXT NOT NULL,                    -- JSON
    class     TEXT CHECK (class IN ('pure', 'in_log', 'verifiable', 'effect')),
    state     TEXT NOT NULL CHECK (state IN
                  ('planned', 'started', 'interrupted', 'waiting', 'finished')),
    approved  INTEGER NOT NULL DEFAULT 0,
    evidence  TEXT,                             -- JSON
    ok        INTEGER,
    result    TEXT,                             -- JSON, as the model reads it
    PRIMARY KEY (turn, step, ordinal),
    FOREIGN KEY (turn, step) REFERENCES steps (turn, number),
    CHECK ((state = 'finished') = (result IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE kept_results (
    handle  TEXT PRIMARY KEY,                   -- id of the call
    session TEXT NOT NULL,
    body    TEXT NOT NULL                       -- JSON
) STRICT, WITHOUT ROWID;

CREATE TABLE waits (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    turn       INTEGER NOT NULL,
    step       INTEGER NOT NULL,
    ordinal    INTEGER NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('approval', 'answer', 'child', 'choice')),
    child      INTEGER REFERENCES turns (id),
    expires_at INTEGER NOT NULL,
    resolved   INTEGER NOT NULL DEFAULT 0,
    FOREIGN KEY (turn, step, ordinal) REFERENCES calls (turn, step, ordinal)
) STRICT;
CREATE INDEX waits_open ON waits (turn) WHERE resolved = 0;
CREATE INDEX waits_child ON waits (child) WHERE child IS NOT NULL AND resolved = 0;

CREATE TABLE outbox (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    channel     TEXT NOT NULL,
    account     TEXT NOT NULL,
    chat        TEXT NOT NULL,
    topic       TEXT,
    turn        INTEGER REFERENCES turns (id),
    ordinal     INTEGER NOT NULL,               -- number of the message in its turn
    chunk       INTEGER NOT NULL,               -- number of the chunk in that message
    key         TEXT,                           -- idempotency key of another process
    source      TEXT NOT NULL CHECK (source IN ('reply', 'tool', 'prompt', 'notice', 'process')),
    content     TEXT NOT NULL,                  -- JSON
    state       TEXT NOT NULL CHECK (state IN
                    ('pending', 'sending', 'unknown', 'sent', 'unconfirmed', 'dead')),
    attempts    INTEGER NOT NULL DEFAULT 0,
    repeat      INTEGER NOT NULL DEFAULT 0,     -- sent again although it may have arrived
    not_before  INTEGER NOT NULL DEFAULT 0,
    platform_id TEXT,
    error       TEXT,
    created_at  INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX outbox_turn ON outbox (turn, ordinal, chunk) WHERE turn IS NOT NULL;
CREATE UNIQUE INDEX outbox_key ON outbox (channel, account, chat, key, chunk) WHERE key IS NOT NULL;
CREATE INDEX outbox_open ON outbox (channel, account, chat, id)
    WHERE state IN ('pending', 'sending', 'unknown');
CREATE INDEX outbox_lost ON outbox (channel, account, chat, id) WHERE state IN ('unconfirmed', 'dead');

CREATE TABLE notes (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    text       TEXT NOT NULL,
    turn       INTEGER REFERENCES turns (id),
    written_at INTEGER NOT NULL
) STRICT;
CREATE VIRTUAL TABLE notes_index USING fts5 (
    text, content = 'notes', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TRIGGER notes_indexed AFTER INSERT ON notes BEGIN
    INSERT INTO notes_index (rowid, text) VALUES (new.id, new.text);
END;
