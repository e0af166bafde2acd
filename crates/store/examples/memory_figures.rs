//! Measures the search of memories by words and by vectors. Prints figures only:
//! `cargo run --release -p avocet-store --example memory_figures`, with numbers of memories as arguments.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a program that prints figures"
)]

mod seeded;

use std::sync::Arc;
use std::time::{Duration, Instant};

use avocet_protocol::ids::MemoryId;
use avocet_protocol::store::{Memories, MemoryScope, MemoryVector, MemoryVectors, ScopeFilter};
use avocet_store::testing::TempStore;
use avocet_store::{DATABASE, SqliteStore};
use avocet_testkit::ManualClock;
use avocet_text::index_text;
use rusqlite::{Connection, params};
use seeded::SeededNumbers;

const DIMENSIONS: usize = 768;
const SEARCHES: i64 = 200;
/// Number of searches whose results are compared with those of an exact search.
const COMPARED: i64 = 10;
/// Vectors of one topic are similar, like those of texts about one subject.
const TOPICS: i64 = 1000;
/// Number of different words in the texts.
const VOCABULARY: u64 = 20_000;

#[tokio::main]
async fn main() {
    let wanted: Vec<i64> = std::env::args().skip(1).map(|count| count.parse().unwrap()).collect();
    let all = if wanted.is_empty() { vec![1_000, 10_000, 100_000] } else { wanted };
    for memories in all {
        let (temp, clock) = (TempStore::new(), Arc::new(ManualClock::default()));
        drop(temp.open(clock.clone()).await);
        fill_log(&Connection::open(temp.path().join(DATABASE)).unwrap(), memories);
        let store = temp.open(clock).await;
        add_vectors(&store, memories).await;
        let scopes = ScopeFilter::Only(vec![MemoryScope::Everyone]);
        let mut random = SeededNumbers(7);
        let (mut by_words, mut by_vectors, mut by_both) = (Vec::new(), Vec::new(), Vec::new());
        let before = cpu_time();
        for number in 1..=SEARCHES {
            let query = random.random_text(5);
            let vector = vector_of(memories + number);
            let begun = Instant::now();
            store.search_memories(&scopes, &query, 30).await.unwrap();
            let words = begun.elapsed();
            let begun = Instant::now();
            store.nearest(&scopes, "m", &vector, 30).await.unwrap();
            let vectors = begun.elapsed();
            by_words.push(words);
            by_vectors.push(vectors);
            // The search by meaning does both, and fuses two lists of 30.
            by_both.push(words + vectors);
        }
        let used = cpu_time().saturating_sub(before) / u32::try_from(SEARCHES).unwrap();
        println!("{memories} memories: {used:?} of processor time for both searches, on average");
        print_times(memories, "words", by_words);
        print_times(memories, "vectors", by_vectors);
        print_times(memories, "words and vectors", by_both);
        let found = share_found(&store, &scopes, memories).await;
        println!("{memories} memories: the vectors of a search are {found:.3} of the 30 nearest");
    }
}

async fn add_vectors(store: &SqliteStore, memories: i64) {
    for first in (1..=memories).step_by(1000) {
        let batch = (first..=memories.min(first + 999)).map(|id| MemoryVector {
            memory: MemoryId(id),
            revision: 1,
            vector: vector_of(id),
        });
        store.add_vectors("m", batch.collect()).await.unwrap();
    }
}

/// Returns the vector of a memory or a query: the direction of a topic, and as much noise.
fn vector_of(number: i64) -> Vec<f32> {
    let seed = |number: i64| {
        let mixed = number.cast_unsigned().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        SeededNumbers(mixed ^ (mixed >> 29))
    };
    let (mut topic, mut noise) = (seed(number % TOPICS), seed(number + TOPICS));
    (0..DIMENSIONS)
        .map(|_| f32::from(topic.random_byte()) + f32::from(noise.random_byte()))
        .collect()
}

/// Returns the share of the 30 nearest memories that searches find.
async fn share_found(store: &SqliteStore, scopes: &ScopeFilter, memories: i64) -> f64 {
    let unit = |vector: Vec<f32>| {
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.into_iter().map(|value| value / length).collect::<Vec<f32>>()
    };
    let queries: Vec<Vec<f32>> =
        (1..=COMPARED).map(|number| unit(vector_of(memories + number))).collect();
    let mut nearest: Vec<Vec<(f32, i64)>> = vec![Vec::new(); queries.len()];
    for id in 1..=memories {
        let vector = unit(vector_of(id));
        for (query, nearest) in queries.iter().zip(&mut nearest) {
            let similarity = query.iter().zip(&vector).map(|(one, other)| one * other).sum();
            nearest.push((similarity, id));
        }
    }
    let mut found = 0;
    for (query, nearest) in queries.iter().zip(&mut nearest) {
        nearest.sort_by(|one, other| other.0.total_cmp(&one.0));
        let result = store.nearest(scopes, "m", query, 30).await.unwrap();
        let is_found = |(_, id): &&(f32, i64)| result.iter().any(|found| found.memory.id.0 == *id);
        found += nearest.iter().take(30).filter(is_found).count();
    }
    f64::from(u32::try_from(found).unwrap()) / f64::from(u32::try_from(30 * COMPARED).unwrap())
}

/// The processor time of all threads so far, in steps of 10 ms (`proc_pid_stat(5)`). Other programs on
/// the machine leave it almost unchanged.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

fn print_times(memories: i64, kind: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |part: usize| times[times.len() * part / 100];
    println!("{memories} memories, search by {kind}: p50 {:?}, p99 {:?}", at(50), at(99));
}

/// Writes memories for everyone, with random words.
fn fill_log(connection: &Connection, memories: i64) {
    let mut random = SeededNumbers(1);
    connection.execute_batch("BEGIN").unwrap();
    for id in 1..=memories {
        let text = random.random_text(15);
        let sql = "INSERT INTO memories (id, scope, text, words, written_at) \
            VALUES (?1, 'everyone', ?2, ?3, 0)";
        let mut insert = connection.prepare_cached(sql).unwrap();
        insert.execute(params![id, text, index_text(&text)]).unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
}

impl SeededNumbers {
    fn random_byte(&mut self) -> i8 {
        i8::try_from(i16::try_from(self.next_below(255)).unwrap() - 127).unwrap()
    }

    /// Returns words. Small numbers are frequent, like the common words of a language.
    fn random_text(&mut self, words: u32) -> String {
        let word = |random: &mut Self| {
            let number = random.next_below(VOCABULARY) * random.next_below(VOCABULARY) / VOCABULARY;
            spell_number(number)
        };
        (0..words).map(|_| word(self)).collect::<Vec<_>>().join(" ")
    }
}

/// Spells a number as three syllables, so that neighbours begin with different letters: a search also
/// finds words with the same beginning.
fn spell_number(number: u64) -> String {
    const CONSONANTS: &[u8; 16] = b"bdfghjklmnprstvz";
    const VOWELS: &[u8; 5] = b"aeiou";
    let mut rest = number * 7919 % 512_000;
    let mut word = String::new();
    for _ in 0..3 {
        let syllable = usize::try_from(rest % 80).unwrap();
        word.push(char::from(CONSONANTS[syllable / 5]));
        word.push(char::from(VOWELS[syllable % 5]));
        rest /= 80;
    }
    word
}
