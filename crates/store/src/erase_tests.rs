use std::collections::BTreeSet;
use std::sync::Arc;

use avocet_protocol::store::{Audit, AuditFault, History, WideHistoryQuery};
use avocet_supervise::Group;
use avocet_testkit::ManualClock;
use tempfile::TempDir;

use super::*;
use crate::{Durability, LogHolder, OpenOptions, SqliteStore};

/// One person's data in every table. `@` is a text of that person, `#` the person's number, and `$`
/// that number at the beginning of row numbers.
const PLANTED: &str = r#"
INSERT INTO sessions (id, used_at, summary, title, model) VALUES ('telegram:main:#', 1, '@', '@', 'm'),
    ('task:local:#', 1, NULL, NULL, NULL);
INSERT INTO turns (id, session, state, notice, started_at, recalled, failure)
    VALUES ($1, 'telegram:main:#', 'done', '@', 1, '["@"]', '{"why":"@"}');
INSERT INTO turns (id, session, state, parent, root, prompt, label, started_at)
    VALUES ($2, 'task:local:#', 'done', $1, $1, '@', '@', 1);
INSERT INTO inbound (id, session, channel, account, chat, key, sender, sender_name, kind, content, removed, state,
        outcome, reply, turn, received_at)
    VALUES ($1, 'telegram:main:#', 'telegram', 'main', '#', 'k1', '#', '@',
        'text', '{"text":"@","quote":{"from":"x","text":"@"},"earlier":[{"from":"y","text":"@"}],"forwarded":[{"from":"z","text":"@"}],"quotes":[{"from":"z","text":"@"}],"untrusted":[{"from":"contact","text":"@"}],"attachments":[{"kind":"document","source":{"workspace":"inbox/m$1-0.txt"},"name":"@","transcript":{"said":"@"}}]}',
        0, 'done', 'replied', NULL, $1, 1),
    ($2, 'telegram:main:#', 'telegram', 'main', '#', 'k2', '#', NULL, 'command', '{"text":"/deny w1 @"}', 0, 'done',
        'replied', '@', NULL, 2),
    ($3, 'telegram:main:#', 'telegram', 'main', '#', 'k3', '#', NULL, 'text', '{"text":"@ queued"}', 0, 'queued',
        NULL, NULL, NULL, 2);
INSERT INTO steps (turn, number, text, input_tokens, output_tokens, reasoning, written)
    VALUES ($1, 0, '@', 1, 1, '["@"]', '@');
INSERT INTO calls (turn, step, ordinal, name, arguments, class, state, evidence, ok, result, exact)
    VALUES ($1, 0, 0, 'exec_shell', '{"object":{"command":"@"}}', 'effect', 'finished', '{"seen":"@"}', 1, '"@"', '{"object":{"command":"@"}}'),
    ($1, 0, 1, 'remember', '{"object":{"text":"a memory: @"}}', 'in_log', 'finished', NULL, 1, '"m"', NULL);
INSERT INTO kept_results (handle, session, body) VALUES ('t$1s0c0', 'telegram:main:#', '"@"');
INSERT INTO waits (id, turn, step, ordinal, kind, expires_at, resolved, may_grant, shown, card)
    VALUES ($1, $1, 0, 0, 'approval', 1, 1, '{"scope":"@"}', 'd', '{"what":"@"}');
INSERT INTO grants (session, tool, scope) VALUES ('telegram:main:#', 'exec_shell', '@');
INSERT INTO outbox (id, channel, account, chat, turn, ordinal, chunk, source, content, state, error, created_at)
    VALUES ($1, 'telegram', 'main', '#', $1, 0, 0, 'reply', '{"text":"@"}', 'sent', '@', 1),
    ($2, 'telegram', 'main', '#', NULL, 0, 0, 'notice', '{"text":"@"}', 'sent', NULL, 1),
    ($4, 'telegram', 'main', '#', $1, 1, 0, 'preview', '{"text":"@"}', 'preview', NULL, 1),
    ($5, 'telegram', 'main', '#', $1, 2, 0, 'tool', '{"text":"@","poll":{"options":["@"]}}', 'sent', NULL, 1);
INSERT INTO outbox (id, channel, account, chat, ordinal, chunk, key, source, content, state, created_at)
    VALUES ($3, 'telegram', 'main', '1', 0, 0, 'pair code#', 'notice', '{"text":"@ wants to speak"}', 'sent', 1);
INSERT INTO undelivered (session, said_by, delivery, chat, what, why, unconfirmed, turn)
    VALUES ('telegram:main:#', $1, $1, 'c', '@', '@', 0, $1);
