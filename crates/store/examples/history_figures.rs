//! Measures the index and the search of past conversations. Prints figures only:
//! `cargo run --release -p avocet-store --example history_figures -- 200000`.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a program that prints figures"
)]

mod seeded;

use std::sync::Arc;
use std::time::{Duration, Instant};

use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::{History, HistoryQuery, Query, WideHistoryQuery};
use avocet_store::testing::TempStore;
use avocet_store::{DATABASE, SqliteStore};
use avocet_testkit::ManualClock;
use rusqlite::{Connection, params};
use seeded::SeededNumbers;

/// Number of private chats, each of one person.
const SESSIONS: i64 = 100;
/// Number of different words in the texts.
const VOCABULARY: u64 = 30_000;
/// Number of measured searches.
const SEARCHES: u32 = 500;

#[tokio::main]
async fn main() {
    let texts = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(200_000);
    let (temp, clock) = (TempStore::new(), Arc::new(ManualClock::default()));
    drop(temp.open(clock.clone()).await);
    fill_log(&Connection::open(temp.path().join(DATABASE)).unwrap(), texts / 2);
    let store = temp.open(clock).await;

    let (took, longest) = measure_index(&store).await;
    let batches = u32::try_from(texts / 2000).unwrap().max(1);
    println!("{texts} texts indexed in {took:?}: {:?} per 2,000", took / batches);
    println!("longest wait of another write meanwhile: {longest:?}");

    for (name, words) in [("rare", 1), ("common", 3), ("sentence", 12)] {
        let mut random = SeededNumbers(7);
        let mut times = Vec::new();
        for _ in 0..SEARCHES {
            let words: Vec<String> =
                (0..words).map(|_| random.random_word(name == "rare")).collect();
            let query =
                make_query(TurnId(1 + i64::try_from(random.next_below(1000)).unwrap()), &words);
            let begun = Instant::now();
            store.search_history(&query).await.unwrap();
            times.push(begun.elapsed());
        }
        times.sort_unstable();
        let at = |part: usize| times[times.len() * part / 100];
        println!("search for {words} {name} words: p50 {:?}, p99 {:?}", at(50), at(99));
    }
    measure_lists(&store).await;
}

/// Measures the search in all conversations, the list of sessions with their titles, and the
/// messages outside of turns of a chat that has none.
async fn measure_lists(store: &Arc<SqliteStore>) {
    for (name, words) in [("rare", 1), ("common", 1), ("common", 3)] {
        let mut random = SeededNumbers(7);
        let begun = Instant::now();
        for _ in 0..SEARCHES / 10 {
            let words: Vec<String> =
                (0..words).map(|_| random.random_word(name == "rare")).collect();
            let query = WideHistoryQuery { words: words.join(" "), limit: 20, sessions: None };
            store.search_all_history(&query).await.unwrap();
        }
        let each = begun.elapsed() / (SEARCHES / 10);
        println!("search of all conversations for {words} {name} words: {each:?}");
    }
    let begun = Instant::now();
    store.sessions(50, None).await.unwrap();
    println!("list of 50 sessions with titles: {:?}", begun.elapsed());
    let begun = Instant::now();
    let none = SessionId::parse("terminal:local:none").unwrap();
    store.sent(&none, 50, None).await.unwrap();
    println!("messages outside of the turns of a chat without any: {:?}", begun.elapsed());
}

fn make_query(turn: TurnId, words: &[String]) -> HistoryQuery {
    HistoryQuery { turn, words: words.join(" "), before: None, limit: 5 }
}

/// Indexes everything. Returns the time, and the longest time that another write took meanwhile.
async fn measure_index(store: &Arc<SqliteStore>) -> (Duration, Duration) {
    let begun = Instant::now();
    let query = make_query(TurnId(1), &["nothing".to_owned()]);
    let search = store.search_history(&query);
    tokio::pin!(search);
    let mut longest = Duration::ZERO;
    loop {
        let asked = Instant::now();
        tokio::select! {
            found = &mut search => {
                found.unwrap();
                return (begun.elapsed(), longest);
            }
            written = async {
                store.try_write().await.unwrap();
                longest = longest.max(asked.elapsed());
            } => written,
        }
    }
}

/// Writes ended turns with one message and one answer each.
fn fill_log(connection: &Connection, turns: i64) {
    let mut random = SeededNumbers(1);
    connection.execute_batch("BEGIN").unwrap();
    for session in 0..SESSIONS {
        let sql = "INSERT INTO sessions (id, used_at) VALUES ('terminal:local:' || ?1, 0)";
        connection.execute(sql, [session]).unwrap();
    }
    for turn in 1..=turns {
        let session = turn % SESSIONS;
        let insert = |sql: &str, text: Option<String>| {
            connection.prepare_cached(sql).unwrap().execute(params![turn, session, text]).unwrap();
        };
        insert(
            "INSERT INTO turns (id, session, state, started_at, ended_at) \
             SELECT ?1, 'terminal:local:' || ?2, 'done', ?1, ?1 WHERE ?3 IS NULL",
            None,
        );
        let message = serde_json::json!({ "text": random.random_text(20) }).to_string();
        insert(
            "INSERT INTO inbound (session, channel, account, chat, key, sender, kind, content, \
                 removed, state, outcome, turn, received_at) \
             VALUES ('terminal:local:' || ?2, 'terminal', 'local', ?2, ?1, 'p' || ?2, 'text', ?3, \
                 0, 'done', 'replied', ?1, ?1)",
            Some(message),
        );
        insert(
            "INSERT INTO outbox (channel, account, chat, turn, ordinal, chunk, source, content, \
                 state, created_at) \
             SELECT 'terminal', 'local', ?2, ?1, 0, 0, 'reply', json_object('text', ?3), 'sent', ?1",
            Some(random.random_text(60)),
        );
        insert(
            "INSERT INTO steps (turn, number, text, input_tokens, output_tokens, closed) \
             SELECT ?1, 0, ?3, 1, 1, 1 WHERE ?2 IS NOT NULL",
            Some(random.random_text(60)),
        );
    }
    connection.execute_batch("COMMIT").unwrap();
}

impl SeededNumbers {
    /// Returns a word. Small numbers are frequent, like the common words of a language.
    fn random_word(&mut self, rare: bool) -> String {
        let number = self.next_below(VOCABULARY);
        let common = number * self.next_below(VOCABULARY) / VOCABULARY
            * self.next_below(VOCABULARY)
            / VOCABULARY;
        format!("word{}ing", if rare { VOCABULARY - 1 - number / 10 } else { common })
    }

    fn random_text(&mut self, words: u32) -> String {
        (0..words).map(|_| self.random_word(false)).collect::<Vec<_>>().join(" ")
    }
}
