//! Random damage of the database, its `-wal` and its `-shm`. A start must never panic or silently
//! begin an empty log, and `avocet recover` must save readable rows.
//!
//! `AVOCET_MUTATIONS` sets the number of random mutations, `AVOCET_SEED` replays a run; `--nocapture`
//! shows the recovered shares.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::{Query, StoreError};
use avocet_store::{DATABASE, OpenError, SqliteStore, recover_into};
use avocet_supervise::Group;
use avocet_text::Redactor;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::restoring::replacing;
use crate::rich::{Rows, add_open, add_turns, assert_nothing_open, fill, rows};
use crate::support::{PAGE, accept, messages, open};

const MUTATIONS: u64 = 100;
const PIECES: [&str; 3] = ["", "-wal", "-shm"];

/// SplitMix64: the same seed gives the same damage.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

type Images = [Option<Vec<u8>>; 3];

/// A log whose daemon was killed, copies of it, and another log.
struct Logs {
    now: Images,
    last: Vec<u8>,
    /// From the previous run of the daemon.
    older: Images,
    /// From the same run.
    earlier: Images,
    other: Images,
    rows: Rows,
    messages: u64,
}

fn images(directory: &Path) -> Images {
    PIECES.map(|piece| fs::read(directory.join(format!("{DATABASE}{piece}"))).ok())
}

impl Logs {
    async fn new() -> Self {
        let directory = TempDir::new().unwrap();
        fill(directory.path(), 1..60).await;
        let store = open(directory.path()).await.unwrap();
        accept(&store, "the first").await.unwrap();
        let older = images(directory.path());
        store.close().await;
        let store = open(directory.path()).await.unwrap();
        let side = Connection::open(directory.path().join(DATABASE)).unwrap();
        let mut earlier = None;
        for step in 0..8_u32 {
            add_turns(&side, 200 + step * 4..204 + step * 4);
            accept(&store, &format!("message {step}")).await.unwrap();
            if step == 5 {
                earlier = Some(images(directory.path()));
            }
        }
        add_open(&side);
        accept(&store, "the last").await.unwrap();
        let (now, rows) = (images(directory.path()), rows(&side));
        let last = fs::read(directory.path().join("avocet.db-last")).unwrap();
        let messages = messages(&store).await;
        let other = TempDir::new().unwrap();
        fill(other.path(), 1..20).await;
        let another = open(other.path()).await.unwrap();
        accept(&another, "other").await.unwrap();
        let (other, earlier) = (images(other.path()), earlier.unwrap());
        Self { now, last, older, earlier, other, rows, messages }
    }
}

type Mutate = fn(&mut Random, &mut Images);
type Replace = fn(&mut Images, &Logs);

/// Every kind of random damage.
const RANDOM_KINDS: [(&str, Mutate); 10] = [
    ("db: bits flipped", |random, images| flip_bits(random, &mut images[0])),
    ("db: pages zeroed", |random, images| zero_pages(random, &mut images[0])),
    ("db: pages swapped", |random, images| swap_pages(random, &mut images[0])),
    ("db: scrambled", |random, images| scramble(random, &mut images[0])),
    ("db: cut", |random, images| cut(random, &mut images[0])),
    ("wal: bits flipped", |random, images| flip_bits(random, &mut images[1])),
    ("wal: pages zeroed", |random, images| zero_pages(random, &mut images[1])),
    ("wal: pages swapped", |random, images| swap_pages(random, &mut images[1])),
    ("wal: cut", |random, images| cut(random, &mut images[1])),
    ("shm: bits flipped", |random, images| flip_bits(random, &mut images[2])),
];

/// Every kind of damage without chance, which is tried once.
const FIXED_KINDS: [(&str, Replace); 9] = [
    ("db: first page zeroed", |images, _| images[0].as_mut().unwrap()[..PAGE].fill(0)),
    ("db: empty", |images, _| images[0] = Some(Vec::new())),
    ("db: absent", |images, _| images[0] = None),
    ("db: older copy", |images, logs| images[0].clone_from(&logs.older[0])),
    ("db: another log's", |images, logs| images[0].clone_from(&logs.other[0])),
    ("wal: absent", |images, _| images[1] = None),
    ("wal: earlier copy", |images, logs| images[1].clone_from(&logs.earlier[1])),
    ("wal: older copy", |images, logs| images[1].clone_from(&logs.older[1])),
    ("wal: another log's", |images, logs| images[1].clone_from(&logs.other[1])),
];

