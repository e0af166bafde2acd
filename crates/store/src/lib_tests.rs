use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use avocet_protocol::bus::QueueMode;
use avocet_protocol::chat::Cursor;
use avocet_protocol::store::{Inbox, Memories, Outbox, Query, ScopeFilter, StoreError};
use avocet_supervise::Group;
use avocet_testkit::ManualClock;
use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::tx::{Result, Tx};

async fn open(directory: &Path, durability: Durability) -> SqliteStore {
    let options = OpenOptions {
        directory: directory.to_owned(),
        durability,
        default_mode: QueueMode::Queue,
        answer_edits: false,
        start_empty: false,
        redactor: Arc::default(),
        zone: jiff::tz::TimeZone::UTC,
        holder: LogHolder::Daemon,
    };
    let clock = Arc::new(ManualClock::default());
    SqliteStore::open(options, clock, &Group::new("test")).await.unwrap()
}

fn remember(tx: &Tx<'_>, text: &str) -> Result<()> {
    tx.insert(
        "INSERT INTO memories (scope, text, words, written_at) VALUES ('everyone', ?1, ?1, 0)",
        [text],
    )
    .map(|_| ())
}

async fn memories(store: &SqliteStore) -> Vec<String> {
    let found = store.search_memories(&ScopeFilter::All, "", 99).await.unwrap();
    found.into_iter().map(|found| found.memory.text).collect()
}

/// Queues these writes before the writer looks, so that they share a transaction.
async fn together(store: &SqliteStore, writes: &[fn(&Tx<'_>) -> Result<()>]) -> Vec<Result<()>> {
    let (go, gate) = flume::bounded(1);
    let hold = store.write("hold", Durability::Process, move |_| {
        gate.recv().unwrap_or_default();
        Ok(())
    });
    let writes = writes.iter().map(|write| store.write("test", Durability::Process, *write));
    let writes = futures_util::future::join_all(writes);
    let release = async { go.send_async(()).await.unwrap() };
    let (held, done, ()) = tokio::join!(hold, writes, release);
    held.unwrap();
    done
}

#[tokio::test]
async fn write_failure_or_panic_leaves_other_writes_of_the_transaction_intact() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path(), Durability::Synced).await;
    let done = together(
        &store,
        &[
            |tx| remember(tx, "first"),
            |tx| {
                remember(tx, "taken back")?;
                Err(StoreError::Stale("it".to_owned()))
            },
            |tx| {
                remember(tx, "taken back too")?;
                panic!("a bug")
            },
            |tx| remember(tx, "last"),
        ],
    )
    .await;
    let stale = Err(StoreError::Stale("it".to_owned()));
    let panicked = Err(StoreError::Internal("test panicked".to_owned()));
    assert_eq!(done, [Ok(()), stale, panicked, Ok(())]);
    assert_eq!(memories(&store).await, ["last", "first"]);
}

/// Limits the size of the file in SQLite, in place of a full disk.
async fn limit_pages(store: &SqliteStore, more: u32) {
    let limit = store.write("limit", Durability::Process, move |tx| {
        let pages: u32 = tx.db.query_one("PRAGMA page_count", (), |row| row.get(0))?;
        let limit = format!("PRAGMA max_page_count = {}", pages + more);
        tx.db.query_one(&limit, (), |row| row.get::<_, u32>(0)).map(|_| ())
    });
    limit.await.unwrap();
}

#[tokio::test]
async fn write_to_a_full_disk_fails_and_succeeds_once_there_is_room() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path(), Durability::Synced).await;
    let large: fn(&Tx<'_>) -> Result<()> = |tx| remember(tx, &"x".repeat(1_000_000));
    limit_pages(&store, 20).await;
    let done = together(&store, &[|tx| remember(tx, "before"), large]).await;
    let full = StoreError::Full { path: directory.path().join(DATABASE).display().to_string() };
    assert_eq!(done[1], Err(full));
    let kept = if done[0].is_ok() { vec!["before".to_owned()] } else { Vec::new() };
    assert_eq!(memories(&store).await, kept, "every write that returned success is in the log");
    limit_pages(&store, 10_000).await;
    store.write("test", Durability::Process, large).await.unwrap();
    assert_eq!(memories(&store).await.len(), kept.len() + 1);
}

