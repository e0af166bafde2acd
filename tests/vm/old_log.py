"""Writes a log of the first schema to the path in the arguments: an answered message, one that waits, and a memory."""

import pathlib
import sqlite3
import sys

schema = pathlib.Path(__file__).parents[2] / "crates/store/src/migrations/schema_v1.sql"
log = sqlite3.connect(sys.argv[1])
log.executescript(schema.read_text())
log.executescript(
    """
    PRAGMA application_id = 0x41564F43;
    PRAGMA user_version = 1;
    UPDATE meta SET epoch = 1;

    INSERT INTO sessions (id, used_at) VALUES ('terminal:local:before', 1), ('terminal:local:waiting', 4);
    INSERT INTO turns (id, session, state, started_at, ended_at) VALUES (1, 'terminal:local:before', 'done', 1, 3);
    INSERT INTO inbound (session, channel, account, chat, key, sender, kind, content, removed, state, outcome, turn,
            received_at)
        VALUES ('terminal:local:before', 'terminal', 'local', 'before', 'a', 'owner', 'text',
            '{"text":"asked in the first schema"}', 0, 'done', 'replied', 1, 1);
    INSERT INTO steps (turn, number, text, input_tokens, output_tokens, closed)
        VALUES (1, 0, 'answered in the first schema', 0, 0, 1);
    INSERT INTO outbox (channel, account, chat, turn, ordinal, chunk, source, content, state, attempts, created_at)
        VALUES ('terminal', 'local', 'before', 1, 0, 0, 'reply', '{"text":"answered in the first schema"}', 'sent',
            1, 3);
    INSERT INTO notes (text, turn, written_at) VALUES ('kept from the first schema', 1, 2);

    -- Accepted before the upgrade, so the new version has to answer it.
    INSERT INTO inbound (session, channel, account, chat, key, sender, kind, content, removed, state, received_at)
        VALUES ('terminal:local:waiting', 'terminal', 'local', 'waiting', 'b', 'owner', 'text',
            '{"text":"help"}', 0, 'queued', 4);
    """
)
log.close()
