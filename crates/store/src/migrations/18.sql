-- From version 17 to 18: requests to a model that failed and were made again.

CREATE TABLE failed_requests (                  -- requests to a model that failed and were made again
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    turn     INTEGER NOT NULL REFERENCES turns (id), -- turn that asked
    began_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    purpose  TEXT NOT NULL,
    failure  TEXT NOT NULL                      -- JSON: the model and the reason
) STRICT;
CREATE INDEX failed_requests_turn ON failed_requests (turn);

CREATE TRIGGER failed_request_event AFTER INSERT ON failed_requests BEGIN
    INSERT INTO events (kind, session, turn, row)
    VALUES ('request.failed', (SELECT session FROM turns WHERE id = new.turn), new.turn, new.id);
END;
