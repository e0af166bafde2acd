//! Tests of the deletion of a conversation.

use avocet_protocol::chat::SessionId;
use avocet_protocol::store::{DeletedSession, SessionDeletion, SessionWork, SessionsAtWork};
use rusqlite::Connection;

use crate::retaining::{count, opened};

fn session(id: &str) -> SessionId {
    id.parse().unwrap()
}

#[tokio::test]
async fn delete_session_deletes_everything_but_audit_memories_and_costs() {
    let (_directory, store, log) = opened(1..121).await;
    let others = "
        INSERT INTO sessions (id, used_at) VALUES ('terminal:local:other', 1);
        INSERT INTO turns (id, session, state, started_at, ended_at) \
            VALUES (500, 'terminal:local:other', 'done', 1, 1);
        INSERT INTO inbound (id, session, channel, account, chat, key, sender, kind, content, removed, \
            state, outcome, received_at) VALUES (501, 'terminal:local:s', 'terminal', 'local', 's', \
            'new', 'u1', 'command', '{}', 0, 'done', 'replied', 1);
        INSERT INTO outbox (channel, account, chat, ordinal, chunk, source, content, state, created_at) \
            VALUES ('terminal', 'local', 's', 0, 0, 'notice', '{}', 'sent', 1),
                ('terminal', 'local', 'other', 0, 0, 'notice', '{}', 'sent', 1);
        INSERT INTO failed_requests (turn, began_at, ended_at, purpose, failure) \
            VALUES (7, 1, 2, 'answer', '{}');";
    log.execute_batch(others).unwrap();
    // An event from before the first message of the chat.
    run(&log, "INSERT INTO events (kind, session) VALUES ('delivery.sent', 'terminal:local:s')");
    // It is never sent.
    run(&log, "UPDATE outbox SET state = 'pending' WHERE turn = 7");
    let deleted = store.delete_session(&session("terminal:local:s")).await.unwrap();
    assert_eq!(deleted, DeletedSession::Deleted { turns: 120 });
    for table in
        ["inbound", "steps", "calls", "failed_requests", "kept_results", "waits", "usage_sessions"]
    {
        assert_eq!(count(&log, table), 0, "{table}");
    }
    for table in ["audit", "memories", "usage"] {
        assert_eq!(count(&log, table), 120, "{table}");
    }
    assert_eq!(count(&log, "usage WHERE session IS NOT NULL"), 0);
    assert_eq!(count(&log, "events WHERE session = 'terminal:local:s'"), 0);
    let of_session = "events JOIN sessions ON sessions.short_id = events.session";
    assert!(count(&log, &format!("{of_session} WHERE id = 'terminal:local:other'")) > 0);
    assert_eq!(count(&log, &format!("{of_session} WHERE id = 'terminal:local:s'")), 0);
    let unknown = "typeof(session) = 'integer' AND session NOT IN (SELECT short_id FROM sessions)";
    assert_eq!(count(&log, &format!("events WHERE {unknown}")), 0, "no number is left behind");
    assert_eq!((count(&log, "turns"), count(&log, "outbox")), (1, 1), "another conversation");
    assert_eq!(count(&log, "sessions WHERE id NOT LIKE 'child:%'"), 1);
    assert_eq!(count(&log, "pragma_foreign_key_check"), 0);
    let again = store.delete_session(&session("terminal:local:s")).await.unwrap();
    assert_eq!(again, DeletedSession::Unknown);
}

#[tokio::test]
async fn delete_session_refuses_a_session_with_work_or_of_a_sub_agent() {
    type Change = fn(&Connection);
    let busy: [(&str, Change); 4] = [
        ("an open turn", |log| run(log, "UPDATE turns SET state = 'waiting' WHERE id = 2")),
        ("a waiting message", |log| {
            run(
                log,
                "UPDATE inbound SET state = 'queued', outcome = NULL, turn = NULL WHERE id = 2",
            );
        }),
        ("a delivery", |log| run(log, "UPDATE outbox SET state = 'sending' WHERE turn = 2")),
        ("a task in the background", |log| {
            run(log, "UPDATE turns SET state = 'running' WHERE id = 1002");
        }),
    ];
    for (why, change) in busy {
        let (_directory, store, log) = opened(1..4).await;
        change(&log);
        let refused = store.delete_session(&session("terminal:local:s")).await.unwrap();
        assert_eq!((refused, count(&log, "turns")), (DeletedSession::Busy, 6), "{why}");
    }
    let (_directory, store, log) = opened(1..4).await;
    run(&log, "INSERT INTO sessions (id, used_at) VALUES ('spawn:t1:s0c0', 1)");
    run(&log, "UPDATE turns SET session = 'spawn:t1:s0c0' WHERE id = 1001");
    let refused = store.delete_session(&session("spawn:t1:s0c0")).await.unwrap();
    assert_eq!((refused, count(&log, "turns")), (DeletedSession::OfTask, 6));
}

fn run(log: &Connection, sql: &str) {
    log.execute_batch(sql).unwrap();
}

#[tokio::test]
async fn session_work_tells_open_ended_and_deleted_conversations_apart() {
    let (_directory, store, log) = opened(1..4).await;
    let session = session("terminal:local:s");
    let work = async || store.session_work(&session).await.unwrap();
    assert_eq!(work().await, SessionWork::Ended);
    for state in ["queued", "running", "waiting"] {
        run(&log, &format!("UPDATE turns SET state = '{state}' WHERE id = 2"));
        assert_eq!(work().await, SessionWork::Open, "{state}");
    }
    run(&log, "UPDATE turns SET state = 'done' WHERE id = 2");
    store.delete_session(&session).await.unwrap();
    assert_eq!(work().await, SessionWork::Gone);
}