fn flip_bits(random: &mut Random, bytes: &mut Option<Vec<u8>>) {
    let bytes = bytes.as_mut().unwrap();
    for _ in 0..=random.below(16) {
        let at = random.below(bytes.len());
        bytes[at] ^= 1 << random.below(8);
    }
}

fn page(random: &mut Random, bytes: &[u8]) -> std::ops::Range<usize> {
    let first = random.below(bytes.len() / PAGE) * PAGE;
    first..first + PAGE
}

fn zero_pages(random: &mut Random, bytes: &mut Option<Vec<u8>>) {
    let bytes = bytes.as_mut().unwrap();
    for _ in 0..=random.below(6) {
        let page = page(random, bytes);
        bytes[page].fill(0);
    }
}

fn swap_pages(random: &mut Random, bytes: &mut Option<Vec<u8>>) {
    let bytes = bytes.as_mut().unwrap();
    let (one, other) = (page(random, bytes), page(random, bytes));
    let kept = bytes[one.clone()].to_vec();
    bytes.copy_within(other.clone(), one.start);
    bytes[other].copy_from_slice(&kept);
}

fn scramble(random: &mut Random, bytes: &mut Option<Vec<u8>>) {
    let bytes = bytes.as_mut().unwrap();
    let first = random.below(bytes.len());
    let last = (first + random.below(4 * PAGE)).min(bytes.len());
    bytes[first..last].iter_mut().for_each(|byte| *byte = random.next() as u8);
}

fn cut(random: &mut Random, bytes: &mut Option<Vec<u8>>) {
    let bytes = bytes.as_mut().unwrap();
    let length = random.below(bytes.len());
    bytes.truncate(length);
}

/// Tables to which a recovery adds no rows.
const CHANGED_BY_NO_RECOVERY: [&str; 7] =
    ["calls", "inbound", "kept_results", "links", "memories", "people", "usage"];

/// Results for the mutations of one kind.
#[derive(Default)]
struct Tally {
    runs: u32,
    whole: u32,
    rolled_back: u32,
    refused: u32,
    /// The start accepted the log, and a query found the damage.
    found_later: u32,
    recovered: u32,
    /// Sum of the shares of recovered rows, by table.
    shares: BTreeMap<&'static str, f64>,
    /// Recovered rows that differ from the original.
    altered: usize,
}

/// Starts with these pieces. Returns `true` if the start was refused.
async fn start(directory: &Path, logs: &Logs, tally: &mut Tally) -> bool {
    // Read-only commands run first, because they must not hide damage from the start.
    drop(SqliteStore::open_read_only(directory, &Group::new("test")));
    match open(directory).await {
        Ok(store) => {
            let status = store.log_status().await;
            store.close().await;
            let status = match status {
                Ok(status) => status,
                // The check at the start skips the comparison of indices with tables, so a query
                // may find the damage.
                Err(StoreError::Damaged { .. }) => {
                    tally.found_later += 1;
                    return false;
                }
                Err(error) => panic!("{error}"),
            };
            match &status.rolled_back {
                Some(_) => tally.rolled_back += 1,
                None => {
                    assert_eq!(
                        status.messages, logs.messages,
                        "messages are lost without a report"
                    );
                    tally.whole += 1;
                }
            }
            false
        }
        Err(error) => {
            let known = matches!(
                error,
                OpenError::Damaged { .. } | OpenError::Undecided { .. } | OpenError::Newer { .. }
            );
            assert!(known, "{error}");
            let again = open(directory).await.map(drop).unwrap_err();
            let decided = matches!(again, OpenError::Undecided { .. } | OpenError::Newer { .. });
            assert!(decided, "{again}");
            tally.refused += 1;
            true
        }
    }
}

