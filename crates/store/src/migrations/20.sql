-- From version 19 to 20: titles, pinned and archived sessions.

ALTER TABLE sessions ADD COLUMN title TEXT; -- given by a person; NULL: the first message
ALTER TABLE sessions ADD COLUMN title_from INTEGER NOT NULL DEFAULT 0; -- messages of turns up to this id are no title (/new)
ALTER TABLE sessions ADD COLUMN is_pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN is_archived INTEGER NOT NULL DEFAULT 0; -- the next message ends that
UPDATE sessions SET title_from = forgotten.turn
    FROM (SELECT inbound.session AS session, max(inbound.turn) AS turn
        FROM inbound JOIN sessions ON sessions.id = inbound.session
        WHERE inbound.id <= sessions.fresh_from AND inbound.turn IS NOT NULL
        GROUP BY inbound.session) AS forgotten
    WHERE forgotten.session = sessions.id;