#[tokio::test]
async fn write_is_synced_if_both_the_write_and_the_configuration_require_it() {
    let table = [
        (Durability::Synced, Durability::Synced, 2),
        (Durability::Synced, Durability::Process, 1),
        (Durability::Process, Durability::Synced, 1),
    ];
    for (configured, wanted, expected) in table {
        let directory = TempDir::new().unwrap();
        let store = open(directory.path(), configured).await;
        let synchronous = store.write("test", wanted, |tx| {
            tx.db.query_one("PRAGMA synchronous", (), |row| row.get::<_, i64>(0))
        });
        assert_eq!(synchronous.await, Ok(expected), "{configured:?} {wanted:?}");
    }
}

#[tokio::test]
async fn migrate_makes_a_copy_before_it_changes_the_database() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path(), Durability::Synced).await;
    store.write("test", Durability::Process, |tx| remember(tx, "old")).await.unwrap();
    store.close().await;
    let path = directory.path().join(DATABASE);
    let now = i64::try_from(schema::MIGRATIONS.len()).unwrap() + 1;
    let script = "ALTER TABLE memories ADD COLUMN mood TEXT";
    let with = |script| schema::MIGRATIONS.iter().copied().chain([script]).collect::<Vec<_>>();
    let version = |connection: &Connection| -> i64 {
        connection.query_row("PRAGMA user_version", (), |row| row.get(0)).unwrap()
    };

    let broken = with("ALTER TABLE nothing ADD COLUMN mood TEXT");
    let mut connection = Connection::open(&path).unwrap();
    migrate::migrate_log(&mut connection, &path, &broken).unwrap_err();
    assert_eq!(version(&connection), now, "a migration that fails changes nothing");

    migrate::migrate_log(&mut connection, &path, &with(script)).unwrap();
    assert_eq!(version(&connection), now + 1);
    connection.execute("UPDATE memories SET mood = 'good'", ()).unwrap();
    let copy =
        Connection::open(directory.path().join(format!("avocet.db.before-v{}", now + 1))).unwrap();
    assert_eq!(version(&copy), now);
    let text: String = copy.query_row("SELECT text FROM memories", (), |row| row.get(0)).unwrap();
    assert_eq!(text, "old");
}

/// Returns tables with their columns, indices, triggers, views and `AUTOINCREMENT`, as SQLite reports
/// them.
fn shape(connection: &Connection) -> BTreeSet<String> {
    let texts = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let columns = texts(
        "SELECT schema.name || '.' || info.name || ' ' || info.type || ' ' || info.\"notnull\" || ' ' \
             || coalesce(info.dflt_value, '') || ' ' || info.pk \
         FROM sqlite_schema AS schema, pragma_table_info(schema.name) AS info \
         WHERE schema.type = 'table'",
    );
    let rest = texts(
        "SELECT sql FROM sqlite_schema WHERE type IN ('index', 'trigger', 'view') AND sql IS NOT NULL",
    );
    let counted =
        texts("SELECT 'counted ' || name FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%'");
    columns.into_iter().chain(rest).chain(counted).collect()
}

/// Returns the tables of a turn for whose new rows SQLite builds temporary tables.
fn slow_tables(connection: &Connection) -> Vec<&'static str> {
    let opens_temporary_table = |table: &str| {
        let columns = format!("SELECT count(*) FROM pragma_table_info('{table}')");
        let columns: usize = connection.query_row(&columns, (), |row| row.get(0)).unwrap();
        let nulls = vec!["NULL"; columns].join(", ");
        let mut plan =
            connection.prepare(&format!("EXPLAIN INSERT INTO {table} VALUES ({nulls})")).unwrap();
        let mut steps = plan.query_map((), |row| row.get::<_, String>("opcode")).unwrap();
        steps.any(|step| step.unwrap() == "OpenEphemeral")
    };
    let tables = ["sessions", "turns", "inbound", "steps", "calls", "outbox", "usage"];
    tables.into_iter().filter(|table| opens_temporary_table(table)).collect()
}

