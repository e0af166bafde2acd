-- From version 27 to 28: a new row of the tables that a turn writes gets its id without `sqlite_sequence`, which cost
-- a page in each transaction. The rows stay as they are: AUTOINCREMENT is a property of the table's text only.

PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'PRIMARY KEY AUTOINCREMENT', 'PRIMARY KEY')
WHERE type = 'table' AND name IN ('turns', 'inbound', 'outbox', 'usage', 'events');
PRAGMA writable_schema = RESET;

CREATE TABLE last_numbers (                     -- ids that the tables of a turn never give to a row again
    name   TEXT PRIMARY KEY,                    -- of the table
    number INTEGER NOT NULL                     -- highest id that was removed or reserved
) STRICT, WITHOUT ROWID;
INSERT INTO last_numbers (name, number)
SELECT list.value, coalesce((SELECT seq FROM sqlite_sequence WHERE name = list.value), 0)
FROM json_each('["turns", "inbound", "outbox", "usage", "events"]') AS list;
DELETE FROM sqlite_sequence WHERE name IN (SELECT name FROM last_numbers);

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

DROP TRIGGER daemon_event;
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
DROP TRIGGER schedule_added_event;
DROP TRIGGER schedule_changed_event;

CREATE TRIGGER daemon_event AFTER UPDATE OF epoch ON meta WHEN new.epoch <> old.epoch BEGIN
    INSERT INTO events (seq, kind, row)
    VALUES ((SELECT id FROM next_events), 'daemon.started', new.epoch);
END;
CREATE TRIGGER message_added_event AFTER INSERT ON inbound BEGIN
    INSERT INTO events (seq, kind, session, turn, row)
    VALUES ((SELECT id FROM next_events), 'message.queued', new.session, new.turn, new.id);
END;
CREATE TRIGGER message_corrected_event AFTER UPDATE OF edited_at ON inbound
    WHEN new.edited_at IS NOT old.edited_at
BEGIN
    INSERT INTO events (seq, kind, session, turn, row)
    VALUES ((SELECT id FROM next_events), 'message.corrected', new.session, new.turn, new.id);
END;
CREATE TRIGGER message_ended_event AFTER UPDATE OF state ON inbound
    WHEN new.state <> old.state AND (new.state = 'done' OR new.state = 'dead')
BEGIN
    INSERT INTO events (seq, kind, session, turn, row)
    VALUES ((SELECT id FROM next_events), 'message.' || new.state, new.session, new.turn, new.id);
END;
CREATE TRIGGER turn_added_event AFTER INSERT ON turns BEGIN
    INSERT INTO events (seq, kind, session, turn)
    VALUES ((SELECT id FROM next_events), 'turn.' || new.state, new.session, new.id);
END;
CREATE TRIGGER turn_changed_event AFTER UPDATE OF state ON turns WHEN new.state <> old.state BEGIN
    INSERT INTO events (seq, kind, session, turn)
    VALUES ((SELECT id FROM next_events), 'turn.' || new.state, new.session, new.id);
END;
CREATE TRIGGER model_event AFTER INSERT ON steps BEGIN
    INSERT INTO events (seq, kind, session, turn, step)
    VALUES ((SELECT id FROM next_events), 'model.answered',
        (SELECT session FROM turns WHERE id = new.turn), new.turn, new.number);
END;
CREATE TRIGGER usage_event AFTER INSERT ON usage BEGIN
    INSERT INTO events (seq, kind, session, turn, row)
    VALUES ((SELECT id FROM next_events), 'usage.recorded', new.session,
        coalesce(new.child, new.turn), new.id);
END;
CREATE TRIGGER failed_request_event AFTER INSERT ON failed_requests BEGIN
    INSERT INTO events (seq, kind, session, turn, row)
    VALUES ((SELECT id FROM next_events), 'request.failed',
        (SELECT session FROM turns WHERE id = new.turn), new.turn, new.id);
END;
CREATE TRIGGER call_event AFTER UPDATE OF state ON calls
    WHEN new.state <> old.state AND new.state <> 'planned'
BEGIN
    INSERT INTO events (seq, kind, session, turn, step, ordinal)
    VALUES ((SELECT id FROM next_events), 'call.' || new.state,
        (SELECT session FROM turns WHERE id = new.turn), new.turn, new.step, new.ordinal);
END;
CREATE TRIGGER delivery_added_event AFTER INSERT ON outbox WHEN new.source <> 'preview' BEGIN
    INSERT INTO events (seq, kind, session, turn, row)
    VALUES ((SELECT id FROM next_events), 'delivery.' || new.state,
        coalesce((SELECT session FROM turns WHERE id = new.turn),
            concat_ws(':', new.channel, new.account, new.chat, new.topic)),
        new.turn, new.id);
END;
CREATE TRIGGER delivery_changed_event AFTER UPDATE OF state, source ON outbox
    WHEN new.source <> 'preview' AND (new.state <> old.state OR old.source = 'preview')
BEGIN
    INSERT INTO events (seq, kind, session, turn, row)
    VALUES ((SELECT id FROM next_events), 'delivery.' || new.state,
        coalesce((SELECT session FROM turns WHERE id = new.turn),
            concat_ws(':', new.channel, new.account, new.chat, new.topic)),
        new.turn, new.id);
END;
CREATE TRIGGER memory_event AFTER INSERT ON memory_changes BEGIN
    INSERT INTO events (seq, kind, session, turn, row)
    SELECT (SELECT id FROM next_events), 'memory.' || new.kind, session, turn, new.id
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
