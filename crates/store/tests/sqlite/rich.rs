//! A log with a past: rows in every table, some of them long, and open work in every state.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use rusqlite::Connection;

/// For each table, constant columns that identify a row.
const KEYS: &[(&str, &str)] = &[
    ("audit", "sequence || hash"),
    ("calls", "turn || ' ' || step || ' ' || ordinal || arguments"),
    ("cursors", "channel || account || scope || position"),
    ("ignored", "channel || account || reason || count"),
    ("inbound", "id || session || content"),
    ("kept_results", "handle || body"),
    ("links", "channel || account || chat || session"),
    ("memories", "id || text"),
    ("memory_changes", "id || memory || text_after"),
    ("outbox", "id || chat || content"),
    ("pairings", "code || sender"),
    ("people", "channel || account || sender || role"),
    ("private_chats", "channel || account || chat || sender"),
    ("reports", "id || text"),
    ("schedule_runs", "schedule || ' ' || due"),
    ("schedules", "id || body"),
    ("sessions", "id"),
    ("steps", "turn || ' ' || number || text"),
    ("turns", "id || session"),
    ("undelivered", "id || what"),
    ("usage", "id || session || model || input || output"),
];

/// The `KEYS` values of all rows, by table.
pub(crate) type Rows = BTreeMap<&'static str, BTreeSet<String>>;

pub(crate) fn rows(log: &Connection) -> Rows {
    let of = |(table, key): (&'static str, &str)| {
        let mut statement = log.prepare(&format!("SELECT {key} FROM {table}")).unwrap();
        let rows = statement.query_map((), |row| row.get(0)).unwrap();
        (table, rows.map(Result::unwrap).collect())
    };
    KEYS.iter().copied().map(of).collect()
}

