//! The measurements without load: starting, idling, and memory that stays in use.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use avocet_testkit::socket::SocketClient;
use serde_json::json;

use crate::cli::DurabilitySetting;
use crate::clock::{now, sleep};
use crate::daemon::Home;
use crate::disk;
use crate::latencies::Latencies;
use crate::load::{ChatNames, LoadSpec};
use crate::loads::held;
use crate::measure::{Bench, progress};
use crate::model::ModelQuestion;
use crate::report::{Idle, MemorySample, Start, micros};
use crate::units::{bytes, count, plural};

/// Number of sessions that run at a time while the memory of many sessions is measured.
const AT_A_TIME: usize = 64;
/// Time limit for all of these sessions.
const COMING: Duration = Duration::from_mins(3);

impl Bench<'_> {
    /// Measures the time of a start and the memory afterwards, with an empty and with a long log.
    pub(crate) async fn starts(&self) -> Result<(Vec<Start>, Vec<MemorySample>)> {
        progress("starts");
        let home = self.home(DurabilitySetting::Synced, None)?;
        let first = start("the first, which makes the log".to_owned(), &home, 1).await?;
        let empty = start("an empty log".to_owned(), &home, self.options.starts).await?;
        let mut measured = vec![first, empty];
        if self.options.log == 0 {
            return Ok((measured, Vec::new()));
        }
        progress("starts with a long log");
        let took = disk::fill(&home.database(), self.options.log)?;
        let size = bytes(fs::metadata(home.database())?.len());
        let of =
            format!("{}, {size} (by SQL, in {:.1} s)", log(self.options.log), took.as_secs_f64());
        measured.push(start(of, &home, self.options.starts).await?);
        let daemon = home.start().await?;
        let memory = held(&daemon, format!("started with {}", log(self.options.log)))?;
        daemon.stop().await?;
        Ok((measured, vec![memory]))
    }

    /// Measures the memory that stays in use after many sessions. Each attaches, asks, gets its
    /// reply and disconnects.
    pub(crate) async fn seen(&self) -> Result<Vec<MemorySample>> {
        if self.options.seen == 0 {
            return Ok(Vec::new());
        }
        progress(&format!("the memory of {} sessions", count(self.options.seen)));
        let home = self.home(DurabilitySetting::Process, None)?;
        let daemon = home.start().await?;
        let (turns, ask) = (self.options.seen, ModelQuestion::Plain);
        let load = LoadSpec { sessions: AT_A_TIME, turns, limit: COMING, ask, turns_per_chat: 1 };
        let came = load.turns(&home.socket(), &ChatNames::default()).await?.latencies.count();
        let memory =
            held(&daemon, format!("after {} have come and gone", plural(came, "session")))?;
        daemon.stop().await?;
        Ok(vec![memory])
    }

    /// Measures wake-ups, CPU time and memory of an idle daemon with this number of schedules.
    pub(crate) async fn idle(&self, schedules: usize) -> Result<Vec<Idle>> {
        let seconds = self.options.idle;
        if seconds == 0 {
            return Ok(Vec::new());
        }
        progress(&format!("{seconds} s of idling with {}", plural(schedules, "schedule")));
        let home = self.home(DurabilitySetting::Synced, None)?;
        let daemon = home.start().await?;
        add_schedules(&home.socket(), schedules).await?;
        let process = daemon.process();
        // Lets the work that the start has begun finish.
        sleep(Duration::from_secs(1)).await;
        let (wake_ups, cpu) = (process.wake_ups()?, process.cpu()?);
        sleep(Duration::from_secs(seconds)).await;
        let wake_ups = process.wake_ups()? - wake_ups;
        let (cpu_us, memory) = (micros(process.cpu()? - cpu), process.memory()?);
        Ok(vec![Idle { schedules, seconds, wake_ups, cpu_us, memory }])
    }
}

/// Adds reminders whose times are a year away.
async fn add_schedules(socket: &Path, number: usize) -> Result<()> {
    if number == 0 {
        return Ok(());
    }
    let client = SocketClient::connect(socket).await?;
    let reminder = json!({
        "chat": "terminal:local:bench", "kind": "private", "times": { "every": "365 days" },
        "work": { "text": "A year has passed." }, "catch_up": "once", "quiet": true,
    });
    for _ in 0..number {
        let added = client.call("schedule.add", reminder.clone()).await;
        added.map_err(|error| anyhow::anyhow!("schedule.add: {error:?}"))?;
    }
    Ok(())
}

fn log(sessions: usize) -> String {
    format!("a log of {} and messages", plural(sessions, "session"))
}

/// Measures the median of `starts` starts.
async fn start(of: String, home: &Home, starts: usize) -> Result<Start> {
    let mut took = Vec::new();
    for _ in 0..starts {
        let began = now();
        let daemon = home.start().await?;
        took.push(began.elapsed());
        daemon.stop().await?;
    }
    Ok(Start { of, starts, median_us: micros(Latencies::new(took).percentile(50)) })
}
