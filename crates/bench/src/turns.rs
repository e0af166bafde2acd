//! The measurements under load: the speed of turns, and the cost of each.

use std::time::Duration;

use anyhow::{Context, Result};
use futures_util::future::try_join_all;

use crate::cli::{DurabilitySetting, MeasuredPart};
use crate::clock::{now, sleep};
use crate::cost::{Spent, TurnCost};
use crate::daemon::{Home, HomeSpec, LogLevel};
use crate::figures::FigureLog;
use crate::homes::Bench;
use crate::load::{ChatClient, ChatNames, LoadSpec, QUESTION};
use crate::model::{ModelManner, ToolCalls};
use crate::rows;
use crate::statements::TransactionCounts;
use crate::wal::WalEnd;

/// Turns of each session before the measurement, to open connections and warm caches.
const WARM_UP: usize = 3;
/// Time of the model in the measurement of sessions at once.
const SLOW_MODEL: Duration = Duration::from_millis(500);
/// Maximum number of turns that read a file.
const TOOL_TURNS: usize = 1000;
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

pub(crate) fn synced() -> HomeSpec {
    HomeSpec::new(DurabilitySetting::Synced)
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