INSERT INTO usage (id, at, session, turn, purpose, model, input, cached, cache_written, output)
    VALUES ($1, 1, 'telegram:main:#', $1, 'answer', 'm', 1, 0, 0, 1);
INSERT INTO failed_requests (turn, began_at, ended_at, purpose, failure) VALUES ($1, 1, 1, 'answer', '{"why":"@"}');
INSERT INTO people VALUES ('telegram', 'main', '#', '@', 'user', 1);
INSERT INTO pairings (code, channel, account, chat, sender, name, created_at, expires_at, message)
    VALUES ('code#', 'telegram', 'main', '#', '#', '@', 1, 9, '{"text":"@"}');
INSERT INTO private_chats VALUES ('telegram', 'main', '#', '#');
INSERT INTO links VALUES ('telegram', 'main', '#', 'telegram:main:#');
INSERT INTO rules (text, scope, added_by, added_at) VALUES ('@', 'person telegram:main:#', 'telegram:main:#', 1),
    ('@', 'chat telegram:main:#', 'host', 1);
INSERT INTO stop_told VALUES ('telegram', 'main', '#', '');
INSERT INTO memories (id, scope, text, words, session, turn, message, said_by, written_at)
    VALUES ($1, 'person telegram:main:#', 'a memory: @', 'a memory @', 'telegram:main:#', $1, $1, 'telegram:main:#', 1),
    ($2, 'everyone', 'told to all: @', 'told to all @', 'telegram:main:#', NULL, NULL, 'telegram:main:#', 1);
INSERT INTO memory_changes (memory, at, author, kind, text_before, trust_before, text_after, trust_after)
    VALUES ($1, 1, 'call t$1s0c1', 'written', NULL, NULL, 'a memory: @', 'full'),
    ($2, 1, 'person telegram:main:#', 'written', 'before: @', 'full', 'told to all: @', 'full');
INSERT INTO memory_vectors VALUES ($1, 'm', 1.0, x'0102');
INSERT INTO consolidations (scope, began_at, state, error) VALUES ('person telegram:main:#', 1, 'failed', '@');
INSERT INTO jobs (session, message, key, rules) VALUES ('job:#', $2, '@', '{"workspace":"@"}');
INSERT INTO reports (session, said_from, chat, text, at, turn) VALUES ('telegram:main:#', 'telegram:main:#', 'c', '@', 1, $1);
INSERT INTO schedules (id, state, reason, channel, account, chat, chat_kind, sender, sender_name, rule, kind, body,
        catch_up, quiet, trust, next_at, made_at)
    VALUES ($1, 'active', '@', 'telegram', 'main', '#', 'private', '#', '@', '{}', 'task', '@', 'once', 0, 'full', 1, 1);
INSERT INTO schedule_runs VALUES ($1, 1, 1, 'queued', 0);
-- A group, in which another person speaks too.
INSERT OR IGNORE INTO sessions (id, used_at, summary) VALUES ('telegram:main:-5', 1, 'SHARED');
INSERT INTO turns (id, session, state, started_at) VALUES ($6, 'telegram:main:-5', 'done', 1);
INSERT INTO inbound (id, session, channel, account, chat, key, sender, sender_name, kind, content, removed, state,
        outcome, turn, received_at, chat_kind)
    VALUES ($6, 'telegram:main:-5', 'telegram', 'main', '-5', 'g#', '#', 'Name#', 'text', '{"text":"@ in the group"}', 0,
        'done', 'replied', $6, 1, 'group');
INSERT INTO steps (turn, number, text, input_tokens, output_tokens) VALUES ($6, 0, '@', 1, 1);
INSERT INTO calls (turn, step, ordinal, name, arguments, class, state, ok, result)
    VALUES ($6, 0, 0, 'exec_shell', '{"object":{"command":"@"}}', 'effect', 'finished', 1, '"@"');
INSERT INTO outbox (id, channel, account, chat, turn, ordinal, chunk, source, content, state, created_at)
    VALUES ($6, 'telegram', 'main', '-5', $6, 0, 0, 'reply', '{"text":"@"}', 'sent', 1);
"#;

/// A message of another person in the group that quotes the erased one.
const QUOTING: &str = r#"
INSERT INTO turns (id, session, state, started_at) VALUES (900, 'telegram:main:-5', 'done', 1);
INSERT INTO inbound (id, session, channel, account, chat, key, sender, kind, content, removed, state, outcome, turn,
        received_at, chat_kind)
    VALUES (900, 'telegram:main:-5', 'telegram', 'main', '-5', 'q', '8', 'text',
        '{"text":"KEEPanswer","quote":{"from":"Name7","text":"GONEquote"},"earlier":[{"from":"Name7","text":"GONEearlier"},{"from":"Name8","text":"KEEPearlier"}]}',
        0, 'done', 'replied', 900, 1, 'group');