/// Recovers these pieces and compares the rows.
fn recover(from: &Path, into: &Path, logs: &Logs, tally: &mut Tally) {
    let now = Timestamp(1_767_300_000_000);
    let Ok(_) = recover_into(from, into, &Redactor::default(), now) else { return };
    tally.recovered += 1;
    let log = Connection::open(into).unwrap();
    assert_nothing_open(&log);
    let found = rows(&log);
    for (table, rows) in &logs.rows {
        let kept = rows.intersection(&found[table]).count();
        *tally.shares.entry(table).or_default() += kept as f64 / rows.len() as f64;
        if CHANGED_BY_NO_RECOVERY.contains(table) {
            tally.altered += found[table].len() - kept;
        }
    }
}

fn variable(name: &str, default: u64) -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "how often, and which: for whoever runs the test"
    )]
    let value = std::env::var(name);
    value.ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[tokio::test]
async fn open_and_recover_survive_mutated_files_without_a_panic_or_silent_loss() {
    let (mutations, seed) = (variable("AVOCET_MUTATIONS", MUTATIONS), variable("AVOCET_SEED", 1));
    println!("{mutations} random mutations with AVOCET_SEED={seed}");
    let logs = Logs::new().await;
    let mut tallies = BTreeMap::<&str, Tally>::new();
    for (name, replace) in FIXED_KINDS {
        println!("{name}");
        let mut images = logs.now.clone();
        replace(&mut images, &logs);
        assert_nothing_is_lost(&images, &logs, tallies.entry(name).or_default()).await;
    }
    for number in 0..mutations {
        let mut random = Random(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let (name, mutate) = RANDOM_KINDS[(number as usize) % RANDOM_KINDS.len()];
        println!("{number}: {name}");
        let mut images = logs.now.clone();
        mutate(&mut random, &mut images);
        assert_nothing_is_lost(&images, &logs, tallies.entry(name).or_default()).await;
    }
    report(&tallies);
}

/// Recovers these pieces, starts with them, and replaces them if the start was refused.
async fn assert_nothing_is_lost(images: &Images, logs: &Logs, tally: &mut Tally) {
    let directory = TempDir::new().unwrap();
    for (piece, bytes) in PIECES.iter().zip(images) {
        if let Some(bytes) = bytes {
            fs::write(directory.path().join(format!("{DATABASE}{piece}")), bytes).unwrap();
        }
    }
    fs::write(directory.path().join("avocet.db-last"), &logs.last).unwrap();
    tally.runs += 1;
    let into = TempDir::new().unwrap();
    let from = directory.path().join(DATABASE);
    recover(&from, &into.path().join("recovered.db"), logs, tally);
    if !start(directory.path(), logs, tally).await {
        return;
    }
    let moved = fs::read_dir(directory.path()).unwrap();
    let moved = moved.filter(|entry| {
        entry.as_ref().unwrap().file_name().to_str().unwrap().contains(".damaged-")
    });
    // A log of a newer version is recovered in place, because a start leaves it there.
    let from = (moved.count() == 0).then_some(from);
    if replacing(directory.path(), |replace| replace.recover_damaged(from.as_deref())).await.is_ok()
    {
        let store = open(directory.path()).await.unwrap();
        let status = store.log_status().await.unwrap();
        assert!(status.rolled_back.is_some(), "{status:?}");
        assert_eq!((status.queued, status.running, status.waiting), (0, 0, 0));
    }
}

fn report(tallies: &BTreeMap<&str, Tally>) {
    let tables: Vec<&str> =
        tallies.values().flat_map(|tally| tally.shares.keys()).copied().collect();
    let mut tables: Vec<&str> =
        tables.into_iter().collect::<std::collections::BTreeSet<_>>().into_iter().collect();
    tables.sort_unstable();
    print!(
        "{:22} {:>5} {:>6} {:>7} {:>8} {:>6} {:>9}",
        "", "runs", "whole", "rolled", "refused", "later", "recovered"
    );
    for table in &tables {
        print!(" {table:>6.6}");
    }
    println!(" altered");
    for (kind, tally) in tallies {
        let Tally { runs, whole, rolled_back, refused, found_later, recovered, shares, altered } =
            tally;
        print!(
            "{kind:22} {runs:5} {whole:6} {rolled_back:7} {refused:8} {found_later:6} {recovered:9}"
        );
        for table in &tables {
            let share = shares.get(table).copied().unwrap_or_default() / f64::from(*runs);
            print!(" {:5.1}%", share * 100.0);
        }
        println!(" {altered}");
    }
}
