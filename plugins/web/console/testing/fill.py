"""Writes old turns into the log of a stopped daemon: `fill.py LOG TURNS CHAT`, with CHAT below web:console."""

import sqlite3
import sys

FILL = """
PRAGMA synchronous = OFF;
BEGIN;
CREATE TEMP TABLE n AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :turns)
    SELECT i, unixepoch() * 1000 - (:turns - i) * 60000 AS at FROM n;
INSERT INTO sessions (id, used_at) SELECT 'web:console::chat', max(at) FROM n;
INSERT INTO turns (id, session, state, started_at, ended_at)
    SELECT i, 'web:console::chat', 'done', at, at FROM n;
INSERT INTO inbound (session, channel, account, chat, key, sender, kind, content, removed, state, outcome, turn, received_at)
    SELECT 'web:console::chat', 'web', 'console', ':chat', hex(randomblob(18)), 'uid:1000', 'text',
        '{"text":"Question ' || i || '"}', 0, 'done', 'replied', i, at FROM n;
INSERT INTO steps (turn, number, text, input_tokens, output_tokens, closed)
    SELECT i, 0, 'Answer ' || i || '.' || char(10) || char(10) || substr(replace(hex(zeroblob(60)), '00', 'Some words. '), 1, 1 + i * 37 % 700), 12, 3, 1 FROM n;
INSERT INTO outbox (channel, account, chat, turn, ordinal, chunk, source, content, state, attempts, created_at, first_sent_at)
    SELECT 'web', 'console', ':chat', i, 0, 0, 'reply', '{"text":"Answer ' || i || '."}', 'sent', 1, at, at FROM n;
DROP TABLE n;
COMMIT;
PRAGMA wal_checkpoint(TRUNCATE);
"""



def concat_ws(separator, *values):
    return separator.join(str(value) for value in values if value is not None)


log, turns, chat = sys.argv[1:]
with sqlite3.connect(log) as connection:
    # Triggers of the log use it. SQLite has it since 3.44.
    connection.create_function("concat_ws", -1, concat_ws, deterministic=True)
    connection.executescript(FILL.replace(":turns", str(int(turns))).replace(":chat", chat))
