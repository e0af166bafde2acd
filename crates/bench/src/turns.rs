//! The measurements under load: the speed of turns, and the cost of each.

use std::time::Duration;

use anyhow::{Context, Result};
use futures_util::future::try_join_all;

use crate::cli::{DurabilitySetting, MeasuredPart};
use crate::clock::{now, sleep};
use crate::daemon::{DaemonProcess, Home, HomeSpec, LogLevel};
use crate::figures::FigureLog;
use crate::homes::Bench;
use crate::latencies::Latencies;
use crate::load::{ChatClient, ChatNames, LoadSpec, Loaded, QUESTION};
use crate::model::{ModelManner, ToolCalls};
use crate::process::{Process, ThreadSwitches};
use crate::rows;
use crate::seed::{Seed, SeedDay};
use crate::statements::TransactionCounts;
use crate::units::millis;
use crate::wal::WalEnd;

/// Turns of each session before the measurement, to open connections and warm caches.
const WARM_UP: usize = 3;
/// Time of the model in the measurement of sessions at once.
const SLOW_MODEL: Duration = Duration::from_millis(500);
/// Maximum number of turns that read a file.
const TOOL_TURNS: usize = 1000;
/// Measured turns in each seeded chat.
const SEEDED_TURNS: usize = 10;
/// Messages of a chat with a full ledger.
const LEDGER_MESSAGES: usize = 10;
/// Measured turns whose transactions and WAL bytes are counted. Few, so that no checkpoint empties
/// the WAL meanwhile.
const LOGGED_TURNS: usize = 20;
/// Time after a delivery in which the daemon writes its outcome.
const OUTCOME: Duration = Duration::from_millis(100);