"#;

/// Fills the template. Returns the SQL and the number of texts.
fn planted(word: &str, person: i64) -> (String, usize) {
    let mut sql = String::new();
    let mut texts = 0;
    for part in PLANTED.split('@') {
        if texts > 0 {
            sql.push_str(&format!("{word}{texts}x"));
        }
        sql.push_str(part);
        texts += 1;
    }
    (sql.replace(['#', '$'], &person.to_string()), texts - 1)
}

async fn open(directory: &Path) -> SqliteStore {
    let options = OpenOptions {
        directory: directory.to_owned(),
        durability: Durability::Process,
        default_mode: avocet_protocol::bus::QueueMode::Queue,
        answer_edits: false,
        start_empty: false,
        redactor: Arc::default(),
        zone: TimeZone::UTC,
        holder: LogHolder::Command,
    };
    SqliteStore::open(options, Arc::new(ManualClock::default()), &Group::new("test")).await.unwrap()
}

/// Makes a log with the data of persons 7 (`GONE`) and 8 (`KEEP`), and audit rows of both.
async fn make_log(directory: &Path) {
    let store = open(directory).await;
    store.close().await;
    let connection = Connection::open(directory.join(DATABASE)).unwrap();
    for (word, person) in [("GONE", 7), ("KEEP", 8)] {
        connection.execute_batch(&planted(word, person).0).unwrap();
    }
    connection.execute_batch(QUOTING).unwrap();
    drop(connection);
    let store = open(directory).await;
    for person in [7_i64, 8] {
        store
            .write("test", Durability::Process, move |tx| {
                let turn = avocet_protocol::ids::TurnId(person * 10 + 1);
                for ordinal in [0, 1] {
                    let call = avocet_protocol::ids::CallId { turn, step: 0, ordinal };
                    audit::record_started(tx, call, avocet_protocol::tool::ToolClass::Effect)?;
                }
                let turn = avocet_protocol::ids::TurnId(person * 10 + 6);
                let call = avocet_protocol::ids::CallId { turn, step: 0, ordinal: 0 };
                audit::record_started(tx, call, avocet_protocol::tool::ToolClass::Effect)?;
                let id = format!("telegram:main:{person}").parse().unwrap();
                audit::person_removed(tx, &id)
            })
            .await
            .unwrap();
    }
    // The index of past conversations has their words too.
    let query = WideHistoryQuery { words: "queued".to_owned(), limit: 9, sessions: None };
    store.search_all_history(&query).await.unwrap();
    store.close().await;
}

async fn erase(directory: &Path, subject: &EraseSubject) -> Result<ErasedCounts, EraseError> {
    let prepared = prepare(directory, subject).await?;
    let counts = *prepared.counts();
    prepared.commit(Vec::new())?;
    Ok(counts)
}

async fn prepare(directory: &Path, subject: &EraseSubject) -> Result<PreparedErasure, EraseError> {
    let clock = ManualClock::default();
    let lock = DirectoryLock::take_lock(directory, LogHolder::Command, &clock).await.unwrap();
    prepare_erasure(&lock, directory, subject, &Redactor::default(), Timestamp(1000))
}

/// Returns the words in all files of a directory that begin like this, in lower case too, since the
/// indices hold them so.
fn words_left(directory: &Path, word: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if !entry.path().is_file() {
            continue;
        }
        let bytes = fs::read(entry.path()).unwrap();
        for needle in [word.to_owned(), word.to_lowercase()] {
            for at in memchr_all(&bytes, needle.as_bytes()) {
                let rest = &bytes[at + needle.len()..];
                let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let rest = &rest[..digits];
                let place = entry.file_name().to_string_lossy().into_owned();
                found.insert(format!("{place}: {needle}{}", String::from_utf8_lossy(rest)));
            }
        }
    }
    found
}

fn memchr_all(bytes: &[u8], needle: &[u8]) -> Vec<usize> {
    let is_at = |(_, window): &(usize, &[u8])| *window == needle;
    bytes.windows(needle.len()).enumerate().filter(is_at).map(|(at, _)| at).collect()
}

fn person(number: i64) -> EraseSubject {
    EraseSubject::Person(format!("telegram:main:{number}").parse().unwrap())
}

