//! The measurements without load: starting, idling, memory that stays in use, and the program
//! itself.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::cli::DurabilitySetting;
use crate::clock::{now, sleep};
use crate::daemon::{DaemonProcess, Home, HomeSpec};
use crate::figures::FigureLog;
use crate::homes::Bench;
use crate::latencies::Latencies;
use crate::load::{ChatClient, ChatNames, LoadSpec};
use crate::model::ModelManner;
use crate::rows;
use crate::seed::Seed;
use crate::units::{mebibytes, millis};

/// Number of sessions that run at a time while the memory of many sessions is measured.
const AT_A_TIME: usize = 32;
/// Time limit for all of these sessions.
const COMING: Duration = Duration::from_mins(3);
/// Milliseconds between the last delivery and the measurement of memory.
const REST: usize = 2000;
/// Turns that make a home used.
const USED: usize = 100;
/// Number of times that `--version` runs.
const VERSIONS: usize = 20;
/// The message whose request is measured.
const SHORT_QUESTION: &str = "hi";

impl Bench<'_> {
    /// Measures wake-ups and CPU time of an idle daemon.
    pub(crate) async fn idle(&self, figures: &mut FigureLog) -> Result<()> {
        let home = self.home(&synced())?;
        let daemon = home.start().await?;
        let process = daemon.process();
        self.rest().await;
        let idling = Duration::from_secs(self.options.idle);
        let (switches, cpu) = (process.switches()?, process.cpu()?);
        sleep(idling).await;
        let wake_ups = process.switches()?.since(&switches).voluntary;
        let cpu = process.cpu()?.saturating_sub(cpu);
        figures.add(rows::WAKE_UPS, wake_ups as f64 / idling.as_secs_f64());
        figures.add(rows::IDLE_CPU, 100.0 * cpu.as_secs_f64() / idling.as_secs_f64());
        daemon.stop().await
    }

    /// Measures the memory that stays in use after sessions. Each attaches, asks, gets its reply
    /// and disconnects.
    pub(crate) async fn memory(&self, figures: &mut FigureLog) -> Result<()> {
        let home = self.home(&synced())?;
        let daemon = home.start().await?;
        self.add_memory(&daemon, 0, figures).await?;
        let (names, mut came) = (ChatNames::default(), 0);
        for &sessions in self.sizes.sessions {
            let load = LoadSpec {
                sessions: AT_A_TIME.min(sessions - came),
                turns: sessions - came,
                limit: COMING,
                turns_per_chat: 1,
            };
            came += load.turns(&home.socket(), &names).await?.latencies.count();
            ensure!(came == sessions, "{came} of {sessions} sessions have come");
            self.add_memory(&daemon, sessions, figures).await?;
        }
        daemon.stop().await
    }

    async fn add_memory(
        &self,
        daemon: &DaemonProcess,
        sessions: usize,
        figures: &mut FigureLog,
    ) -> Result<()> {
        daemon.settle().await?;
        self.rest().await;
        let memory = daemon.process().memory()?;
        figures.add(format!("memory.{sessions}.rss_mib"), mebibytes(memory.rss));
        let anonymous = mebibytes(memory.anonymous);
        figures.add(format!("memory.{sessions}.anonymous_mib"), anonymous);
        Ok(())
    }

    /// Measures the time from the start of the process until it answers `status`, after an orderly
    /// stop.
    pub(crate) async fn ready(&self, figures: &mut FigureLog) -> Result<()> {
        let home = self.home(&synced())?;
        let daemon = home.start().await?;
        let turns_per_chat = self.options.turns_per_chat.into();
        let turns = self.sizes.scaled(USED);
        let load = LoadSpec { sessions: 1, turns, limit: COMING, turns_per_chat };
        load.turns(&home.socket(), &ChatNames::default()).await?;
        daemon.stop().await?;
        figures.add(rows::READY_USED, self.starts(&home).await?);
        let seed = Seed { chats: self.sizes.log, turns: 1, ..Seed::default() };
        let home = self.seeded_home(seed, &synced()).await?;
        home.start().await?.stop().await?;
        figures.add(rows::READY_LONG, self.starts(&home).await?);
        Ok(())
    }

    /// Returns the median of some starts, in milliseconds.
    async fn starts(&self, home: &Home) -> Result<f64> {
        let mut took = Vec::new();
        for _ in 0..self.sizes.starts {
            let began = now();
            let daemon = home.start_now().await?;
            took.push(began.elapsed());
            daemon.stop().await?;
        }
        Ok(millis(Latencies::new(took).percentile(50)))
    }

    /// Measures the program as a file, and the time of its shortest command.
    pub(crate) fn program(&self, figures: &mut FigureLog) -> Result<()> {
        let mut took = Vec::new();
        for _ in 0..VERSIONS {
            let mut command = Command::new(&self.program);
            command.arg("--version").env_clear().stdin(Stdio::null()).stdout(Stdio::null());
            let began = now();
            let status = command.status()?;
            took.push(began.elapsed());
            ensure!(status.success(), "--version ended with {status}");
        }
        figures.add(rows::VERSION, millis(Latencies::new(took).percentile(50)));
        figures.add(rows::BINARY, fs::metadata(&self.program)?.len() as f64 / 1e6);
        Ok(())
    }

    /// Measures the first request of a new home.
    pub(crate) async fn request(&self, figures: &mut FigureLog) -> Result<()> {
        let kept = tempfile::NamedTempFile::new_in(&self.below)?;
        let model = ModelManner { keep: Some(kept.path().to_owned()), ..ModelManner::default() };
        let home = self.home(&HomeSpec { model, ..synced() })?;
        let daemon = home.start().await?;
        let mut chat = ChatClient::open(&home.socket(), ChatNames::default().next()).await?;
        chat.turn(SHORT_QUESTION).await?;
        let body = fs::read(kept.path())?;
        let request: Value = serde_json::from_slice(&body).context("the request is no JSON")?;
        let tools = request["tools"].as_array().map_or(0, Vec::len);
        figures.add(rows::REQUEST, body.len() as f64);
        figures.add(rows::TOOLS, tools as f64);
        daemon.stop().await
    }

    /// Waits until memory and threads that were used last may be free again.
    async fn rest(&self) {
        sleep(Duration::from_millis(self.sizes.scaled(REST) as u64)).await;
    }
}

fn synced() -> HomeSpec {
    HomeSpec::new(DurabilitySetting::Synced)
}
