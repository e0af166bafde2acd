-- Version 6 of the log, whole: what a new database is made with. `migrations/` brings an older one to
-- the same. Enumerations are stored as the words of the protocol's types.

CREATE TABLE meta (
    only  INTEGER PRIMARY KEY CHECK (only = 1),
    epoch INTEGER NOT NULL,                     -- one more at every start; carried by every UPDATE
    id    TEXT,                                 -- random: tells this database from every other one
    was   TEXT,                                 -- its id before it was rolled back
    commits INTEGER NOT NULL DEFAULT 0,         -- one more in every transaction: says where a -wal belongs
    in_use INTEGER NOT NULL DEFAULT 0,          -- 1 while it is open for writing, and after a crash
    copied_at INTEGER,                          -- when `avocet backup` made it; NULL: it is no copy
    rolled_back_at INTEGER,                     -- when newer rows than these were found to be lost
    rolled_back TEXT,                           -- and why
    unsure_until INTEGER                        -- messages written before may have been answered by lost rows
) STRICT;
INSERT INTO meta (only, epoch, id) VALUES (1, 0, lower(hex(randomblob(16))));

CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    mode       TEXT,                            -- queue mode; NULL: the configured default
    fresh_from INTEGER NOT NULL DEFAULT 0,      -- messages up to this one are forgotten (/new)
    used_at    INTEGER NOT NULL,
    usage_from INTEGER NOT NULL DEFAULT 0,      -- what was spent up to this row of usage was before /new
    model      TEXT,                            -- provider/model; NULL: the agent's
    compact_for INTEGER,                        -- the message with a /compact that is not carried out; negative: it has begun
    shortened_to INTEGER NOT NULL DEFAULT 0,    -- long results of turns up to this one are cut
    summary    TEXT,                            -- what stands for the turns up to summary_to
    summary_to INTEGER NOT NULL DEFAULT 0,
    summary_trust TEXT NOT NULL DEFAULT 'full' CHECK (summary_trust IN ('low', 'user', 'full')),
    believed_turn INTEGER NOT NULL DEFAULT 0,   -- what was read up to this turn may be believed (/trust);
    believed_step INTEGER                       -- of this turn up to this step; NULL: its messages only
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_used ON sessions (used_at);

