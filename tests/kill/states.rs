//! Finds the states into which the kills fell, from the logs of the dead daemons.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use rusqlite::Connection;
use tempfile::TempDir;

/// The states, and the query that finds each in the log.
const STATES: [(&str, &str); 10] = [
    ("accepted, not begun", "SELECT 1 FROM inbound WHERE state = 'queued' AND turn IS NULL"),
    (
        "the model is asked",
        "SELECT 1 FROM turns WHERE state = 'running' AND NOT EXISTS \
             (SELECT 1 FROM steps WHERE turn = turns.id AND closed = 0)",
    ),
    ("T1: calls are planned", "SELECT 1 FROM calls WHERE state = 'planned'"),
    ("T2: a call has started", "SELECT 1 FROM calls WHERE state = 'started'"),
    (
        "T3: a call has finished, its step is open",
        "SELECT 1 FROM calls JOIN steps ON steps.turn = calls.turn AND steps.number = calls.step \
         WHERE state = 'finished' AND closed = 0",
    ),
    (
        "T4: the step is closed, the turn goes on",
        "SELECT 1 FROM turns WHERE state = 'running' AND EXISTS \
             (SELECT 1 FROM steps WHERE turn = turns.id) AND NOT EXISTS \
             (SELECT 1 FROM steps WHERE turn = turns.id AND closed = 0)",
    ),
    ("a turn waits for a choice", "SELECT 1 FROM turns WHERE state = 'waiting'"),
    (PREVIEW, "SELECT 1 FROM outbox WHERE state = 'preview'"),
    ("T5: settled, to be delivered", "SELECT 1 FROM outbox WHERE state = 'pending'"),
    ("being sent", "SELECT 1 FROM outbox WHERE state = 'sending'"),
];
/// Only platforms show answers before they are complete.
pub(crate) const PREVIEW: &str = "a preview is shown";
const BOOTING: &str = "starting";

/// The number of kills in each state. One kill may count in several, through several sessions.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    kills: u32,
    counts: BTreeMap<&'static str, u32>,
}

impl Histogram {
    pub(crate) fn count(&mut self, data_dir: &Path, booting: bool) {
        self.kills += 1;
        if booting {
            *self.counts.entry(BOOTING).or_default() += 1;
        }
        // Read a copy: the next daemon has to find the log untouched.
        let copy = TempDir::new().unwrap();
        for file in ["avocet.db", "avocet.db-wal"] {
            if data_dir.join(file).exists() {
                fs::copy(data_dir.join(file), copy.path().join(file)).unwrap();
            }
        }
        let path = copy.path().join("avocet.db");
        if !path.exists() {
            return;
        }
        let log = Connection::open(path).unwrap();
        for (state, query) in STATES {
            if log.prepare(query).unwrap().exists(()).unwrap() {
                *self.counts.entry(state).or_default() += 1;
            }
        }
    }

    /// Adds the kills of another world.
    pub(crate) fn add(&mut self, other: &Self) {
        self.kills += other.kills;
        for (state, count) in &other.counts {
            *self.counts.entry(state).or_default() += count;
        }
    }

    fn rows(&self) -> impl Iterator<Item = (&'static str, u32)> {
        let states = std::iter::once(BOOTING).chain(STATES.iter().map(|(state, _)| *state));
        states.map(|state| (state, self.counts.get(state).copied().unwrap_or_default()))
    }

    pub(crate) fn empty_rows(&self) -> Vec<&'static str> {
        self.rows().filter(|(_, count)| *count == 0).map(|(state, _)| state).collect()
    }
}

impl fmt::Display for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} kills fell into these states (one may fall into several):", self.kills)?;
        for (state, count) in self.rows() {
            let bar = "█".repeat((count as usize * 40).div_ceil(self.kills.max(1) as usize));
            writeln!(f, "{state:42} {count:4} {bar}")?;
        }
        Ok(())
    }
}
