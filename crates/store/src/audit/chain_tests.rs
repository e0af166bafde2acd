use avocet_protocol::turn::AnswerEnding;
use std::path::Path;
use std::sync::Arc;

use avocet_protocol::access::{PersonId, Trust};
use avocet_protocol::chat::{Content, Inbound, InboundKind, NewInbound, Sender};
use avocet_protocol::ids::CallId;
use avocet_protocol::model::{Arguments, ToolCall, Usage};
use avocet_protocol::store::{Claim, Inbox, NewStep, Suspects, TurnLog, Turns};
use avocet_protocol::tool::ToolClass;
use avocet_supervise::Group;
use avocet_testkit::ManualClock;
use avocet_text::{Redactor, Secret};
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::audit::person_removed;
use crate::{DATABASE, Durability, LogHolder, OpenOptions};

async fn open(directory: &Path) -> SqliteStore {
    let options = OpenOptions {
        directory: directory.to_owned(),
        durability: Durability::Process,
        default_mode: avocet_protocol::bus::QueueMode::Queue,
        answer_edits: false,
        start_empty: false,
        redactor: Arc::new(Redactor::new([Secret::new("correct horse".to_owned())])),
        zone: jiff::tz::TimeZone::UTC,
        holder: LogHolder::Daemon,
    };
    SqliteStore::open(options, Arc::new(ManualClock::default()), &Group::new("test")).await.unwrap()
}

/// Starts calls with these arguments.
async fn start_calls(store: &SqliteStore, arguments: &[serde_json::Value]) {
    let session = SessionId::parse("terminal:local:a").unwrap();
    let sender = Sender::new("user".parse().unwrap());
    let content = Content::text("go");
    let inbound = Inbound::new(session.address(), sender, "1".parse().unwrap(), content);
    let (kind, removed) = (InboundKind::Text, 0);
    let message =
        NewInbound { session: session.clone(), kind, inbound, removed, trust: Trust::Full };
    store.accept(&message, None).await.unwrap();
    let claim = store.claim(&session, Suspects::Include, std::time::Duration::ZERO).await.unwrap();
    let Claim::Turn(claimed) = claim else { panic!("{claim:?}") };
    let turn = claimed.turn.id;
    let call = |arguments: &serde_json::Value| ToolCall {
        name: "shell".to_owned(),
        arguments: Arguments::Object(arguments.as_object().unwrap().clone()),
    };
    let calls = arguments.iter().map(call).collect();
    let step = NewStep {
        number: 0,
        text: String::new(),
        ending: AnswerEnding::Complete,
        calls,
        written: None,
        reasoning: None,
        usage: Usage::default(),
        trust: Trust::Full,
        spent: Vec::new(),
    };
    store.record_step(turn, &step).await.unwrap();
    for (ordinal, _) in (0..).zip(arguments) {
        store.start_call(CallId { turn, step: 0, ordinal }, ToolClass::Effect, None).await.unwrap();
    }
}

/// Tampers with a chain of five rows and returns the fault found with the head noted before.
async fn fault_after(tamper: &str) -> Option<AuditFault> {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path()).await;
    start_calls(&store, &[(); 5].map(|()| json!({ "command": "ls" }))).await;
    let noted = store.audit_head().await.unwrap().unwrap();
    let other = Connection::open(directory.path().join(DATABASE)).unwrap();
    other.execute_batch(tamper).unwrap();
    let alone = store.check_audit(None).await.unwrap().fault;
    let with_head = store.check_audit(Some(&noted)).await.unwrap().fault;
    assert_eq!(alone.is_some(), with_head.is_some(), "{tamper}");
    alone
}