async fn audit_fault(directory: &Path) -> Option<AuditFault> {
    let store = open(directory).await;
    let fault = store.check_audit(None).await.unwrap().fault;
    store.close().await;
    fault
}

#[tokio::test]
async fn erase_person_leaves_no_text_in_any_file_and_keeps_those_of_others() {
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    make_log(path).await;
    fs::write(path.join("avocet.db.before-v25"), "GONE99x").unwrap();
    let texts = planted("KEEP", 8).1;
    assert!(texts >= 40, "{texts}");
    assert!(words_left(path, "GONE").len() >= texts);
    let kept = words_left(path, "KEEP");
    let counts = erase(path, &person(7)).await.unwrap();
    assert_eq!(words_left(path, "GONE"), BTreeSet::new());
    assert_eq!(words_left(path, "telegram:main:7"), BTreeSet::new());
    let left = words_left(path, "KEEP");
    // The next search fills the index of past conversations again.
    let missing: Vec<&String> =
        kept.difference(&left).filter(|word| !word.contains("keep")).collect();
    assert_eq!(missing, Vec::<&String>::new());
    assert_eq!((counts.sessions, counts.messages, counts.replaced), (2, 3, 1));
    assert_eq!((counts.memories, counts.schedules, counts.rules), (2, 1, 2));
    assert_eq!(counts.audit, 4);
    assert_eq!(audit_fault(path).await, None);
    let again = erase(path, &person(7)).await.unwrap_err();
    assert!(matches!(again, EraseError::Unknown), "{again}");
}

#[tokio::test]
async fn erase_session_and_memory_leave_no_text_of_them() {
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    make_log(path).await;
    let is_of_memory = |word: &&String| word.contains("KEEP999");
    let memory = "UPDATE memories SET text = 'the KEEP999x of it' WHERE id = 81;
        UPDATE steps SET text = 'I noted the KEEP999x of it' WHERE turn = 81;
        UPDATE calls SET arguments = '{\"object\":{\"text\":\"the KEEP999x of it\"}}' WHERE turn = 81;";
    Connection::open(path.join(DATABASE)).unwrap().execute_batch(memory).unwrap();
    assert_eq!(words_left(path, "KEEP").iter().filter(is_of_memory).count(), 1);
    let counts = erase(path, &EraseSubject::Memory(MemoryId(81))).await.unwrap();
    assert_eq!((counts.memories, counts.repeated), (1, 3), "{counts:?}");
    assert_eq!(words_left(path, "KEEP").iter().filter(is_of_memory).count(), 0);
    assert_eq!(audit_fault(path).await, None);
    let session = EraseSubject::Session("telegram:main:7".parse().unwrap());
    let counts = erase(path, &session).await.unwrap();
    assert_eq!((counts.sessions, counts.messages, counts.memories), (2, 3, 2));
    let child = EraseSubject::Session("task:local:8".parse().unwrap());
    let refused = erase(path, &child).await.unwrap_err();
    assert!(matches!(refused, EraseError::OfTask), "{refused}");
    assert_eq!(audit_fault(path).await, None);
}

#[tokio::test]
async fn erase_refuses_while_a_shared_turn_works_on_a_message_of_the_person() {
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    make_log(path).await;
    let connection = Connection::open(path.join(DATABASE)).unwrap();
    connection.execute_batch("UPDATE turns SET state = 'waiting' WHERE id = 76").unwrap();
    drop(connection);
    let refused = prepare(path, &person(7)).await.unwrap_err();
    assert!(matches!(refused, EraseError::Busy(_)), "{refused}");
    assert!(words_left(path, "GONE").len() > 40);
    assert!(!path.join("avocet.db.erase-copy").exists());
}

#[tokio::test]
async fn erase_is_finished_at_the_next_start_or_has_not_happened() {
    for is_swapped in [false, true] {
        let directory = TempDir::new().unwrap();
        let path = directory.path();
        make_log(path).await;
        let file = path.join("inbox-file");
        fs::write(&file, "GONEfile").unwrap();
        let prepared = prepare(path, &person(7)).await.unwrap();
        if is_swapped {
            prepared.swap(vec![file.clone()]).unwrap();
        } else {
            let proof = prepared.proof.clone();
            let note = EraseNote { proof, files: vec![file.clone()] };
            note.write(&path.join(DATABASE)).unwrap();
        }
        // The process dies without its destructors.
        std::mem::forget(prepared);
        assert!(file.exists());
        assert_eq!(audit_fault(path).await, None);
        assert_eq!(file.exists(), !is_swapped);
        assert_eq!(words_left(path, "GONE").is_empty(), is_swapped);
        for name in ["avocet.db-erase", "avocet.db.erased", "avocet.db.erase-copy"] {
            assert!(!path.join(name).exists(), "{name}");
        }
    }
}

