//! The measurements under load: turns, admissions, and the cost of each.

use std::fs;
use std::time::Duration;

use anyhow::Result;

use crate::cli::DurabilitySetting;
use crate::clock::now;
use crate::daemon::{DaemonProcess, Home};
use crate::latencies::Latencies;
use crate::load::{ChatClient, ChatNames, LoadSpec, Loaded};
use crate::measure::{Bench, progress};
use crate::model::ModelQuestion;
use crate::process::Process;
use crate::report::{Cost, LoadRow, LogBytes, MemorySample, micros};
use crate::units::count;

/// Number of turns of a long chat before the measured ones.
pub(crate) const BEHIND: usize = 200;
/// Number of measured turns of a long chat.
const MEASURED: usize = 100;
/// Turns of each session before the measurement, to open connections and warm caches.
const WARM_UP: usize = 3;
/// Duration of the measurement of the fake alone.
const FAKE_ALONE: Duration = Duration::from_secs(2);

/// The results of turns of one kind.
pub(crate) struct Turns {
    pub(crate) rows: Vec<LoadRow>,
    pub(crate) memory: Vec<MemorySample>,
    pub(crate) log_bytes: LogBytes,
}

impl Bench<'_> {
    /// Measures turns, for each number of sessions.
    pub(crate) async fn turns(
        &self,
        durability: DurabilitySetting,
        ask: ModelQuestion,
    ) -> Result<Turns> {
        let (word, names) = (durability.word(), ChatNames::default());
        let home = self.home(durability, None)?;
        let daemon = home.start().await?;
        let empty = fs::metadata(home.database())?.len();
        let mut memory = vec![held(&daemon, format!("{word}, started"))?];
        let (mut rows, mut turns) = (Vec::new(), 0);
        for sessions in self.options.at_a_time() {
            progress(&format!("turns, {word}, {sessions} at a time, {}", ask.name()));
            let load = self.load(sessions, ask);
            let warm_up = LoadSpec { turns: WARM_UP * sessions, ..load };
            turns += warm_up.turns(&home.socket(), &names).await?.latencies.count();
            let before = Spent::read(&daemon)?;
            let loaded = load.turns(&home.socket(), &names).await?;
            turns += loaded.latencies.count();
            let cost = before.each_since(&daemon, &loaded)?;
            rows.push(LoadRow::new(Some(durability), sessions, &loaded, Some(cost)));
        }
        memory.push(held(&daemon, format!("{word}, after {} turns", count(turns)))?);
        daemon.stop().await?;
        let grown = fs::metadata(home.database())?.len().saturating_sub(empty);
        let of = format!("a turn {}, {word}", ask.name());
        let log_bytes = LogBytes { of, bytes: grown / turns.max(1) as u64 };
        Ok(Turns { rows, memory, log_bytes })
    }

    /// Measures turns of one chat with a long history.
    pub(crate) async fn long_chat(&self, durability: DurabilitySetting) -> Result<LoadRow> {
        progress(&format!("a long chat, {}", durability.word()));
        let home = self.home(durability, None)?;
        let daemon = home.start().await?;
        let mut chat = ChatClient::open(&home.socket(), ChatNames::default().next()).await?;
        for _ in 0..BEHIND {
            chat.turn(ModelQuestion::Plain).await?;
        }
        let (before, began) = (Spent::read(&daemon)?, now());
        let mut took = Vec::new();
        for _ in 0..MEASURED {
            took.push(chat.turn(ModelQuestion::Plain).await?);
        }
        let loaded = Loaded { latencies: Latencies::new(took), took: began.elapsed() };
        let cost = before.each_since(&daemon, &loaded)?;
        Ok(LoadRow::new(Some(durability), 1, &loaded, Some(cost)))
    }

    /// Measures admissions for each number of sessions, while the only turn that may run never
    /// ends.
    pub(crate) async fn admissions(&self, durability: DurabilitySetting) -> Result<Vec<LoadRow>> {
        let home = self.home(durability, Some(1))?;
        let daemon = home.start().await?;
        let names = ChatNames::default();
        let first = ChatClient::connect(&home.socket(), names.next()).await?;
        first.ask(ModelQuestion::Never).await?;
        let mut rows = Vec::new();
        for sessions in self.options.at_a_time() {
            progress(&format!("admissions, {}, {sessions} at a time", durability.word()));
            rows.push(self.admitted(durability, sessions, &home, &daemon, &names).await?);
        }
        Ok(rows)
    }

    async fn admitted(
        &self,
        durability: DurabilitySetting,
        sessions: usize,
        home: &Home,
        daemon: &DaemonProcess,
        names: &ChatNames,
    ) -> Result<LoadRow> {
        let load = self.load(sessions, ModelQuestion::Never);
        let before = Spent::read(daemon)?;
        let loaded = load.admissions(&home.socket(), names).await?;
        let cost = before.each_since(daemon, &loaded)?;
        Ok(LoadRow::new(Some(durability), sessions, &loaded, Some(cost)))
    }

    /// Measures the fake without the program, at full speed.
    pub(crate) async fn fake_alone(&self) -> Result<Vec<LoadRow>> {
        let mut rows = Vec::new();
        for connections in self.options.at_a_time() {
            progress(&format!("the fake alone, {connections} at a time"));
            let loaded = self.model.alone(connections, FAKE_ALONE).await?;
            rows.push(LoadRow::new(None, connections, &loaded, None));
        }
        Ok(rows)
    }

    fn load(&self, sessions: usize, ask: ModelQuestion) -> LoadSpec {
        let options = self.options;
        let (turns, turns_per_chat) = (options.turns, options.turns_per_chat.into());
        LoadSpec { sessions, turns, limit: options.limit(), ask, turns_per_chat }
    }
}

pub(crate) fn held(daemon: &DaemonProcess, when: String) -> Result<MemorySample> {
    Ok(MemorySample { when, memory: daemon.process().memory()? })
}

/// The resources used so far.
struct Spent {
    cpu: Duration,
    generator_cpu: Duration,
    written: u64,
}

impl Spent {
    fn read(daemon: &DaemonProcess) -> Result<Self> {
        let process = daemon.process();
        let generator_cpu = Process::this().cpu()?;
        Ok(Self { cpu: process.cpu()?, generator_cpu, written: process.written()? })
    }

    /// Returns the resources used since then, per turn or admission.
    fn each_since(&self, daemon: &DaemonProcess, loaded: &Loaded) -> Result<Cost> {
        let now = Self::read(daemon)?;
        let each = loaded.latencies.count().max(1) as u64;
        Ok(Cost {
            cpu_us: micros(now.cpu.saturating_sub(self.cpu)) / each,
            generator_cpu_us: micros(now.generator_cpu.saturating_sub(self.generator_cpu)) / each,
            written: now.written.saturating_sub(self.written) / each,
        })
    }
}