impl Bench<'_> {
    /// Measures the time until many sessions, which ask at once, have their replies.
    pub(crate) async fn at_once(&self, figures: &mut FigureLog) -> Result<()> {
        let model = ModelManner { delay: SLOW_MODEL, ..ModelManner::default() };
        let home = self.home(&HomeSpec { model, ..synced() })?;
        let daemon = home.start().await?;
        let (names, socket) = (ChatNames::default(), home.socket());
        ChatClient::open(&socket, names.next()).await?.turn(QUESTION).await?;
        let mut chats = Vec::new();
        for _ in 0..self.sizes.many {
            chats.push(ChatClient::open(&socket, names.next()).await?);
        }
        daemon.settle().await?;
        let began = now();
        try_join_all(chats.iter_mut().map(|chat| chat.turn(QUESTION))).await?;
        figures.add(rows::AT_ONCE, began.elapsed().as_secs_f64());
        daemon.stop().await
    }

    /// Measures speed and cost of text turns.
    pub(crate) async fn text(
        &self,
        durability: DurabilitySetting,
        sessions: usize,
        figures: &mut FigureLog,
    ) -> Result<()> {
        let home = self.home(&HomeSpec::new(durability))?;
        let cost = self.load(&home, sessions, self.options.turns).await?;
        let prefix = format!("text.{}.{sessions}", durability.as_str());
        cost.add_to(figures, &prefix);
        figures.add(format!("{prefix}.bench_cpu_ms"), cost.bench_cpu_ms);
        figures.add(format!("{prefix}.switches"), cost.switches);
        Ok(())
    }

    /// Measures the numbers of sessions that the part `text` leaves out.
    pub(crate) async fn concurrency(&self, figures: &mut FigureLog) -> Result<()> {
        let has_text = self.options.parts().contains(&MeasuredPart::Text);
        for sessions in self.options.sessions.iter().map(|&sessions| usize::from(sessions)) {
            if !(has_text && [1, self.sizes.many].contains(&sessions)) {
                self.text(DurabilitySetting::Synced, sessions, figures).await?;
            }
        }
        Ok(())
    }

    /// Measures turns that read a file.
    pub(crate) async fn tool(&self, figures: &mut FigureLog) -> Result<()> {
        let model = ModelManner { calls: ToolCalls::ReadFile, ..ModelManner::default() };
        let home = self.home(&HomeSpec { model, ..synced() })?;
        let cost = self.load(&home, 1, self.options.turns.min(TOOL_TURNS)).await?;
        figures.add(rows::TOOL_CPU, cost.cpu_ms);
        figures.add(rows::TOOL_SPEED, cost.speed);
        let cost = self.load(&home, self.sizes.many, self.options.turns).await?;
        figures.add(rows::TOOL_CPU_MANY, cost.cpu_ms);
        figures.add(rows::TOOL_SPEED_MANY, cost.speed);
        Ok(())
    }

    /// Measures the CPU of turns by the number of messages in front of them.
    pub(crate) async fn length(&self, figures: &mut FigureLog) -> Result<()> {
        let mut costs = Vec::new();
        for &messages in self.sizes.messages {
            let cost = self.behind(messages, self.sizes.chats, SeedDay::Past).await?;
            figures.add(format!("length.{messages}.cpu_ms"), cost.cpu_ms);
            figures.add(format!("length.{messages}.p50_ms"), cost.p50_ms);
            costs.push(cost.cpu_ms);
        }
        if let (Some(shortest), Some(longest)) = (costs.first(), costs.last()) {
            figures.add(rows::LENGTH_RATIO, longest / shortest);
        }
        Ok(())
    }

    /// Measures the CPU of turns on a day with many answers, against a day with none.
    pub(crate) async fn ledger(&self, figures: &mut FigureLog) -> Result<()> {
        let none = self.behind(LEDGER_MESSAGES, self.sizes.chats, SeedDay::Past).await?;
        let chats = self.sizes.answers * 2 / LEDGER_MESSAGES;
        let many = self.behind(LEDGER_MESSAGES, chats, SeedDay::Today).await?;
        figures.add("ledger.none.cpu_ms", none.cpu_ms);
        figures.add("ledger.full.cpu_ms", many.cpu_ms);
        figures.add(rows::LEDGER_RATIO, many.cpu_ms / none.cpu_ms);
        Ok(())
    }

    /// Measures turns in seeded chats with this number of messages.
    async fn behind(&self, messages: usize, chats: usize, when: SeedDay) -> Result<TurnCost> {
        let seed = Seed { chats, turns: messages / 2, when };
        let home = self.seeded_home(seed, &synced()).await?;
        let (daemon, mut clients) = (home.start().await?, Vec::new());
        for number in 0..self.sizes.chats {
            let mut chat = ChatClient::open(&home.socket(), Seed::chat(number)).await?;
            chat.turn(QUESTION).await?;
            clients.push(chat);
        }
        daemon.settle().await?;
        let (before, began, mut took) = (Spent::read(&daemon)?, now(), Vec::new());
        for chat in &mut clients {
            for _ in 0..SEEDED_TURNS {
                took.push(chat.turn(QUESTION).await?);
            }
        }
        let loaded = Loaded { latencies: Latencies::new(took), took: began.elapsed() };
        let cost = before.each_since(&daemon, &loaded)?;
        daemon.stop().await?;
        Ok(cost)
    }

    /// Counts transactions and WAL bytes of text turns, one at a time.
    pub(crate) async fn log(&self, figures: &mut FigureLog) -> Result<()> {
        let home = self.home(&HomeSpec { log: LogLevel::Statements, ..synced() })?;
        let daemon = home.start().await?;
        let names = ChatNames::default();
        let load = self.one_by_one(LOGGED_TURNS);
        self.one_by_one(WARM_UP).turns(&home.socket(), &names).await?;
        let before = WrittenFiles::read(&home).await?;
        load.turns(&home.socket(), &names).await?;
        let mut after = WrittenFiles::read(&home).await?;
        let counts = after.transactions.since(before.transactions);
        let mut bytes = after.wal.since(before.wal);
        if bytes.is_none() {
            // A checkpoint has emptied the WAL, so that there is room for more turns.
            let before = after;
            load.turns(&home.socket(), &names).await?;
            after = WrittenFiles::read(&home).await?;
            bytes = after.wal.since(before.wal);
        }
        let bytes = bytes.context("the WAL was emptied twice within few turns")?;
        let each = |sum: f64| sum / LOGGED_TURNS as f64;
        figures.add(rows::WRITES, each(counts.writes as f64));
        figures.add(rows::READS, each(counts.reads as f64));
        figures.add(rows::WAL, each(bytes as f64 / 1e3));
        daemon.stop().await
    }

    /// Measures a load in a home directory, after a warm-up.
    async fn load(&self, home: &Home, sessions: usize, turns: usize) -> Result<TurnCost> {
        let daemon = home.start().await?;
        let names = ChatNames::default();
        let load = LoadSpec { sessions, turns: self.sizes.scaled(turns), ..self.one_by_one(0) };
        let warm_up = LoadSpec { turns: WARM_UP * sessions, ..load };
        warm_up.turns(&home.socket(), &names).await?;
        let before = Spent::read(&daemon)?;
        let loaded = load.turns(&home.socket(), &names).await?;
        let cost = before.each_since(&daemon, &loaded)?;
        daemon.stop().await?;
        Ok(cost)
    }

    fn one_by_one(&self, turns: usize) -> LoadSpec {
        let (limit, turns_per_chat) = (self.options.limit(), self.options.turns_per_chat.into());
        LoadSpec { sessions: 1, turns, limit, turns_per_chat }
    }
}

