-- From version 1 to 2: a cursor for each chat, the kind of a message's chat, previews, admitted people.

ALTER TABLE cursors RENAME TO old_cursors;
CREATE TABLE cursors (
    channel  TEXT NOT NULL,
    account  TEXT NOT NULL,
    scope    TEXT NOT NULL,                     -- '' if the account has one cursor
    position TEXT NOT NULL,
    PRIMARY KEY (channel, account, scope)
) STRICT, WITHOUT ROWID;
INSERT INTO cursors SELECT channel, account, '', position FROM old_cursors;
DROP TABLE old_cursors;

ALTER TABLE inbound ADD COLUMN chat_kind TEXT NOT NULL DEFAULT 'private'
    CHECK (chat_kind IN ('private', 'group'));
ALTER TABLE inbound ADD COLUMN is_bot INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbound ADD COLUMN written_at INTEGER;
ALTER TABLE inbound ADD COLUMN corrects TEXT;
ALTER TABLE inbound ADD COLUMN edited_at INTEGER;
CREATE INDEX inbound_corrects ON inbound (channel, account, chat, corrects)
    WHERE corrects IS NOT NULL;

-- The columns `source` and `state` get more words.
ALTER TABLE outbox RENAME TO old_outbox;
DROP INDEX outbox_turn;
DROP INDEX outbox_key;
DROP INDEX outbox_open;
DROP INDEX outbox_lost;
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
    first_sent_at INTEGER                       -- start of its first send
) STRICT;
INSERT INTO outbox SELECT *, NULL FROM old_outbox;
DROP TABLE old_outbox;
CREATE UNIQUE INDEX outbox_turn ON outbox (turn, ordinal, chunk) WHERE turn IS NOT NULL;
CREATE UNIQUE INDEX outbox_key ON outbox (channel, account, chat, key, chunk) WHERE key IS NOT NULL;
CREATE INDEX outbox_open ON outbox (channel, account, chat, id)
    WHERE state IN ('pending', 'sending', 'unknown');
CREATE INDEX outbox_lost ON outbox (channel, account, chat, id) WHERE state IN ('unconfirmed', 'dead');

CREATE TABLE people (                           -- people admitted in addition to the configuration's lists
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    sender  TEXT NOT NULL,
    name    TEXT,
    role    TEXT NOT NULL CHECK (role IN ('user', 'owner')),
    since   INTEGER NOT NULL,
    PRIMARY KEY (channel, account, sender)
) STRICT, WITHOUT ROWID;

CREATE TABLE pairings (                         -- pairing codes given to strangers
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

CREATE TABLE private_chats (                    -- private chats of admitted people
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat    TEXT NOT NULL,
    sender  TEXT NOT NULL,
    PRIMARY KEY (channel, account, chat)
) STRICT, WITHOUT ROWID;

CREATE TABLE links (                            -- private chats that use the session of another chat
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat    TEXT NOT NULL,
    session TEXT NOT NULL,
    PRIMARY KEY (channel, account, chat)
) STRICT, WITHOUT ROWID;
