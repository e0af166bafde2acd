-- The complete schema of version 30, for new databases. The scripts in `migrations/` bring an older database
-- to the same schema. Enumerations are stored as the words of the protocol's types. In the tables that a
-- turn writes, conditions have no list of three or more values: SQLite builds a temporary table for each.

CREATE TABLE meta (
    only  INTEGER PRIMARY KEY CHECK (only = 1),
    epoch INTEGER NOT NULL,                     -- number of starts; every write transaction checks it
    id    TEXT,                                 -- random identity of this database
    was   TEXT,                                 -- id before the last roll-back
    commits INTEGER NOT NULL DEFAULT 0,         -- of this row; the first of a -wal shows whether it belongs to this file
    in_use INTEGER NOT NULL DEFAULT 0,          -- 1 while it is open for writing, and after a crash
    copied_at INTEGER,                          -- time of the `avocet backup` that made this copy; NULL: not a copy
    rolled_back_at INTEGER,                     -- time at which the loss of newer rows was found
    rolled_back TEXT,                           -- reason for the roll-back
    unsure_until INTEGER                        -- lost rows may hold answers to messages written before this time
) STRICT;
INSERT INTO meta (only, epoch, id) VALUES (1, 0, lower(hex(randomblob(16))));

CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    mode       TEXT,                            -- queue mode; NULL: the configured default
    fresh_from INTEGER NOT NULL DEFAULT 0,      -- messages up to this id are forgotten (/new)
    used_at    INTEGER NOT NULL,                -- last use; up to a minute old for the newest session
    usage_from INTEGER NOT NULL DEFAULT 0,      -- usage rows up to this id are from before /new
    model      TEXT,                            -- provider/model; NULL: the agent's model
    compact_for INTEGER,                        -- id of the message with a pending /compact; negative: begun
    shortened_to INTEGER NOT NULL DEFAULT 0,    -- long results of turns up to this id are cut
    summary    TEXT,                            -- replaces the turns up to summary_to
    summary_to INTEGER NOT NULL DEFAULT 0,
    summary_trust TEXT NOT NULL DEFAULT 'full' CHECK (
                    summary_trust = 'low' OR summary_trust = 'user' OR summary_trust = 'full'),
    believed_turn INTEGER NOT NULL DEFAULT 0,   -- content up to this turn is trusted (/trust);
    believed_step INTEGER,                      -- of this turn, content up to this step; NULL: only its messages
    agent      TEXT,                            -- profile chosen for the session; NULL: by the configuration
    effort     TEXT,                            -- thinking effort chosen for the session; NULL: the configured one
    voice      TEXT,                            -- spoken answers (/voice); NULL: the configured ones
    permission_mode TEXT,                       -- chosen for the session (/mode); NULL: default
    title      TEXT,                            -- given by a person; NULL: the first message
    title_from INTEGER NOT NULL DEFAULT 0,      -- messages of turns up to this id are no title (/new)
    is_pinned  INTEGER NOT NULL DEFAULT 0,
    is_archived INTEGER NOT NULL DEFAULT 0,     -- the next message ends that
    branch_of  TEXT,                            -- the first session of its branches
    branch     INTEGER NOT NULL DEFAULT 0,      -- its number among them, in its title; 0: none
    short_id   INTEGER                          -- in the events; a trigger sets it
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_used ON sessions (used_at);
CREATE INDEX sessions_short ON sessions (short_id);
CREATE INDEX sessions_compact ON sessions (compact_for) WHERE compact_for IS NOT NULL;

