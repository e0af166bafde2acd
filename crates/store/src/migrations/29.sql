-- From version 28 to 29: events name their session by a short id, which is a fifth of their bytes. A session that the
-- log no longer has keeps its text there.

ALTER TABLE sessions ADD COLUMN short_id INTEGER; -- in the events; a trigger sets it
UPDATE sessions SET short_id = numbered.short_id
FROM (SELECT id, row_number() OVER (ORDER BY used_at, id) AS short_id FROM sessions) AS numbered
WHERE numbered.id = sessions.id;
CREATE INDEX sessions_short ON sessions (short_id);

PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'session TEXT', 'session ANY') WHERE type = 'table' AND name = 'events';
PRAGMA writable_schema = RESET;
UPDATE events SET session = sessions.short_id FROM sessions WHERE sessions.id = events.session;

DROP TRIGGER message_added_event;
DROP TRIGGER message_corrected_event;
DROP TRIGGER message_ended_event;
DROP TRIGGER turn_added_event;
DROP TRIGGER turn_changed_event;
DROP TRIGGER model_event;
DROP TRIGGER usage_event;
DROP TRIGGER failed_request_event;
DROP TRIGGER call_event;
DROP TRIGGER delivery_added_event;
DROP TRIGGER delivery_changed_event;
DROP TRIGGER memory_event;
CREATE TRIGGER sessions_numbered AFTER INSERT ON sessions WHEN new.short_id IS NULL BEGIN
    UPDATE sessions SET short_id = (SELECT coalesce(max(short_id), 0) + 1 FROM sessions)
    WHERE id = new.id;
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