#[tokio::test]
async fn migrate_gives_a_database_of_version_1_the_current_schema() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join(DATABASE);
    {
        let old = Connection::open(&path).unwrap();
        old.execute_batch(include_str!("migrations/schema_v1.sql")).unwrap();
        old.pragma_update(None, "application_id", schema::APPLICATION_ID).unwrap();
        old.pragma_update(None, "user_version", 1).unwrap();
        old.execute_batch(
            "INSERT INTO cursors VALUES ('telegram', 'main', '17');
             INSERT INTO sessions (id, used_at) VALUES ('telegram:main:7', 1);
             INSERT INTO turns (id, session, state, started_at) \
                 VALUES (1, 'telegram:main:7', 'done', 1);
             INSERT INTO notes (text, turn, written_at) VALUES ('東京 is a city', 1, 1), ('a key', NULL, 1);
             INSERT INTO inbound (session, channel, account, chat, key, sender, kind, content, removed, state, \
                 outcome, turn, received_at) VALUES ('telegram:main:7', 'telegram', 'main', '7', 'k', '7', 'text', \
                 '{\"text\":\"\"}', 0, 'done', 'replied', 1, 1),
                 ('telegram:main:7', 'telegram', 'main', '7', 'retried 2', '7', 'text', '{\"text\":\"\"}', 0, \
                 'done', 'error', 1, 1),
                 ('telegram:main:7', 'telegram', 'main', '7', 'retried 9', '7', 'text', '{\"text\":\"\"}', 0, \
                 'done', 'replied', 1, 1);
             INSERT INTO steps (turn, number, text, input_tokens, output_tokens) VALUES
                 (1, 0, '', 1, 1), (1, 1, 'a [The answer was cut off: it reached its output limit.] b', 1, 1),
                 (1, 2, '', 1, 1), (1, 3, 'half\n\n[The answer was cut off: it reached its output limit.]', 1, 1),
                 (1, 4, 'half\n\n[A filter of the model''s provider ended the answer here.]', 1, 1);
             INSERT INTO kept_results (handle, session, body) VALUES ('t1s0c4', 'telegram:main:7', '1');
             INSERT INTO calls (turn, step, ordinal, name, arguments, state, ok, result) VALUES
                 (1, 0, 0, 'use_skill', '{}', 'finished', 1, '\"[skill review]\\n\\nbody\"'),
                 (1, 0, 1, 'read_file', '{}', 'finished', 1, '\"see [skill review]\"'),
                 (1, 0, 2, 'use_skill', '{}', 'finished', 0, '\"[skill review]\"'),
                 (1, 0, 3, 'use_skill', '{}', 'planned', NULL, NULL),
                 (1, 0, 4, 'list', '{}', 'finished', 1, '[]'),
                 (1, 0, 5, 'look', '{}', 'finished', 1,
                     '\"the program that asked runs this call; its result comes with the next message\"'),
                 (1, 0, 6, 'post', '{}', 'finished', 0, '{\"error\":\"denied by the owner; the reason: no\"}'),
                 (1, 0, 7, 'post', '{}', 'finished', 0, '{\"error\":\"denied: no approval came in time\"}'),
                 (1, 0, 8, 'post', '{}', 'finished', 0, '{\"error\":\"permission denied: no\"}'),
                 (1, 0, 9, 'post', '{}', 'finished', 0, '{\"error\":\"Permission denied (publickey)\"}'),
                 (1, 0, 10, 'post', '{}', 'finished', 0, '{\"error\":\"this call was made twice before in this \
                     turn, with the same result, so it is not repeated.\"}'),
                 (1, 0, 11, 'post', '{}', 'finished', 0, '{\"error\":\"interrupted, outcome unknown\"}'),
                 (1, 0, 12, 'job_branch', '{}', 'finished', 1,
                     '{\"branch\":null,\"note\":\"no branch: git is not installed\"}'),
                 (1, 2, 0, 'say_held_answer',
                     '{\"text\":\"half\\n\\n[The answer was cut off: it reached its output limit.]\"}',
                     'planned', NULL, NULL);
             INSERT INTO outbox (channel, account, chat, turn, ordinal, chunk, source, content, \
                 state, created_at) \
                 VALUES ('telegram', 'main', '7', 1, 0, 0, 'reply', '{\"text\":\"kept\"}', 'pending', 1),
                     ('telegram', 'main', '7', 1, 1, 0, 'prompt', \
                     '{\"text\":\"Still waiting for a decision:\\nmay I?\"}', 'sent', 1);
             INSERT INTO waits (id, turn, step, ordinal, kind, expires_at, resolved) VALUES
                 (1, 1, 0, 3, 'approval', 1, 0), (2, 1, 0, 11, 'choice', 1, 1);",
        )
        .unwrap();
    }
    let looking = SqliteStore::open_read_only(directory.path(), &Group::new("test"));
    assert!(
        matches!(looking, Err(OpenError::Older { found: 1, .. })),
        "who only looks changes nothing"
    );
    let store = open(directory.path(), Durability::Synced).await;
    let [channel, account] = ["telegram", "main"];
    let cursors = store.cursors(&channel.parse().unwrap(), &account.parse().unwrap()).await;
    let cursor = Cursor { scope: String::new(), position: "17".to_owned() };
    assert_eq!(cursors, Ok(vec![cursor]));
    let head = store.head(&"telegram:main:7".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(head.delivery.content.text, "kept");
    assert_eq!(head.delivery.nonce, "o1", "the platform may have seen it under the old nonce");
    for (query, scope) in [("東京", "person telegram:main:7"), ("key", "everyone")] {
        let found = store.search_memories(&ScopeFilter::All, query, 9).await.unwrap();
        let scopes: Vec<_> = found.iter().map(|found| found.memory.scope.to_string()).collect();
        assert_eq!(scopes, [scope]);
        let id = Some(found[0].memory.id);
        assert_eq!(store.memory_changes(&ScopeFilter::All, id, 9).await.unwrap().len(), 1);
    }
    store.close().await;

    let new = TempDir::new().unwrap();
    open(new.path(), Durability::Synced).await.close().await;
    let databases = [directory, new];
    let [migrated, new] = databases
        .each_ref()
        .map(|directory| Connection::open(directory.path().join(DATABASE)).unwrap());
    assert_eq!(shape(&migrated), shape(&new));
    for (marked, expected) in [
        ("SELECT group_concat(ordinal) FROM calls WHERE is_skill = 1", "0"),
        ("SELECT group_concat(id) FROM inbound WHERE is_copied = 1", "2"),
        (
            "SELECT group_concat(ordinal || ' ' || result_kind) FROM calls WHERE result_kind <> 'usual'",
            "4 cut,5 sent_to_program,6 denied,7 denied,8 refused,10 repeated,11 outcome_unknown",
        ),
        (
            "SELECT group_concat(number || ' ' || ending) FROM steps WHERE ending <> 'complete'",
            "2 cut_off,3 cut_off,4 filtered",
        ),
        ("SELECT group_concat(id) FROM waits WHERE is_reminded = 1", "1"),
        (
            "SELECT result FROM calls WHERE name = 'job_branch'",
            "{\"branch\":null,\"note\":\"git is not installed\"}",
        ),
    ] {
        let rows: String = migrated.query_row(marked, (), |row| row.get(0)).unwrap();
        assert_eq!(rows, expected, "{marked}");
    }
    assert_eq!([slow_tables(&migrated), slow_tables(&new)], [[""; 0]; 2]);
}

#[tokio::test]
async fn close_of_the_last_handle_leaves_an_empty_wal() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path(), Durability::Synced).await;
    store.write("test", Durability::Process, |tx| remember(tx, "kept")).await.unwrap();
    assert_eq!(store.log_status().await.unwrap().epoch, 1);
    store.close().await;
    let connection = Connection::open(directory.path().join(DATABASE)).unwrap();
    let kept: i64 =
        connection.query_row("SELECT count(*) FROM memories", (), |row| row.get(0)).unwrap();
    assert_eq!(kept, 1);
    let wal = directory.path().join("avocet.db-wal");
    assert_eq!(
        wal.metadata().map_or(0, |wal| wal.len()),
        0,
        "close moves the -wal into the database"
    );
}