/// Rows of the first version of the chain lose their text too, and stay proven.
#[tokio::test]
async fn erase_keeps_a_chain_of_the_old_version_valid() {
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    make_log(path).await;
    audit::testing::make_chain_old(&path.join(DATABASE));
    assert_eq!(audit_fault(path).await, None);
    erase(path, &person(7)).await.unwrap();
    assert_eq!(audit_fault(path).await, None);
    erase(path, &EraseSubject::Session("telegram:main:8".parse().unwrap())).await.unwrap();
    assert_eq!(audit_fault(path).await, None);
    let tamper = "UPDATE audit SET outcome = 'ok' WHERE version = 1 AND seals IS NOT NULL";
    Connection::open(path.join(DATABASE)).unwrap().execute_batch(tamper).unwrap();
    assert!(matches!(audit_fault(path).await, Some(AuditFault::Unproven(_))));
}

/// Each table with the columns that hold text. A new one has to be handled by `erase`, and then to be
/// added here.
const HANDLED: [(&str, &str); 39] = [
    ("audit", "actor call digest hash kind outcome previous salt seals session summary tool"),
    ("calls", "allowed arguments class evidence exact name result result_kind state trust"),
    ("consolidations", "error scope state"),
    ("cursors", "account channel position scope"),
    ("events", "kind session"),
    ("failed_requests", "failure purpose"),
    ("grants", "scope session tool"),
    ("history_mark", ""),
    ("history_pending", ""),
    ("ignored", "account channel reason"),
    (
        "inbound",
        "account channel chat chat_kind content corrects digest key kind outcome reply sender sender_name session state topic trust",
    ),
    ("jobs", "key rules session"),
    ("kept_results", "body handle session"),
    ("last_numbers", "name"),
    ("links", "account channel chat session"),
    ("memories", "said_by scope session state text trust words"),
    ("memory_changes", "author kind text_after text_before trust_after trust_before"),
    ("memory_vectors", "model vector"),
    ("meta", "id rolled_back was"),
    (
        "outbox",
        "account channel chat content digest error key nonce platform_id source state topic",
    ),
    ("pairings", "account channel chat code decision message name role sender"),
    ("people", "account channel name role sender"),
    ("private_chats", "account channel chat sender"),
    ("reports", "chat said_from session text trust"),
    ("rules", "added_by removed_by scope text"),
    ("schedule_runs", "result"),
    (
        "schedules",
        "account agent body catch_up channel chat chat_kind key kind name reason rule sender sender_name sender_roles state topic trust",
    ),
    (
        "sessions",
        "agent branch_of effort id mode model permission_mode summary summary_trust title voice",
    ),
    ("steps", "ending reasoning text trust written"),
    ("stop_all", "stopped_by stopped_in"),
    ("stop_told", "account channel chat topic"),
    ("subscribers", "name"),
    ("turns", "failure label notice prompt prompt_trust recalled session state"),
    ("undelivered", "chat session trust what why"),
    ("usage", "model purpose session"),
    ("usage_days", ""),
    ("usage_mark", ""),
    ("usage_sessions", "session"),
    ("waits", "card kind may_grant shown"),
];

#[tokio::test]
async fn erase_handles_every_column_with_text() {
    let directory = TempDir::new().unwrap();
    open(directory.path()).await.close().await;
    let connection = Connection::open(directory.path().join(DATABASE)).unwrap();
    let mut statement = connection
        .prepare(
            "SELECT name, coalesce((SELECT group_concat(column, ' ') FROM \
                 (SELECT name AS column FROM pragma_table_info(tables.name) \
                     WHERE type IN ('TEXT', 'BLOB', 'ANY') ORDER BY name)), '') \
             FROM sqlite_schema AS tables WHERE type = 'table' AND name NOT LIKE 'sqlite_%' \
                 AND name NOT LIKE 'memories\\_index%' ESCAPE '\\' AND name <> 'memories_words' \
                 AND name NOT LIKE 'history\\_index%' ESCAPE '\\' ORDER BY name",
        )
        .unwrap();
    let tables = statement
        .query_map((), |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
        .unwrap();
    let tables: Vec<(String, String)> = tables.map(Result::unwrap).collect();
    let handled = HANDLED.map(|(table, columns)| (table.to_owned(), columns.to_owned()));
    assert_eq!(tables, handled);
}
