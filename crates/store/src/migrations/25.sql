-- From version 24 to 25: the stop of everything.

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
