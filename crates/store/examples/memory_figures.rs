//! Measures the search of memories by words and by vectors. Prints figures only:
//! `cargo run --release -p avocet-store --example memory_figures`.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a program that prints figures"
)]

mod seeded;

use std::sync::Arc;
use std::time::{Duration, Instant};

use avocet_protocol::{Memories, MemoryScope, MemoryVectors, ScopeFilter, index_text};
use avocet_store::DATABASE;
use avocet_store::testing::TempStore;
use avocet_testkit::ManualClock;
use rusqlite::{Connection, params};
use seeded::SeededNumbers;

const DIMENSIONS: usize = 768;
const SEARCHES: usize = 200;
/// Number of different words in the texts.
const VOCABULARY: u64 = 20_000;

#[tokio::main]
async fn main() {
    for memories in [1_000, 10_000, 100_000] {
        let (temp, clock) = (TempStore::new(), Arc::new(ManualClock::default()));
        drop(temp.open(clock.clone()).await);
        fill(&Connection::open(temp.path().join(DATABASE)).unwrap(), memories);
        let store = temp.open(clock).await;
        let scopes = ScopeFilter::Only(vec![MemoryScope::Everyone]);
        let mut random = SeededNumbers(7);
        let (mut by_words, mut by_vectors) = (Vec::new(), Vec::new());
        for _ in 0..SEARCHES {
            let query = random.text(5);
            let begun = Instant::now();
            store.search_memories(&scopes, &query, 30).await.unwrap();
            by_words.push(begun.elapsed());
            let vector: Vec<f32> = (0..DIMENSIONS).map(|_| f32::from(random.byte())).collect();
            let begun = Instant::now();
            store.nearest(&scopes, "m", &vector, 30).await.unwrap();
            by_vectors.push(begun.elapsed());
        }
        print(memories, "words", by_words);
        print(memories, "vectors", by_vectors);
    }
}

fn print(memories: i64, kind: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |part: usize| times[times.len() * part / 100];
    println!("{memories} memories, search by {kind}: p50 {:?}, p99 {:?}", at(50), at(99));
}

/// Writes memories for everyone, with random words and vectors.
fn fill(connection: &Connection, memories: i64) {
    let mut random = SeededNumbers(1);
    connection.execute_batch("BEGIN").unwrap();
    for id in 1..=memories {
        let text = random.text(15);
        let sql = "INSERT INTO memories (id, scope, text, words, written_at) \
            VALUES (?1, 'everyone', ?2, ?3, 0)";
        let mut insert = connection.prepare_cached(sql).unwrap();
        insert.execute(params![id, text, index_text(&text)]).unwrap();
        let vector: Vec<u8> = (0..DIMENSIONS).map(|_| random.byte().cast_unsigned()).collect();
        let sql = "INSERT INTO memory_vectors (memory, model, scale, vector) \
            VALUES (?1, 'm', 0.0005, ?2)";
        connection.prepare_cached(sql).unwrap().execute(params![id, vector]).unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
}

impl SeededNumbers {
    fn byte(&mut self) -> i8 {
        i8::try_from(self.below(255)).unwrap_or(0).wrapping_sub(64)
    }

    /// Returns words. Small numbers are frequent, like the common words of a language.
    fn text(&mut self, words: u32) -> String {
        let word = |random: &mut Self| {
            let number = random.below(VOCABULARY) * random.below(VOCABULARY) / VOCABULARY;
            format!("word{number}")
        };
        (0..words).map(|_| word(self)).collect::<Vec<_>>().join(" ")
    }
}