CREATE TABLE cursors (
    channel  TEXT NOT NULL,
    account  TEXT NOT NULL,
    scope    TEXT NOT NULL,                     -- '' if the account has one cursor
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
    id          INTEGER PRIMARY KEY,
    session     TEXT NOT NULL REFERENCES sessions (id),
    state       TEXT NOT NULL CHECK (
                    state = 'queued' OR state = 'running' OR state = 'waiting' OR state = 'done'
                    OR state = 'cancelled' OR state = 'failed'),
    parent      INTEGER REFERENCES turns (id),  -- parent and task of a child
    prompt      TEXT,
    attempts    INTEGER NOT NULL DEFAULT 0,     -- process deaths during this turn since its last progress
    deaths_alone INTEGER NOT NULL DEFAULT 0,    -- of these, deaths while no other turn ran
    suspect     INTEGER NOT NULL DEFAULT 0,
    notice      TEXT,                           -- text shown to the chat instead of a reply
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER,
    prompt_trust TEXT NOT NULL DEFAULT 'full' CHECK (
                    prompt_trust = 'low' OR prompt_trust = 'user' OR prompt_trust = 'full'),
    recalled    TEXT,                           -- JSON: memories in its requests; NULL: none
    root        INTEGER REFERENCES turns (id),  -- of a child: the turn at the root
    label       TEXT,                           -- of a child: a short name for people
    background  INTEGER NOT NULL DEFAULT 0,     -- 1: a child for which no call waits
    failure     TEXT                            -- JSON: the reason of a missing answer; NULL: none, or without a name
) STRICT;
CREATE UNIQUE INDEX turns_open ON turns (session)
    WHERE state = 'queued' OR state = 'running' OR state = 'waiting';
CREATE INDEX turns_session ON turns (session, id);
CREATE INDEX turns_parent ON turns (parent) WHERE parent IS NOT NULL;
CREATE INDEX turns_root ON turns (root) WHERE root IS NOT NULL;