/// Adds completed turns.
pub(crate) fn add_turns(log: &Connection, turns: std::ops::Range<u32>) {
    let mut sql = String::from("BEGIN;");
    for turn in turns {
        let chat = format!("s{}", turn % 12);
        let session = format!("terminal:local:{chat}");
        let text = format!("message {turn}, and so on. ").repeat(1 + (turn as usize * 7) % 40);
        write!(
            sql,
            "INSERT OR IGNORE INTO sessions (id, used_at) VALUES ('{session}', {turn});
             INSERT INTO turns (id, session, state, started_at, ended_at) \
                 VALUES ({turn}, '{session}', 'done', {turn}, {turn});
             INSERT INTO inbound (session, channel, account, chat, key, sender, kind, content, removed, state, \
                 outcome, turn, received_at) VALUES ('{session}', 'terminal', 'local', '{chat}', 'k{turn}', 'u1', \
                 'text', '{{\"text\":\"{text}\"}}', 0, 'done', 'replied', {turn}, {turn});
             INSERT INTO steps (turn, number, text, input_tokens, output_tokens, closed) \
                 VALUES ({turn}, 0, 'let me see {turn}', 10, 2, 1), ({turn}, 1, 'answer: {text}', 20, 3, 1);
             INSERT INTO calls (turn, step, ordinal, name, arguments, class, state, ok, result) \
                 VALUES ({turn}, 0, 0, 'exec_shell', '{{\"object\":{{\"command\":\"echo {turn}\"}}}}', 'effect', 'finished', 1, \
                 '\"done {turn}\"');
             INSERT INTO outbox (channel, account, chat, turn, ordinal, chunk, source, content, state, attempts, \
                 platform_id, created_at) VALUES ('terminal', 'local', '{chat}', {turn}, 0, 0, 'reply', \
                 '{{\"text\":\"answer: {text}\"}}', 'sent', 1, 'p{turn}', {turn});
             INSERT INTO usage (at, session, turn, purpose, model, input, cached, cache_written, output) \
                 VALUES ({turn}, '{session}', {turn}, 'answer', 'local/model', {turn}, 0, 0, 3);
             INSERT INTO audit (at, kind, actor, summary, previous, hash) \
                 VALUES ({turn}, 'started', 'process', 'echo {turn}', 'p{turn}', 'h{turn}');"
        )
        .unwrap();
        if turn % 3 == 0 {
            write!(
                sql,
                "INSERT INTO memories (scope, text, words, turn, written_at) VALUES ('everyone', 'note {turn}', \
                     'note {turn}', {turn}, 1);
                 INSERT INTO memory_changes (memory, at, author, kind, text_after, trust_after) \
                     VALUES (last_insert_rowid(), 1, 'process', 'written', 'note {turn}', 'full');
    \
                    INSERT INTO undelivered (session, said_by, delivery, chat, what, why, \
                    unconfirmed, turn) VALUES ('{session}', {turn}, {turn}, \
                    'terminal:local:{chat}', 'what {turn}', 'too large', 0, {turn});
              \
                    INSERT INTO reports (session, said_from, chat, text, at, turn) VALUES \
                    ('{session}', 'schedule:local:1', 'terminal:local:{chat}', 'text {turn}', 1, \
                    {turn});
              \
                    INSERT INTO waits (turn, step, ordinal, kind, expires_at, resolved) VALUES \
                    ({turn}, 0, 0, 'approval', 5, 1);"
            )
            .unwrap();
        }
        if turn % 10 == 0 {
            let body = format!("long {turn} ").repeat(1500);
            // Pairing codes exclude 0 and 1.
            let code = format!("{turn:08}").replace('0', "A").replace('1', "B");
            write!(
                sql,
                "INSERT INTO kept_results (handle, session, body) VALUES ('t{turn}s0c0', '{session}', '\"{body}\"');
                 INSERT INTO schedules (id, state, channel, account, chat, chat_kind, sender, rule, kind, body, \
                     catch_up, quiet, trust, next_at, made_at) VALUES ({turn}, 'active', 'terminal', 'local', \
                     '{chat}', 'private', 'u1', '{{\"recurrence\":{{\"once\":{turn}}},\"zone\":\"UTC\"}}', 'text', \
                     'text {turn}', 'once', 1, 'full', {turn}, 1);
                 INSERT INTO schedule_runs (schedule, due, claimed_at, result) \
                     VALUES ({turn}, {turn}, 1, 'sent');
                 INSERT INTO people (channel, account, sender, role, since) \
                     VALUES ('telegram', 'main', '{turn}', 'user', 1);
                 INSERT INTO private_chats (channel, account, chat, sender) \
                     VALUES ('telegram', 'main', '{turn}', '{turn}');
                 INSERT INTO links (channel, account, chat, session) \
                     VALUES ('telegram', 'main', '{turn}', '{session}');
                 INSERT INTO cursors (channel, account, scope, position) \
                     VALUES ('discord', 'main', '{turn}', '{turn}');
                 INSERT INTO ignored (channel, account, reason, count) VALUES ('discord', 'main', 'r{turn}', 1);
                 INSERT INTO pairings (code, channel, account, chat, sender, created_at, expires_at) VALUES \
                     ('{code}', 'telegram', 'main', '{turn}', '{turn}', 1, 2);"
            )
            .unwrap();
        }
    }
    sql.push_str("COMMIT;");
    log.execute_batch(&sql).unwrap();
}

