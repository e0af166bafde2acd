//! A program that follows the events (`avocet events --follow --name`) and is killed as often as
//! the daemon. Each of its lives writes a new file.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Stdio};

use avocet_tests::Home;
use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;

/// The most events of a batch, which may come again after a kill.
const BATCH: i64 = 256;

pub(crate) struct Subscriber {
    directory: TempDir,
    lives: u32,
    child: Option<Child>,
}

impl Subscriber {
    pub(crate) fn new() -> Self {
        Self { directory: TempDir::new().unwrap(), lives: 0, child: None }
    }

    /// Starts the program, which continues where its last life stopped.
    pub(crate) fn start(&mut self, home: &Home) {
        self.kill();
        self.lives += 1;
        let out = File::create(self.file(self.lives)).unwrap();
        let mut command = home.command(&["events", "--follow", "--name", "watch", "--from", "0"]);
        command.stdin(Stdio::null()).stdout(out).stderr(Stdio::null());
        self.child = Some(command.spawn().unwrap());
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    fn file(&self, life: u32) -> PathBuf {
        self.directory.path().join(format!("{life}.jsonl"))
    }

    /// Returns the numbers of the events in each life's file.
    fn lives(&self) -> Vec<Vec<i64>> {
        let read = |life| fs::read_to_string(self.file(life)).unwrap();
        // A kill may cut the last line.
        let number = |line: &str| {
            let line = line.strip_suffix('\n')?;
            serde_json::from_str::<Value>(line).unwrap()["seq"].as_i64()
        };
        let numbers = |text: String| text.split_inclusive('\n').filter_map(number).collect();
        (1..=self.lives).map(read).map(numbers).collect()
    }

    /// Returns the newest number that a life has printed.
    pub(crate) fn newest(&self) -> i64 {
        self.lives().into_iter().flatten().max().unwrap_or_default()
    }

    /// Checks that every event of the log was printed, in order, and that a life repeats at most
    /// the batch that the life before had not confirmed. Returns the number of repetitions.
    pub(crate) fn check(&self, home: &Home) -> usize {
        let log = Connection::open(home.data_dir().join("avocet.db")).unwrap();
        let mut all = log.prepare("SELECT seq FROM events ORDER BY seq").unwrap();
        let all = all.query_map((), |row| row.get(0)).unwrap();
        let all: Vec<i64> = all.collect::<rusqlite::Result<_>>().unwrap();
        let (mut printed, mut repeated) = (Vec::new(), 0);
        for (life, numbers) in (1..).zip(self.lives()) {
            assert!(numbers.is_sorted_by(|a, b| a < b), "life {life}: {numbers:?}");
            let last = printed.last().copied().unwrap_or_default();
            let again = numbers.iter().filter(|seq| **seq <= last).count();
            assert!(i64::try_from(again).unwrap() <= BATCH, "life {life}: {again} events again");
            repeated += again;
            printed.extend(numbers.into_iter().filter(|seq| *seq > last));
        }
        assert_eq!(printed, all);
        repeated
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.kill();
    }
}
