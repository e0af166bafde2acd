-- From version 22 to 23: the rules of the owners.

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