/// Adds open work in every state, in its own sessions.
pub(crate) fn add_open(log: &Connection) {
    log.execute_batch(
        "BEGIN;
         INSERT INTO sessions (id, used_at, compact_for) VALUES
             ('terminal:local:o1', 1, 7), ('terminal:local:o2', 1, NULL), ('terminal:local:o3', 1, NULL),
             ('terminal:local:o4', 1, NULL);
         INSERT INTO turns (id, session, state, started_at) VALUES
             (9001, 'terminal:local:o1', 'queued', 1), (9002, 'terminal:local:o2', 'running', 1),
             (9003, 'terminal:local:o3', 'waiting', 1);
         INSERT INTO inbound (session, channel, account, chat, key, sender, kind, content, removed, state, turn,
             received_at)
         SELECT 'terminal:local:' || chat, 'terminal', 'local', chat, key, 'u1', kind, '{\"text\":\"open\"}', 0,
             state, turn, 1
         FROM (SELECT 'o1' AS chat, 'a' AS key, 'text' AS kind, 'queued' AS state, 9001 AS turn
               UNION ALL SELECT 'o2', 'b', 'text', 'running', 9002
               UNION ALL SELECT 'o3', 'c', 'text', 'running', 9003
               UNION ALL SELECT 'o4', 'd', 'text', 'queued', NULL
               UNION ALL SELECT 'o4', 'e', 'text', 'queued', NULL
               UNION ALL SELECT 'o4', 'f', 'command', 'queued', NULL);
         INSERT INTO steps (turn, number, text, input_tokens, output_tokens) VALUES
             (9002, 0, 'now', 1, 1), (9003, 0, 'may I', 1, 1);
         INSERT INTO calls (turn, step, ordinal, name, arguments, class, state) VALUES
             (9002, 0, 0, 'exec_shell', '{\"object\":{}}', 'effect', 'started'),
             (9002, 0, 1, 'exec_shell', '{\"object\":{}}', NULL, 'planned'),
             (9003, 0, 0, 'exec_shell', '{\"object\":{}}', NULL, 'waiting');
         INSERT INTO waits (turn, step, ordinal, kind, expires_at) VALUES (9003, 0, 0, 'approval', 99);
         INSERT INTO grants (session, tool, scope) VALUES ('terminal:local:o1', 'exec_shell', 'ls');
         INSERT INTO outbox (channel, account, chat, turn, ordinal, chunk, source, content, state, platform_id,
             created_at)
         SELECT 'terminal', 'local', chat, turn, 0, chunk, source, '{\"text\":\"on its way\"}', state, platform, 1
         FROM (SELECT 'o1' AS chat, NULL AS turn, 0 AS chunk, 'process' AS source, 'pending' AS state,
                      NULL AS platform
               UNION ALL SELECT 'o1', NULL, 1, 'process', 'sending', NULL
               UNION ALL SELECT 'o1', NULL, 2, 'notice', 'pending', NULL
               UNION ALL SELECT 'o2', 9002, 0, 'preview', 'preview', 'p9'
               UNION ALL SELECT 'o5', NULL, 0, 'process', 'unknown', NULL);
         COMMIT;",
    )
    .unwrap();
}

/// Checks that no open work resumes: every message has an outcome, every call a result, and only
/// notices to the chats are pending.
pub(crate) fn assert_nothing_open(log: &Connection) {
    let table = [
        ("inbound", "outcome IS NULL"),
        ("turns", "state IN ('queued', 'running', 'waiting')"),
        ("calls", "state <> 'finished'"),
        ("waits", "resolved = 0"),
        ("grants", "1"),
        ("sessions", "compact_for IS NOT NULL"),
        ("outbox", "state IN ('pending', 'sending', 'unknown', 'preview') AND source <> 'notice'"),
        ("outbox", "state IN ('sending', 'unknown', 'preview')"),
    ];
    for (table, condition) in table {
        let count = format!("SELECT count(*) FROM {table} WHERE {condition}");
        let found: i64 = log.query_row(&count, (), |row| row.get(0)).unwrap();
        assert_eq!(found, 0, "{table} where {condition}");
    }
}

/// Makes a closed log with a past.
pub(crate) async fn fill(directory: &Path, turns: std::ops::Range<u32>) {
    crate::support::open(directory).await.unwrap().close().await;
    add_turns(&Connection::open(directory.join(avocet_store::DATABASE)).unwrap(), turns);
}
