-- From version 11 to 12: each change of state is an event, which other programs can follow.

CREATE TABLE events (                           -- changes of state, written by the triggers below
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL DEFAULT 0,         -- time of the transaction, which sets it at its end
    kind    TEXT NOT NULL,
    session TEXT,
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

CREATE TRIGGER daemon_event AFTER UPDATE OF epoch ON meta WHEN new.epoch <> old.epoch BEGIN
    INSERT INTO events (kind, row) VALUES ('daemon.started', new.epoch);
END;
CREATE TRIGGER message_added_event AFTER INSERT ON inbound BEGIN
    INSERT INTO events (kind, session, turn, row)
    VALUES ('message.queued', new.session, new.turn, new.id);
END;
CREATE TRIGGER message_corrected_event AFTER UPDATE OF edited_at ON inbound
    WHEN new.edited_at IS NOT old.edited_at
BEGIN
    INSERT INTO events (kind, session, turn, row)
    VALUES ('message.corrected', new.session, new.turn, new.id);
END;
CREATE TRIGGER message_ended_event AFTER UPDATE OF state ON inbound
    WHEN new.state <> old.state AND (new.state = 'done' OR new.state = 'dead')
BEGIN
    INSERT INTO events (kind, session, turn, row)
    VALUES ('message.' || new.state, new.session, new.turn, new.id);
END;
CREATE TRIGGER turn_added_event AFTER INSERT ON turns BEGIN
    INSERT INTO events (kind, session, turn) VALUES ('turn.' || new.state, new.session, new.id);
END;
CREATE TRIGGER turn_changed_event AFTER UPDATE OF state ON turns WHEN new.state <> old.state BEGIN
    INSERT INTO events (kind, session, turn) VALUES ('turn.' || new.state, new.session, new.id);
END;
CREATE TRIGGER model_event AFTER INSERT ON steps BEGIN
    INSERT INTO events (kind, session, turn, step)
    VALUES ('model.answered', (SELECT session FROM turns WHERE id = new.turn), new.turn, new.number);
END;
CREATE TRIGGER usage_event AFTER INSERT ON usage BEGIN
    INSERT INTO events (kind, session, turn, row)
    VALUES ('usage.recorded', new.session, coalesce(new.child, new.turn), new.id);
END;
CREATE TRIGGER call_event AFTER UPDATE OF state ON calls
    WHEN new.state <> old.state AND new.state <> 'planned'
BEGIN
    INSERT INTO events (kind, session, turn, step, ordinal)
    VALUES ('call.' || new.state, (SELECT session FROM turns WHERE id = new.turn), new.turn,
        new.step, new.ordinal);
END;
CREATE TRIGGER delivery_added_event AFTER INSERT ON outbox WHEN new.source <> 'preview' BEGIN
    INSERT INTO events (kind, session, turn, row)
    VALUES ('delivery.' || new.state,
        coalesce((SELECT session FROM turns WHERE id = new.turn),
            concat_ws(':', new.channel, new.account, new.chat, new.topic)),
        new.turn, new.id);
END;
CREATE TRIGGER delivery_changed_event AFTER UPDATE OF state, source ON outbox
    WHEN new.source <> 'preview' AND (new.state <> old.state OR old.source = 'preview')
BEGIN
    INSERT INTO events (kind, session, turn, row)
    VALUES ('delivery.' || new.state,
        coalesce((SELECT session FROM turns WHERE id = new.turn),
            concat_ws(':', new.channel, new.account, new.chat, new.topic)),
        new.turn, new.id);
END;
CREATE TRIGGER memory_event AFTER INSERT ON memory_changes BEGIN
    INSERT INTO events (kind, session, turn, row)
    SELECT 'memory.' || new.kind, session, turn, new.id FROM memories WHERE id = new.memory;
END;
CREATE TRIGGER schedule_added_event AFTER INSERT ON schedules BEGIN
    INSERT INTO events (kind, row) VALUES ('schedule.' || new.state, new.id);
END;
CREATE TRIGGER schedule_changed_event AFTER UPDATE OF state ON schedules
    WHEN new.state <> old.state
BEGIN
    INSERT INTO events (kind, row) VALUES ('schedule.' || new.state, new.id);
END;