#[tokio::test]
async fn check_audit_reports_the_place_of_every_change_of_rows() {
    let changed = |row| Some(AuditFault::Changed(row));
    let missing = |first, last| Some(AuditFault::Missing { first, last });
    let cut = |last| Some(AuditFault::Cut { last, known: 5 });
    let columns = "at, kind, session, turn, call, actor, tool, digest, summary, outcome, previous, hash, \
         version, salt, seals";
    for column in columns.split(", ") {
        let value = if matches!(column, "at" | "turn" | "version") { "99" } else { "'99'" };
        let tamper = format!("UPDATE audit SET {column} = {value} WHERE sequence = 3");
        assert_eq!(fault_after(&tamper).await, changed(3), "{tamper}");
    }
    let copy = |to: &str| {
        format!("INSERT INTO audit SELECT {to}, {columns} FROM audit WHERE sequence = 2")
    };
    let table = [
        ("SELECT 1".to_owned(), None),
        ("DELETE FROM audit WHERE sequence = 1".to_owned(), missing(1, 1)),
        ("DELETE FROM audit WHERE sequence IN (2, 3)".to_owned(), missing(2, 3)),
        ("DELETE FROM audit WHERE sequence = 5".to_owned(), cut(4)),
        ("DELETE FROM audit".to_owned(), cut(0)),
        // Rows 2 and 3 swapped.
        (
            "UPDATE audit SET sequence = 99 WHERE sequence = 2;
             UPDATE audit SET sequence = 2 WHERE sequence = 3;
             UPDATE audit SET sequence = 3 WHERE sequence = 99"
                .to_owned(),
            changed(2),
        ),
        (copy("6"), changed(6)),
        (copy("0"), changed(0)),
        (copy("-7"), changed(-7)),
        ("UPDATE audit SET turn = NULL, call = 't1' WHERE sequence = 1".to_owned(), changed(1)),
    ];
    for (tamper, expected) in table {
        assert_eq!(fault_after(&tamper).await, expected, "{tamper}");
    }
}

/// Rewrites the chain from a row on, like an attacker with knowledge of the hash function.
fn forge(path: &Path, from: i64) {
    let connection = Connection::open(path).unwrap();
    let db = Db { connection: &connection, path };
    let (rows, _) = read_page(db, i64::MIN).unwrap();
    let mut previous = NOTHING.to_owned();
    for mut stored in rows {
        if stored.row.sequence >= from {
            stored.row.summary = "nothing to see".to_owned();
            stored.row.previous = previous;
            let Some(RowProof::OwnHash(hash)) = stored.proof() else { panic!("{stored:?}") };
            stored.row.hash = hash;
            let row = &stored.row;
            connection
                .execute(
                    "UPDATE audit SET summary = ?2, previous = ?3, hash = ?4 WHERE sequence = ?1",
                    params![row.sequence, row.summary, row.previous, row.hash],
                )
                .unwrap();
        }
        previous = stored.row.hash;
    }
}

/// Gives all rows the hash of the first version, as an older program wrote them.
pub(crate) fn make_chain_old(path: &Path) {
    let connection = Connection::open(path).unwrap();
    let db = Db { connection: &connection, path };
    let (rows, _) = read_page(db, i64::MIN).unwrap();
    let mut previous = NOTHING.to_owned();
    for mut stored in rows {
        (stored.version, stored.salt) = (1, None);
        stored.row.previous = previous;
        let Some(RowProof::OwnHash(hash)) = stored.proof() else { panic!("{stored:?}") };
        connection
            .execute(
                "UPDATE audit SET version = 1, salt = NULL, previous = ?2, hash = ?3 \
                 WHERE sequence = ?1",
                params![stored.row.sequence, stored.row.previous, hash],
            )
            .unwrap();
        previous = hash;
    }
}

#[tokio::test]
async fn check_audit_reports_a_rewritten_chain_by_a_noted_head() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path()).await;
    start_calls(&store, &[(); 3].map(|()| json!({}))).await;
    let noted = store.audit_head().await.unwrap().unwrap();
    let path = directory.path().join(DATABASE);
    forge(&path, 2);
    assert_eq!(store.check_audit(None).await.unwrap().fault, None);
    let rewritten = Some(AuditFault::Rewritten(3));
    assert_eq!(store.check_audit(Some(&noted)).await.unwrap().fault, rewritten);
}

#[tokio::test]
async fn check_audit_reports_a_row_of_another_chain_as_unlinked() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path()).await;
    start_calls(&store, &[(); 3].map(|()| json!({}))).await;
    let path = directory.path().join(DATABASE);
    let filter = AuditFilter { limit: 9, ..AuditFilter::default() };
    let last = store.audit_rows(&filter).await.unwrap().pop().unwrap();
    forge(&path, 1);
    // The last row has its old content again, as from a copy of the database.
    let other = Connection::open(&path).unwrap();
    let put_back = "UPDATE audit SET summary = ?1, previous = ?2, hash = ?3 WHERE sequence = 3";
    other.execute(put_back, [last.summary, last.previous, last.hash]).unwrap();
    let fault = store.check_audit(None).await.unwrap().fault;
    assert_eq!(fault, Some(AuditFault::Unlinked(3)));
}