fn synced() -> HomeSpec {
    HomeSpec::new(DurabilitySetting::Synced)
}

/// Speed and cost of turns. The cost is the average of one turn.
#[derive(Debug)]
struct TurnCost {
    speed: f64,
    p50_ms: f64,
    p95_ms: f64,
    /// CPU time of the daemon.
    cpu_ms: f64,
    /// CPU time of the load generator, without the model fake.
    bench_cpu_ms: f64,
    switches: f64,
}

impl TurnCost {
    fn add_to(&self, figures: &mut FigureLog, prefix: &str) {
        figures.add(format!("{prefix}.speed"), self.speed);
        figures.add(format!("{prefix}.p50_ms"), self.p50_ms);
        figures.add(format!("{prefix}.p95_ms"), self.p95_ms);
        figures.add(format!("{prefix}.cpu_ms"), self.cpu_ms);
    }
}

/// The resources used so far.
struct Spent {
    cpu: Duration,
    bench_cpu: Duration,
    switches: ThreadSwitches,
}

impl Spent {
    fn read(daemon: &DaemonProcess) -> Result<Self> {
        let process = daemon.process();
        let (bench_cpu, switches) = (Process::this().cpu()?, process.switches()?);
        Ok(Self { cpu: process.cpu()?, bench_cpu, switches })
    }

    /// Returns the resources used since then, per turn.
    fn each_since(&self, daemon: &DaemonProcess, loaded: &Loaded) -> Result<TurnCost> {
        let now = Self::read(daemon)?;
        let Loaded { latencies, took } = loaded;
        let turns = latencies.count().max(1) as f64;
        Ok(TurnCost {
            speed: latencies.count() as f64 / took.as_secs_f64().max(f64::MIN_POSITIVE),
            p50_ms: millis(latencies.percentile(50)),
            p95_ms: millis(latencies.percentile(95)),
            cpu_ms: millis(now.cpu.saturating_sub(self.cpu)) / turns,
            bench_cpu_ms: millis(now.bench_cpu.saturating_sub(self.bench_cpu)) / turns,
            switches: now.switches.since(&self.switches).all() as f64 / turns,
        })
    }
}

/// The content of the daemon's files so far.
#[derive(Clone, Copy)]
struct WrittenFiles {
    transactions: TransactionCounts,
    wal: WalEnd,
}

impl WrittenFiles {
    /// Waits for the outcome of the last delivery, and reads.
    async fn read(home: &Home) -> Result<Self> {
        sleep(OUTCOME).await;
        let wal = WalEnd::read(&home.database().with_extension("db-wal"))?;
        Ok(Self { transactions: TransactionCounts::read(&home.log())?, wal })
    }
}