CREATE TABLE cursors (
    channel  TEXT NOT NULL,
    account  TEXT NOT NULL,
    scope    TEXT NOT NULL,                     -- '' where the account has one cursor
    position TEXT NOT NULL,
    PRIMARY KEY (channel, account, scope)
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
    parent      INTEGER REFERENCES turns (id),  -- a child's parent, and what it is to do
    prompt      TEXT,
    attempts    INTEGER NOT NULL DEFAULT 0,     -- processes that died while it ran, since it last came further
    deaths_alone INTEGER NOT NULL DEFAULT 0,    -- of these, while nothing else ran
    suspect     INTEGER NOT NULL DEFAULT 0,
    notice      TEXT,                           -- what the chat was shown instead of a reply
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER,
    prompt_trust TEXT NOT NULL DEFAULT 'full' CHECK (prompt_trust IN ('low', 'user', 'full'))
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
    key         TEXT NOT NULL,                  -- unique in its chat: what absorbs a redelivery
    sender      TEXT NOT NULL,
    sender_name TEXT,
    kind        TEXT NOT NULL CHECK (kind IN ('text', 'command')),
    content     TEXT NOT NULL,                  -- JSON
    removed     INTEGER NOT NULL,               -- characters that sanitising removed
    state       TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'dead')),
    outcome     TEXT CHECK (outcome IN ('replied', 'error', 'dropped', 'merged', 'stopped')),
    reply       TEXT,                           -- what a command was answered
    turn        INTEGER REFERENCES turns (id),
    after_step  INTEGER,                        -- the step after which it steered its turn; -1: it answered the turn's question
    received_at INTEGER NOT NULL,
    chat_kind   TEXT NOT NULL DEFAULT 'private' CHECK (chat_kind IN ('private', 'group')),
    is_bot      INTEGER NOT NULL DEFAULT 0,
    written_at  INTEGER,                        -- as the platform says; NULL: when it was received
    corrects    TEXT,                           -- the key of the message that it corrects
    edited_at   INTEGER,                        -- the platform's time of the last edit that is in it
    digest      TEXT,                           -- of what another process sent; NULL: a platform's message
    CHECK ((state IN ('done', 'dead')) = (outcome IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX inbound_key ON inbound (channel, account, chat, key);
CREATE INDEX inbound_open ON inbound (session, id) WHERE state = 'queued' AND turn IS NULL;
CREATE INDEX inbound_commands ON inbound (id) WHERE state = 'queued' AND kind = 'command';
CREATE INDEX inbound_corrects ON inbound (channel, account, chat, corrects)
    WHERE corrects IS NOT NULL;
CREATE INDEX inbound_turn ON inbound (turn, id) WHERE turn IS NOT NULL;

CREATE TABLE steps (
    turn          INTEGER NOT NULL REFERENCES turns (id),
    number        INTEGER NOT NULL,
    text          TEXT NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    closed        INTEGER NOT NULL DEFAULT 0,
    reasoning     TEXT,                         -- JSON, for the model that wrote it
    trust         TEXT NOT NULL DEFAULT 'full' CHECK (trust IN ('low', 'user', 'full')), -- of the request
    written       TEXT,                         -- the whole reply, where a model with native calls wrote calls as text
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
    allowed   TEXT,                             -- a digest of what a person was shown who allowed it
    evidence  TEXT,                             -- JSON
    ok        INTEGER,
    result    TEXT,                             -- JSON, as the model reads it
    trust     TEXT NOT NULL DEFAULT 'full' CHECK (trust IN ('low', 'user', 'full')), -- of the result
    PRIMARY KEY (turn, step, ordinal),
    FOREIGN KEY (turn, step) REFERENCES steps (turn, number),
    CHECK ((state = 'finished') = (result IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE kept_results (
    handle  TEXT PRIMARY KEY,                   -- the id of the call
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
    came_before INTEGER NOT NULL DEFAULT 0,     -- the newest message when it began to wait
    asked_at   INTEGER NOT NULL DEFAULT 0,
    may_grant  TEXT,                            -- JSON: what is allowed with it for the session
    shown      TEXT,                            -- a digest of what a person is shown who may allow it
    FOREIGN KEY (turn, step, ordinal) REFERENCES calls (turn, step, ordinal)
) STRICT;
CREATE INDEX waits_open ON waits (turn) WHERE resolved = 0;
CREATE INDEX waits_child ON waits (child) WHERE child IS NOT NULL AND resolved = 0;

CREATE TABLE grants (                           -- calls that need no approval any more in a session
    session TEXT NOT NULL REFERENCES sessions (id),
    tool    TEXT NOT NULL,
    scope   TEXT NOT NULL,
    PRIMARY KEY (session, tool, scope)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    channel     TEXT NOT NULL,
    account     TEXT NOT NULL,
    chat        TEXT NOT NULL,
    topic       TEXT,
    turn        INTEGER REFERENCES turns (id),
    ordinal     INTEGER NOT NULL,               -- which message of its turn
    chunk       INTEGER NOT NULL,               -- which chunk of that message
    key         TEXT,                           -- the idempotency key of another process
    source      TEXT NOT NULL CHECK (source IN ('reply', 'tool', 'prompt', 'notice', 'process', 'preview')),
    content     TEXT NOT NULL,                  -- JSON
    state       TEXT NOT NULL CHECK (state IN
                    ('pending', 'sending', 'unknown', 'preview', 'sent', 'unconfirmed', 'dead')),
    attempts    INTEGER NOT NULL DEFAULT 0,
    repeat      INTEGER NOT NULL DEFAULT 0,     -- sent again although it may have arrived
    not_before  INTEGER NOT NULL DEFAULT 0,
    platform_id TEXT,
    error       TEXT,
    created_at  INTEGER NOT NULL,
    first_sent_at INTEGER,                      -- when a send of it was first begun
    nonce       TEXT,                           -- random: tells a platform which chunk it is; NULL (before version 6): 'o' and the id
    held_at     INTEGER NOT NULL DEFAULT 0,     -- when not_before was set
    failing_since INTEGER,                      -- the first of the failures since it was queued
    digest      TEXT                            -- of what another process sent, in its first chunk
) STRICT;
CREATE UNIQUE INDEX outbox_turn ON outbox (turn, ordinal, chunk) WHERE turn IS NOT NULL;
CREATE UNIQUE INDEX outbox_key ON outbox (channel, account, chat, key, chunk) WHERE key IS NOT NULL;
CREATE INDEX outbox_open ON outbox (channel, account, chat, id)
    WHERE state IN ('pending', 'sending', 'unknown');
CREATE INDEX outbox_lost ON outbox (channel, account, chat, id) WHERE state IN ('unconfirmed', 'dead');

CREATE TABLE undelivered (                      -- what a conversation is told at its next turn
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session     TEXT NOT NULL,
    said_by     INTEGER REFERENCES turns (id),  -- NULL: another process
    delivery    INTEGER NOT NULL,               -- outbox.id
    chat        TEXT NOT NULL,
    what        TEXT NOT NULL,
    why         TEXT NOT NULL,
    unconfirmed INTEGER NOT NULL,
    turn        INTEGER REFERENCES turns (id),  -- the turn whose requests tell it; NULL: none so far
    trust       TEXT NOT NULL DEFAULT 'full' CHECK (trust IN ('low', 'user', 'full')) -- of the words in it
) STRICT;
CREATE INDEX undelivered_untold ON undelivered (session) WHERE turn IS NULL;
CREATE INDEX undelivered_told ON undelivered (turn, id) WHERE turn IS NOT NULL;

CREATE TABLE usage (                            -- what each answer of a model cost
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    at            INTEGER NOT NULL,
    session       TEXT NOT NULL REFERENCES sessions (id),
    turn          INTEGER REFERENCES turns (id), -- a child's is that of the turn at its root
    purpose       TEXT NOT NULL CHECK (purpose IN ('answer', 'summary')),
    model         TEXT NOT NULL,                -- provider/model
    input         INTEGER NOT NULL,             -- tokens; of these, cached and cache_written
    cached        INTEGER NOT NULL,
    cache_written INTEGER NOT NULL,
    output        INTEGER NOT NULL,
    cost          INTEGER                       -- billionths of a dollar; NULL: price unknown
) STRICT;
CREATE INDEX usage_session ON usage (session, id, input, cached, cache_written, output, cost);
CREATE INDEX usage_turn ON usage (turn, input, cached, cache_written, output, cost)
    WHERE turn IS NOT NULL;
CREATE INDEX usage_at ON usage (at, input, cached, cache_written, output, cost);

CREATE TABLE people (                           -- who may speak beside the configuration's lists
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    sender  TEXT NOT NULL,
    name    TEXT,
    role    TEXT NOT NULL CHECK (role IN ('user', 'owner')),
    since   INTEGER NOT NULL,
    PRIMARY KEY (channel, account, sender)
) STRICT, WITHOUT ROWID;

CREATE TABLE pairings (                         -- strangers who were given a code
    code       TEXT PRIMARY KEY,
    channel    TEXT NOT NULL,
    account    TEXT NOT NULL,
    chat       TEXT NOT NULL,
    sender     TEXT NOT NULL,
    name       TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    decision   TEXT CHECK (decision IN ('approved', 'denied')),
    role       TEXT CHECK (role IN ('user', 'owner')),
    CHECK ((decision IS 'approved') = (role IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE private_chats (                    -- where those who may speak write in private
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat    TEXT NOT NULL,
    sender  TEXT NOT NULL,
    PRIMARY KEY (channel, account, chat)
) STRICT, WITHOUT ROWID;

CREATE TABLE links (                            -- private chats that speak in another's session
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat    TEXT NOT NULL,
    session TEXT NOT NULL,
    PRIMARY KEY (channel, account, chat)
) STRICT, WITHOUT ROWID;

CREATE TABLE notes (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    text       TEXT NOT NULL,
    turn       INTEGER REFERENCES turns (id),
    written_at INTEGER NOT NULL,
    trust      TEXT NOT NULL DEFAULT 'full' CHECK (trust IN ('low', 'user', 'full')) -- of the request
) STRICT;
CREATE VIRTUAL TABLE notes_index USING fts5 (
    text, content = 'notes', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TRIGGER notes_indexed AFTER INSERT ON notes BEGIN
    INSERT INTO notes_index (rowid, text) VALUES (new.id, new.text);
END;

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
