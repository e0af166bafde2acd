use std::sync::Arc;

use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::{Past, StoreError, TurnLog};
use avocet_testkit::ManualClock;

use crate::testing::TempStore;
use crate::{Durability, SqliteStore};

/// Ended turns with an answer of 1,000 bytes each. Turns of all chats take turns.
const FILL: &str = "
    CREATE TEMP TABLE n AS WITH RECURSIVE n (i) AS
        (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :chats * :turns)
        SELECT i + 1 AS i, i % :chats AS chat, 'terminal:local:c' || (i % :chats) AS session FROM n;
    INSERT INTO sessions (id, used_at) SELECT DISTINCT session, 1 FROM n;
    INSERT INTO turns (id, session, state, started_at, ended_at) SELECT i, session, 'done', 1, 1 FROM n;
    INSERT INTO inbound (session, channel, account, chat, key, sender, kind, content, removed,
            state, outcome, turn, received_at)
        SELECT session, 'terminal', 'local', 'c' || chat, 'k' || i, 'uid:1000', 'text',
            '{\"text\":\"hello\"}', 0, 'done', 'replied', i, 1 FROM n;
    INSERT INTO steps (turn, number, text, input_tokens, output_tokens, closed)
        SELECT i, 0, hex(zeroblob(500)), 12, 3, 1 FROM n;
    DROP TABLE n;
";

/// Opens a log with `turns` ended turns in each of `chats` chats.
async fn filled(log: &TempStore, chats: usize, turns: usize) -> Arc<SqliteStore> {
    let store = log.open(Arc::new(ManualClock::default())).await;
    let sql = FILL.replace(":chats", &chats.to_string()).replace(":turns", &turns.to_string());
    change(&store, sql).await;
    store
}

async fn change(store: &SqliteStore, sql: String) {
    let written = store.write("test", Durability::Process, move |tx| {
        tx.db.connection.execute_batch(&sql).map_err(|error| tx.db.store_error(&error))
    });
    written.await.unwrap();
}

async fn read(store: &SqliteStore, chat: usize) -> Result<Past, StoreError> {
    let session = SessionId::parse(&format!("terminal:local:c{chat}")).unwrap();
    store.history(&session, TurnId(i64::MAX), 1 << 20).await
}

#[tokio::test]
async fn past_of_ten_busy_chats_is_read_from_the_log_once() {
    let log = TempStore::new();
    let store = filled(&log, 10, 169).await;
    let mut first = Vec::new();
    for chat in 0..10 {
        first.push(read(&store, chat).await.unwrap());
    }
    for (chat, first) in first.iter().enumerate() {
        let again = read(&store, chat).await.unwrap();
        assert_eq!(again.turns.len(), 169);
        let same = again.turns.iter().zip(&first.turns).filter(|(one, two)| Arc::ptr_eq(one, two));
        assert_eq!(same.count(), 169, "chat {chat}");
    }
}

#[tokio::test]
async fn past_shares_the_ids_that_its_messages_have_in_common() {
    let log = TempStore::new();
    let store = filled(&log, 2, 3).await;
    let past = read(&store, 1).await.unwrap();
    let messages: Vec<_> = past.turns.iter().flat_map(|turn| turn.origin.messages()).collect();
    let addresses = messages.iter().map(|one| one.message.inbound.address.to_string());
    assert_eq!(addresses.collect::<Vec<_>>(), ["terminal:local:c1"; 3]);
    let places = messages.iter().map(|one| one.message.session.as_str().as_ptr());
    assert_eq!(places.collect::<std::collections::BTreeSet<_>>().len(), 1);
}

#[tokio::test]
async fn past_is_an_error_if_an_id_between_equal_ones_is_invalid() {
    let log = TempStore::new();
    let store = filled(&log, 1, 3).await;
    change(&store, "INSERT INTO sessions (id, used_at) VALUES ('a/b', 1)".to_owned()).await;
    for column in ["channel", "account", "chat", "sender", "session", "key"] {
        let of_second = "FROM inbound WHERE turn = 2";
        change(
            &store,
            format!(
                "CREATE TEMP TABLE was AS SELECT {column} AS value {of_second}; \
                 UPDATE inbound SET {column} = 'a/b' WHERE turn = 2"
            ),
        )
        .await;
        let error = read(&store, 0).await.unwrap_err().to_string();
        assert!(error.contains("contains `/`"), "{column}: {error}");
        change(
            &store,
            format!(
                "UPDATE inbound SET {column} = (SELECT value FROM was) WHERE turn = 2; \
                 DROP TABLE was"
            ),
        )
        .await;
    }
    assert_eq!(read(&store, 0).await.unwrap().turns.len(), 3);
}