CREATE TABLE inbound (
    id          INTEGER PRIMARY KEY,
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
    state       TEXT NOT NULL CHECK (
                    state = 'queued' OR state = 'running' OR state = 'done' OR state = 'dead'),
    outcome     TEXT CHECK (
                    outcome = 'replied' OR outcome = 'error' OR outcome = 'dropped'
                    OR outcome = 'merged' OR outcome = 'stopped'),
    reply       TEXT,                           -- answer to a command
    turn        INTEGER REFERENCES turns (id),
    after_step  INTEGER,                        -- step after which it steered its turn; -1: it answered the turn's question
    received_at INTEGER NOT NULL,
    chat_kind   TEXT NOT NULL DEFAULT 'private' CHECK (chat_kind IN ('private', 'group')),
    is_bot      INTEGER NOT NULL DEFAULT 0,
    written_at  INTEGER,                        -- platform's time; NULL: use received_at
    corrects    TEXT,                           -- key of the message that it corrects
    edited_at   INTEGER,                        -- platform's time of the last edit that it contains
    digest      TEXT,                           -- SHA-256 of another process's message; NULL: message of a platform
    trust       TEXT NOT NULL DEFAULT 'full' CHECK (trust = 'low' OR trust = 'user' OR trust = 'full'), -- upper limit for its text
    is_copied   INTEGER NOT NULL DEFAULT 0,     -- a copy was queued, which has its key
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
    trust         TEXT NOT NULL DEFAULT 'full' CHECK (trust = 'low' OR trust = 'user' OR trust = 'full'), -- of the request
    written       TEXT,                         -- complete reply, if a model with native calls wrote calls as text
    ending        TEXT NOT NULL DEFAULT 'complete' CHECK (
                      ending = 'complete' OR ending = 'cut_off' OR ending = 'filtered'), -- of the model's text
    PRIMARY KEY (turn, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE calls (
    turn      INTEGER NOT NULL,
    step      INTEGER NOT NULL,
    ordinal   INTEGER NOT NULL,
    name      TEXT NOT NULL,
    arguments TEXT NOT NULL,                    -- JSON, without secrets
    class     TEXT CHECK (class = 'pure' OR class = 'in_log' OR class = 'verifiable' OR class = 'effect'),
    state     TEXT NOT NULL CHECK (
                    state = 'planned' OR state = 'started' OR state = 'interrupted'
                    OR state = 'waiting' OR state = 'finished'),
    allowed   TEXT,                             -- digest of the text shown to the person who approved it
    evidence  TEXT,                             -- JSON
    ok        INTEGER,
    result    TEXT,                             -- JSON, as the model reads it
    trust     TEXT NOT NULL DEFAULT 'full' CHECK (trust = 'low' OR trust = 'user' OR trust = 'full'), -- of the result
    is_skill  INTEGER NOT NULL DEFAULT 0,       -- the result begins with the name of a skill
    result_kind TEXT NOT NULL DEFAULT 'usual' CHECK (
                    result_kind = 'usual' OR result_kind = 'cut' OR result_kind = 'sent_to_program'
                    OR result_kind = 'denied' OR result_kind = 'refused' OR result_kind = 'repeated'
                    OR result_kind = 'outcome_unknown'),
    exact     TEXT,                             -- JSON: the arguments with their secrets, until the call has a result; NULL: no secrets
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
    came_before INTEGER NOT NULL DEFAULT 0,     -- id of the newest message at the start of the wait
    asked_at   INTEGER NOT NULL DEFAULT 0,
    may_grant  TEXT,                            -- JSON: the grant for the session that an approval may add
    shown      TEXT,                            -- digest of the text shown to the person who may approve it
    is_reminded INTEGER NOT NULL DEFAULT 0,     -- its prompt was repeated
    card       TEXT,                            -- JSON: the question of an approval and its choices
    FOREIGN KEY (turn, step, ordinal) REFERENCES calls (turn, step, ordinal)
) STRICT;
CREATE INDEX waits_open ON waits (turn) WHERE resolved = 0;
CREATE INDEX waits_child ON waits (child) WHERE child IS NOT NULL AND resolved = 0;
CREATE INDEX waits_call ON waits (turn, step, ordinal);
CREATE INDEX waits_children ON waits (child) WHERE child IS NOT NULL;

CREATE TABLE grants (                           -- calls of a session that no longer need approval
    session TEXT NOT NULL REFERENCES sessions (id),
    tool    TEXT NOT NULL,
    scope   TEXT NOT NULL,
    PRIMARY KEY (session, tool, scope)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
    id          INTEGER PRIMARY KEY,
    channel     TEXT NOT NULL,
    account     TEXT NOT NULL,
    chat        TEXT NOT NULL,
    topic       TEXT,
    turn        INTEGER REFERENCES turns (id),
    ordinal     INTEGER NOT NULL,               -- number of the message in its turn
    chunk       INTEGER NOT NULL,               -- number of the chunk in that message
    key         TEXT,                           -- idempotency key of another process
    source      TEXT NOT NULL CHECK (
                    source = 'reply' OR source = 'tool' OR source = 'prompt' OR source = 'notice'
                    OR source = 'process' OR source = 'preview'),
    content     TEXT NOT NULL,                  -- JSON
    state       TEXT NOT NULL CHECK (
                    state = 'pending' OR state = 'sending' OR state = 'unknown' OR state = 'preview'
                    OR state = 'sent' OR state = 'unconfirmed' OR state = 'dead'),
    attempts    INTEGER NOT NULL DEFAULT 0,
    repeat      INTEGER NOT NULL DEFAULT 0,     -- sent again although it may have arrived
    not_before  INTEGER NOT NULL DEFAULT 0,
    platform_id TEXT,
    error       TEXT,
    created_at  INTEGER NOT NULL,
    first_sent_at INTEGER,                      -- start of its first send
    nonce       TEXT,                           -- random identity of the chunk for the platform; NULL (before version 6): 'o' and the id
    held_at     INTEGER NOT NULL DEFAULT 0,     -- time at which not_before was set
    failing_since INTEGER,                      -- time of the first failure since it was queued
    digest      TEXT,                           -- SHA-256 of another process's message, in its first chunk
    dropped_at  INTEGER,                        -- time at which the operator dropped it from the dead letters
    wait        INTEGER,                        -- wait that it asks about, if the message can be edited
    edits       INTEGER                         -- outbox.id of the message that it replaces
) STRICT;
CREATE UNIQUE INDEX outbox_turn ON outbox (turn, ordinal, chunk) WHERE turn IS NOT NULL;
CREATE UNIQUE INDEX outbox_key ON outbox (channel, account, chat, key, chunk) WHERE key IS NOT NULL;
CREATE INDEX outbox_open ON outbox (channel, account, chat, id)
    WHERE state = 'pending' OR state = 'sending' OR state = 'unknown';
CREATE INDEX outbox_wait ON outbox (wait) WHERE wait IS NOT NULL;
CREATE INDEX outbox_lost ON outbox (channel, account, chat, id) WHERE state IN ('unconfirmed', 'dead');

CREATE TABLE undelivered (                      -- lost deliveries that the next turn of a session reports
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session     TEXT NOT NULL,
    said_by     INTEGER REFERENCES turns (id),  -- NULL: another process
    delivery    INTEGER NOT NULL,               -- outbox.id
    chat        TEXT NOT NULL,
    what        TEXT NOT NULL,
    why         TEXT NOT NULL,
    unconfirmed INTEGER NOT NULL,
    turn        INTEGER REFERENCES turns (id),  -- turn whose requests report it; NULL: not reported yet
    trust       TEXT NOT NULL DEFAULT 'full' CHECK (trust IN ('low', 'user', 'full')) -- of the text
) STRICT;
CREATE INDEX undelivered_untold ON undelivered (session) WHERE turn IS NULL;
CREATE INDEX undelivered_told ON undelivered (turn, id) WHERE turn IS NOT NULL;
CREATE INDEX undelivered_said_by ON undelivered (said_by) WHERE said_by IS NOT NULL;
CREATE INDEX undelivered_delivery ON undelivered (delivery);

CREATE TABLE usage (                            -- cost of each answer of a model
    id            INTEGER PRIMARY KEY,
    at            INTEGER NOT NULL,
    session       TEXT REFERENCES sessions (id), -- NULL: work for no conversation
    turn          INTEGER REFERENCES turns (id), -- root turn, which pays for its children
    purpose       TEXT NOT NULL CHECK (
                    purpose = 'answer' OR purpose = 'summary' OR purpose = 'consolidation'
                    OR purpose = 'embedding' OR purpose = 'speech'),
    model         TEXT NOT NULL,                -- provider/model
    input         INTEGER NOT NULL,             -- tokens; of these, cached and cache_written
    cached        INTEGER NOT NULL,
    cache_written INTEGER NOT NULL,
    output        INTEGER NOT NULL,
    cost          INTEGER,                      -- billionths of a dollar; NULL: price unknown
    child         INTEGER REFERENCES turns (id) -- child that asked; NULL: the root turn itself
) STRICT;
CREATE INDEX usage_turn ON usage (turn) WHERE turn IS NOT NULL;
CREATE INDEX usage_child ON usage (child) WHERE child IS NOT NULL;

CREATE TABLE failed_requests (                  -- requests to a model that failed and were made again
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    turn     INTEGER NOT NULL REFERENCES turns (id), -- turn that asked
    began_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    purpose  TEXT NOT NULL,
    failure  TEXT NOT NULL                      -- JSON: the model and the reason
) STRICT;
CREATE INDEX failed_requests_turn ON failed_requests (turn);

CREATE TABLE usage_days (                       -- sums of usage, for the budgets
    day           INTEGER PRIMARY KEY,          -- days since 1970-01-01, UTC
    input         INTEGER NOT NULL DEFAULT 0,
    cached        INTEGER NOT NULL DEFAULT 0,
    cache_written INTEGER NOT NULL DEFAULT 0,
    output        INTEGER NOT NULL DEFAULT 0,
    cost          INTEGER NOT NULL DEFAULT 0,
    unpriced      INTEGER NOT NULL DEFAULT 0    -- tokens without a price
) STRICT;

CREATE TABLE usage_sessions (                   -- sums of usage since /new, for the budgets
    session       TEXT PRIMARY KEY REFERENCES sessions (id),
    input         INTEGER NOT NULL DEFAULT 0,
    cached        INTEGER NOT NULL DEFAULT 0,
    cache_written INTEGER NOT NULL DEFAULT 0,
    output        INTEGER NOT NULL DEFAULT 0,
    cost          INTEGER NOT NULL DEFAULT 0,
    unpriced      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE usage_mark (                       -- the sums contain the usage up to this id; later rows are added to them
    only  INTEGER PRIMARY KEY CHECK (only = 1),
    usage INTEGER NOT NULL
) STRICT;
INSERT INTO usage_mark (only, usage) VALUES (1, 0);

CREATE TRIGGER usage_added AFTER INSERT ON usage
    WHEN new.id >= 16 + (SELECT usage FROM usage_mark)
BEGIN
    INSERT INTO usage_days (day, input, cached, cache_written, output, cost, unpriced)
    SELECT at / 86400000, sum(input), sum(cached), sum(cache_written), sum(output),
        sum(coalesce(cost, 0)), sum(iif(cost IS NULL, input + output, 0))
    FROM usage WHERE id > (SELECT usage FROM usage_mark) GROUP BY at / 86400000
    ON CONFLICT DO UPDATE SET input = input + excluded.input, cached = cached + excluded.cached,
        cache_written = cache_written + excluded.cache_written, output = output + excluded.output,
        cost = cost + excluded.cost, unpriced = unpriced + excluded.unpriced;
    INSERT INTO usage_sessions (session, input, cached, cache_written, output, cost, unpriced)
    SELECT session, sum(input), sum(cached), sum(cache_written), sum(output),
        sum(coalesce(cost, 0)), sum(iif(cost IS NULL, input + output, 0))
    FROM usage JOIN sessions ON sessions.id = session
    WHERE usage.id > (SELECT usage FROM usage_mark) AND usage.id > usage_from GROUP BY session
    ON CONFLICT DO UPDATE SET input = input + excluded.input, cached = cached + excluded.cached,
        cache_written = cache_written + excluded.cache_written, output = output + excluded.output,
        cost = cost + excluded.cost, unpriced = unpriced + excluded.unpriced;
    UPDATE usage_mark SET usage = new.id WHERE only = 1;
END;

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
    message    TEXT,                            -- first message of the stranger, as JSON, while the code is open
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

CREATE TABLE audit (                            -- every decision and every effect; only `erase` changes rows
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, -- without gaps
    at       INTEGER NOT NULL,
    kind     TEXT NOT NULL,
    session  TEXT,
    turn     INTEGER,
    call     TEXT,
    actor    TEXT NOT NULL,                     -- id of a person, 'host' or 'process'
    tool     TEXT,
    digest   TEXT,                              -- SHA-256 of the exact arguments
    summary  TEXT NOT NULL,                     -- without secrets
    outcome  TEXT,
    previous TEXT NOT NULL,                     -- hash of the previous row
    hash     TEXT NOT NULL,                     -- SHA-256 of the other columns
    version  INTEGER NOT NULL DEFAULT 1,        -- 1: hash of the texts; 2: hash of their digests
    salt     TEXT,                              -- random; part of the digests; NULL: version 1, or texts were erased
    seals    TEXT                               -- JSON: the digest of each erased text and the salts of the others
) STRICT;

CREATE TABLE rules (                            -- rules of the owners; a removed one stays, because calls name it
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    text       TEXT NOT NULL,                   -- as the owner wrote it
    scope      TEXT NOT NULL,                   -- 'everyone', 'agent NAME', 'chat SESSION' or 'person ID'
    added_by   TEXT NOT NULL,                   -- id of a person, or 'host'
    added_at   INTEGER NOT NULL,
    removed_by TEXT,                            -- NULL: in force
    removed_at INTEGER,
    CHECK ((removed_by IS NULL) = (removed_at IS NULL))
) STRICT;

CREATE TABLE stop_all (                         -- the stop of everything by an owner; no row: none is in force
    only       INTEGER PRIMARY KEY CHECK (only = 1),
    stopped_at INTEGER NOT NULL,
    stopped_by TEXT NOT NULL,                   -- id of a person, or 'host'
    stopped_in TEXT                             -- chat of the command; NULL: the command line
) STRICT;

CREATE TABLE stop_told (                        -- chats that got a notice about the stop in force
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat    TEXT NOT NULL,
    topic   TEXT NOT NULL,                      -- '' if the chat has none
    PRIMARY KEY (channel, account, chat, topic)
) STRICT, WITHOUT ROWID;

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
CREATE INDEX memories_turn ON memories (turn) WHERE turn IS NOT NULL;
CREATE INDEX memories_message ON memories (message) WHERE message IS NOT NULL;
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
    author       TEXT NOT NULL,                 -- 'call ID', 'person ID', 'consolidation' or 'process'
    kind         TEXT NOT NULL CHECK (kind IN ('written', 'forgotten', 'undone')),
    text_before  TEXT,                          -- NULL: absent
    trust_before TEXT CHECK (trust_before IN ('low', 'user', 'full')),
    text_after   TEXT,
    trust_after  TEXT CHECK (trust_after IN ('low', 'user', 'full')),
    CHECK ((text_before IS NULL) = (trust_before IS NULL)),
    CHECK ((text_after IS NULL) = (trust_after IS NULL))
) STRICT;
CREATE INDEX memory_changes_memory ON memory_changes (memory, id);

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

CREATE TABLE jobs (                             -- tasks for an agent in the background
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL UNIQUE,
    message INTEGER NOT NULL REFERENCES inbound (id), -- its first message, which has the task
    key     TEXT NOT NULL UNIQUE,               -- idempotency key of the submission
    rules   TEXT NOT NULL                       -- JSON: agent, workspace, limits
) STRICT;
CREATE INDEX jobs_message ON jobs (message);

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
    key        TEXT,                            -- idempotency key of the request that made it
    sender_roles TEXT,                          -- JSON: roles of the platform; NULL: none
    CHECK ((state = 'active') = (next_at IS NOT NULL))
) STRICT;
CREATE INDEX schedules_due ON schedules (next_at) WHERE state = 'active';
CREATE UNIQUE INDEX schedules_key ON schedules (key) WHERE key IS NOT NULL;

CREATE TABLE schedule_runs (                    -- claimed times; each is claimed once
    schedule   INTEGER NOT NULL REFERENCES schedules (id),
    due        INTEGER NOT NULL,
    claimed_at INTEGER NOT NULL,
    result     TEXT NOT NULL CHECK (result IN ('queued', 'sent', 'missed', 'empty', 'undeliverable')),
    skipped    INTEGER NOT NULL DEFAULT 0,      -- earlier times that it replaces
    PRIMARY KEY (schedule, due)
) STRICT, WITHOUT ROWID;

CREATE TABLE consolidations (                   -- runs of a model that tidied the memories of a scope
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    scope      TEXT NOT NULL,
    began_at   INTEGER NOT NULL,                -- before the request to the model
    state      TEXT NOT NULL CHECK (state IN ('begun', 'done', 'shown', 'failed')),
    covered_to INTEGER,                         -- changes of the scope up to this id are covered; NULL: none
    applied    INTEGER NOT NULL DEFAULT 0,      -- number of edits
    error      TEXT
) STRICT;
CREATE INDEX consolidations_covered ON consolidations (scope, covered_to);

CREATE TABLE events (                           -- changes of state, written by the triggers below
    seq     INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL DEFAULT 0,         -- time of the transaction, which sets it at its end
    kind    TEXT NOT NULL,
    session ANY,                                -- sessions.short_id; text if it is no session of this log
    turn    INTEGER,
    step    INTEGER,
    ordinal INTEGER,
    row     INTEGER                             -- id in the table of the kind
) STRICT;
CREATE TABLE subscribers (                      -- programs that follow the events
    name TEXT PRIMARY KEY,
    seq  INTEGER NOT NULL,                      -- last event that the program has confirmed
    at   INTEGER NOT NULL                       -- time of its last confirmation
) STRICT, WITHOUT ROWID;

CREATE TABLE last_numbers (                     -- ids that the tables of a turn never give to a row again
    name   TEXT PRIMARY KEY,                    -- of the table
    number INTEGER NOT NULL                     -- highest id that was removed or reserved
) STRICT, WITHOUT ROWID;
INSERT INTO last_numbers (name, number)
VALUES ('turns', 0), ('inbound', 0), ('outbox', 0), ('usage', 0), ('events', 0);

CREATE VIEW next_turns AS SELECT 1 + max(
    coalesce((SELECT max(id) FROM turns), 0),
    (SELECT number FROM last_numbers WHERE name = 'turns')) AS id;
CREATE VIEW next_inbound AS SELECT 1 + max(
    coalesce((SELECT max(id) FROM inbound), 0),
    (SELECT number FROM last_numbers WHERE name = 'inbound')) AS id;
CREATE VIEW next_outbox AS SELECT 1 + max(
    coalesce((SELECT max(id) FROM outbox), 0),
    (SELECT number FROM last_numbers WHERE name = 'outbox')) AS id;
CREATE VIEW next_usage AS SELECT 1 + max(
    coalesce((SELECT max(id) FROM usage), 0),
    (SELECT number FROM last_numbers WHERE name = 'usage')) AS id;
CREATE VIEW next_events AS SELECT 1 + max(
    coalesce((SELECT max(seq) FROM events), 0),
    (SELECT number FROM last_numbers WHERE name = 'events')) AS id;

CREATE TRIGGER turns_removed AFTER DELETE ON turns
    WHEN old.id > coalesce((SELECT max(id) FROM turns), 0)
BEGIN
    UPDATE last_numbers SET number = max(number, old.id) WHERE name = 'turns';
END;
CREATE TRIGGER inbound_removed AFTER DELETE ON inbound
    WHEN old.id > coalesce((SELECT max(id) FROM inbound), 0)
BEGIN
    UPDATE last_numbers SET number = max(number, old.id) WHERE name = 'inbound';
END;
CREATE TRIGGER outbox_removed AFTER DELETE ON outbox
    WHEN old.id > coalesce((SELECT max(id) FROM outbox), 0)
BEGIN
    UPDATE last_numbers SET number = max(number, old.id) WHERE name = 'outbox';
END;
CREATE TRIGGER usage_removed AFTER DELETE ON usage
    WHEN old.id > coalesce((SELECT max(id) FROM usage), 0)
BEGIN
    UPDATE last_numbers SET number = max(number, old.id) WHERE name = 'usage';
END;
CREATE TRIGGER events_removed AFTER DELETE ON events
    WHEN old.seq > coalesce((SELECT max(seq) FROM events), 0)
BEGIN
    UPDATE last_numbers SET number = max(number, old.seq) WHERE name = 'events';
END;

CREATE TRIGGER sessions_numbered AFTER INSERT ON sessions WHEN new.short_id IS NULL BEGIN
    UPDATE sessions SET short_id = (SELECT coalesce(max(short_id), 0) + 1 FROM sessions)
    WHERE id = new.id;
END;
CREATE TRIGGER daemon_event AFTER UPDATE OF epoch ON meta WHEN new.epoch <> old.epoch BEGIN
    INSERT INTO events (seq, kind, row)
    VALUES ((SELECT id FROM next_events), 'daemon.started', new.epoch);
END;
CREATE TRIGGER message_added_event AFTER INSERT ON inbound BEGIN
    INSERT INTO events (seq, kind, session, turn, row)
    VALUES ((SELECT id FROM next_events), 'message.queued',
        (SELECT short_id FROM sessions WHERE id = new.session), new.turn, new.id);
END;
CREATE TRIGGER message_corrected_event AFTER UPDATE OF edited_at ON inbound
    WHEN new.edited_at IS NOT old.edited_at
BEGIN
    INSERT INTO events (seq, kind, session, turn, row)
    VALUES ((SELECT id FROM next_events), 'message.corrected',
        (SELECT short_id FROM sessions WHERE id = new.session), new.turn, new.id);
END;
CREATE TRIGGER message_ended_event AFTER UPDATE OF state ON inbound
    WHEN new.state <> old.state AND (new.state = 'done' OR new.state = 'dead')
BEGIN
    INSERT INTO events (seq, kind, session, turn, row)
    VALUES ((SELECT id FROM next_events), 'message.' || new.state,
        (SELECT short_id FROM sessions WHERE id = new.session), new.turn, new.id);
END;
CREATE TRIGGER turn_added_event AFTER INSERT ON turns BEGIN
    INSERT INTO events (seq, kind, session, turn)
    VALUES ((SELECT id FROM next_events), 'turn.' || new.state,
        (SELECT short_id FROM sessions WHERE id = new.session), new.id);
END;
CREATE TRIGGER turn_changed_event AFTER UPDATE OF state ON turns WHEN new.state <> old.state BEGIN
    INSERT INTO events (seq, kind, session, turn)
    VALUES ((SELECT id FROM next_events), 'turn.' || new.state,
        (SELECT short_id FROM sessions WHERE id = new.session), new.id);
END;
CREATE TRIGGER model_event AFTER INSERT ON steps BEGIN
    INSERT INTO events (seq, kind, session, turn, step)
    VALUES ((SELECT id FROM next_events), 'model.answered',
        (SELECT short_id FROM turns JOIN sessions ON sessions.id = session
            WHERE turns.id = new.turn),
        new.turn, new.number);
END;
CREATE TRIGGER usage_event AFTER INSERT ON usage BEGIN
    INSERT INTO events (seq, kind, session, turn, row)
    VALUES ((SELECT id FROM next_events), 'usage.recorded',
        (SELECT short_id FROM sessions WHERE id = new.session),
        coalesce(new.child, new.turn), new.id);
END;
CREATE TRIGGER failed_request_event AFTER INSERT ON failed_requests BEGIN
    INSERT INTO events (seq, kind, session, turn, row)
    VALUES ((SELECT id FROM next_events), 'request.failed',
        (SELECT short_id FROM turns JOIN sessions ON sessions.id = session
            WHERE turns.id = new.turn),
        new.turn, new.id);
END;
CREATE TRIGGER call_event AFTER UPDATE OF state ON calls
    WHEN new.state <> old.state AND new.state <> 'planned'
BEGIN
    INSERT INTO events (seq, kind, session, turn, step, ordinal)
    VALUES ((SELECT id FROM next_events), 'call.' || new.state,
        (SELECT short_id FROM turns JOIN sessions ON sessions.id = session
            WHERE turns.id = new.turn),
        new.turn, new.step, new.ordinal);
END;
CREATE TRIGGER delivery_added_event AFTER INSERT ON outbox WHEN new.source <> 'preview' BEGIN
    INSERT INTO events (seq, kind, session, turn, row)
    VALUES ((SELECT id FROM next_events), 'delivery.' || new.state,
        coalesce((SELECT short_id FROM turns JOIN sessions ON sessions.id = session
                WHERE turns.id = new.turn),
            (SELECT short_id FROM sessions
                WHERE id = concat_ws(':', new.channel, new.account, new.chat, new.topic)),
            concat_ws(':', new.channel, new.account, new.chat, new.topic)),
        new.turn, new.id);
END;
CREATE TRIGGER delivery_changed_event AFTER UPDATE OF state, source ON outbox
    WHEN new.source <> 'preview' AND (new.state <> old.state OR old.source = 'preview')
BEGIN
    INSERT INTO events (seq, kind, session, turn, row)
    VALUES ((SELECT id FROM next_events), 'delivery.' || new.state,
        coalesce((SELECT short_id FROM turns JOIN sessions ON sessions.id = session
                WHERE turns.id = new.turn),
            (SELECT short_id FROM sessions
                WHERE id = concat_ws(':', new.channel, new.account, new.chat, new.topic)),
            concat_ws(':', new.channel, new.account, new.chat, new.topic)),
        new.turn, new.id);
END;
CREATE TRIGGER memory_event AFTER INSERT ON memory_changes BEGIN
    INSERT INTO events (seq, kind, session, turn, row)
    SELECT (SELECT id FROM next_events), 'memory.' || new.kind,
        coalesce((SELECT short_id FROM sessions WHERE sessions.id = session), session), turn, new.id
    FROM memories WHERE id = new.memory;
END;
CREATE TRIGGER schedule_added_event AFTER INSERT ON schedules BEGIN
    INSERT INTO events (seq, kind, row)
    VALUES ((SELECT id FROM next_events), 'schedule.' || new.state, new.id);
END;
CREATE TRIGGER schedule_changed_event AFTER UPDATE OF state ON schedules
    WHEN new.state <> old.state
BEGIN
    INSERT INTO events (seq, kind, row)
    VALUES ((SELECT id FROM next_events), 'schedule.' || new.state, new.id);
END;