#[tokio::test]
async fn check_audit_reports_a_cut_end_as_a_gap_after_new_rows() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path()).await;
    start_calls(&store, &[json!({}), json!({})]).await;
    let other = Connection::open(directory.path().join(DATABASE)).unwrap();
    other.execute("DELETE FROM audit WHERE sequence = 2", ()).unwrap();
    let person: PersonId = "telegram:main:8".parse().unwrap();
    let write = store.write("test", Durability::Process, move |tx| person_removed(tx, &person));
    write.await.unwrap();
    let fault = store.check_audit(None).await.unwrap().fault;
    assert_eq!(fault, Some(AuditFault::Missing { first: 2, last: 2 }));
}

#[tokio::test]
async fn audit_summary_of_arguments_is_redacted_and_short() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path()).await;
    let arguments = [
        json!({ "header": "correct horse" }),
        json!({ "token": "ghp_0123456789012345678901234567890123456789" }),
        json!({ "content": "é".repeat(500) }),
    ];
    start_calls(&store, &arguments).await;
    let filter = AuditFilter { limit: 9, ..AuditFilter::default() };
    let rows = store.audit_rows(&filter).await.unwrap();
    let said: Vec<&str> = rows.iter().map(|row| row.summary.as_str()).collect();
    assert_eq!(said[..2], [r#"{"header":"[secret]"}"#, r#"{"token":"[secret]"}"#]);
    assert_eq!(said[2].chars().count(), AuditRow::SUMMARY);
    let digests: Vec<&String> = rows.iter().filter_map(|row| row.digest.as_ref()).collect();
    assert_eq!(digests[0], &in_hexadecimal(&Sha256::digest(arguments[0].to_string())));
}

#[tokio::test]
async fn check_audit_accepts_rows_that_were_appended_together() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path()).await;
    let person: PersonId = "telegram:main:8".parse().unwrap();
    let writes = (0..300).map(|_| {
        let person = person.clone();
        store.write("test", Durability::Process, move |tx| person_removed(tx, &person))
    });
    let done = futures_util::future::join_all(writes).await;
    assert!(done.iter().all(Result::is_ok));
    let check = store.check_audit(None).await.unwrap();
    assert_eq!((check.rows, check.fault), (300, None));
}

/// A restored copy has fewer rows than the database that it replaces. The row of the roll-back
/// explains the missing numbers, unless a head among them was noted outside of the database.
#[tokio::test]
async fn check_audit_accepts_a_gap_that_a_roll_back_explains() {
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    let store = open(path).await;
    start_calls(&store, &[json!({}), json!({})]).await;
    store.close().await;
    let (file, now) = (path.join("copy.db"), Timestamp(1_767_300_000_000));
    crate::back_up(path, &file, now, &crate::CancelCopy::default()).unwrap();
    let clock = ManualClock::default();
    let lock = crate::DirectoryLock::take_lock(path, LogHolder::Command, &clock).await.unwrap();
    let (redactor, audit_head) = (Redactor::default(), Some(9));
    let replace = crate::LogReplacement {
        directory: path,
        lock: &lock,
        audit_head,
        redactor: &redactor,
        now,
    };
    replace.restore_copy(&file).unwrap();
    drop(lock);
    let store = open(path).await;
    let last = store.audit_head().await.unwrap().unwrap();
    assert!(last.sequence > 9, "{last:?}");
    assert_eq!(store.check_audit(None).await.unwrap().fault, None);
    assert_eq!(store.check_audit(Some(&last)).await.unwrap().fault, None);
    let lost = AuditHead { sequence: 9, hash: "0".repeat(64) };
    let fault = store.check_audit(Some(&lost)).await.unwrap().fault;
    assert!(matches!(fault, Some(AuditFault::Missing { last: 9, .. })), "{fault:?}");
    // Without that row, the gap is a fault.
    let log = Connection::open(path.join(DATABASE)).unwrap();
    log.execute("DELETE FROM audit WHERE kind = 'rolled-back'", ()).unwrap();
    let fault = store.check_audit(None).await.unwrap().fault;
    assert!(matches!(fault, Some(AuditFault::Missing { .. })), "{fault:?}");
}
