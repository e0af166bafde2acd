-- From version 7 to 8.

-- Usage of work that belongs to no conversation: consolidations of memories, and embeddings.
CREATE TABLE usage_new (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    at            INTEGER NOT NULL,
    session       TEXT REFERENCES sessions (id), -- NULL: work for no conversation
    turn          INTEGER REFERENCES turns (id), -- root turn, which pays for its children
    purpose       TEXT NOT NULL CHECK (purpose IN ('answer', 'summary', 'consolidation', 'embedding')),
    model         TEXT NOT NULL,                -- provider/model
    input         INTEGER NOT NULL,             -- tokens; of these, cached and cache_written
    cached        INTEGER NOT NULL,
    cache_written INTEGER NOT NULL,
    output        INTEGER NOT NULL,
    cost          INTEGER,                      -- billionths of a dollar; NULL: price unknown
    child         INTEGER REFERENCES turns (id) -- child that asked; NULL: the root turn itself
) STRICT;
INSERT INTO usage_new (id, at, session, turn, purpose, model, input, cached, cache_written, output, cost, child)
SELECT id, at, session, turn, purpose, model, input, cached, cache_written, output, cost, child FROM usage;
DROP TABLE usage;
ALTER TABLE usage_new RENAME TO usage;
CREATE INDEX usage_session ON usage (session, id, input, cached, cache_written, output, cost);
CREATE INDEX usage_turn ON usage (turn, input, cached, cache_written, output, cost)
    WHERE turn IS NOT NULL;
CREATE INDEX usage_at ON usage (at, input, cached, cache_written, output, cost);

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
