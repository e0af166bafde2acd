//! Tests of an idle daemon (F19): it sleeps, and asks no model. `AVOCET_IDLE_SECONDS` sets how long it
//! is watched.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::time::Duration;

use avocet_testkit::openai::{ModelAnswer, OpenAiFake};
use avocet_tests::{Home, program};

use crate::model::config;
use crate::patience::{pause, stop, until, variable};

/// The default time of the measurement. It shows a loop that looks for work again and again.
/// `tests/long` watches for minutes, so that the timers of the daemon are counted, too.
const SECONDS: u64 = 5;
/// The requirement: one wake-up in five seconds.
const SECONDS_PER_WAKE_UP: u64 = 5;
/// A shorter time may hold all wake-ups of a minute: its timers may end together.
const SHORTEST_TO_JUDGE: u64 = 65;
/// After a silence of this length, the start counts as complete.
const SILENCE: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_daemon_sleeps_and_calls_no_model() {
    let model = OpenAiFake::start(|_| ModelAnswer::says("Nobody asked.")).await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let daemon = home.daemon();
    let mut before = WakeUps::of(daemon.pid());
    until("the end of the start", async || {
        pause(SILENCE).await;
        let last = std::mem::replace(&mut before, WakeUps::of(daemon.pid()));
        before.since(&last).total() == 0
    })
    .await;
    let seconds = variable("AVOCET_IDLE_SECONDS", SECONDS);
    pause(Duration::from_secs(seconds)).await;
    let woken = WakeUps::of(daemon.pid()).since(&before);
    let most = seconds.max(SHORTEST_TO_JUDGE) / SECONDS_PER_WAKE_UP;
    assert!(woken.total() <= most, "woken in {seconds} s:\n{woken}");
    assert_eq!(model.requests().len(), 0);
    stop(daemon).await;
}

/// The voluntary sleeps of each thread of a process, by its id.
struct WakeUps(BTreeMap<String, Thread>);

struct Thread {
    name: String,
    count: u64,
}

impl WakeUps {
    fn of(pid: u32) -> Self {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let threads = threads.map(|thread| thread.unwrap());
        // A thread may end meanwhile.
        let status = |path| fs::read_to_string(path).ok();
        let found = threads.filter_map(|thread| {
            let status = status(thread.path().join("status"))?;
            let id = thread.file_name().into_string().unwrap();
            let count = field(&status, "voluntary_ctxt_switches").parse().unwrap();
            Some((id, Thread { name: field(&status, "Name").to_owned(), count }))
        });
        Self(found.collect())
    }

    fn since(&self, before: &Self) -> Self {
        let grown = self.0.iter().map(|(id, now)| {
            let earlier = before.0.get(id).map_or(0, |thread| thread.count);
            (id.clone(), Thread { name: now.name.clone(), count: now.count - earlier })
        });
        Self(grown.collect())
    }

    fn total(&self) -> u64 {
        self.0.values().map(|thread| thread.count).sum()
    }
}

impl fmt::Display for WakeUps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.values().try_for_each(|thread| writeln!(f, "{:5} {}", thread.count, thread.name))
    }
}

/// Returns a field of proc_pid_status(5).
fn field<'s>(status: &'s str, name: &str) -> &'s str {
    let mut lines = status.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(found, _)| *found == name).unwrap().1.trim()
}
