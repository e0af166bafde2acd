-- From version 3 to 4: costs of models, the model of a session, and the state of its compaction.

ALTER TABLE sessions ADD COLUMN usage_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN model TEXT;
ALTER TABLE sessions ADD COLUMN compact_for INTEGER;
ALTER TABLE sessions ADD COLUMN shortened_to INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN summary TEXT;
ALTER TABLE sessions ADD COLUMN summary_to INTEGER NOT NULL DEFAULT 0;

CREATE TABLE usage (                            -- cost of each answer of a model
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    at            INTEGER NOT NULL,
    session       TEXT NOT NULL REFERENCES sessions (id),
    turn          INTEGER REFERENCES turns (id), -- root turn, which pays for its children
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
