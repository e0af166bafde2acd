//! The heart: the real program, killed with SIGKILL again and again while twenty people talk to it,
//! and an oracle that is never killed and owns everything outside: the model, the terminals, the
//! world that the tool `post` has an effect on. Nothing may be lost, doubled without a mark,
//! reordered or run twice.
//!
//! `AVOCET_KILLS` sets how often, `AVOCET_SEED` replays a run.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod model;
mod oracle;
mod person;
mod posts;
mod random;
mod states;
mod world;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use avocet_tests::program;

use oracle::Oracle;
use person::pause;
use random::Random;
use states::Histogram;
use world::World;

/// People who talk at the same time, each in a session of their own.
const PEOPLE: usize = 20;
/// Kills at random, by default.
const KILLS: u64 = 300;
/// The longest life of a daemon, in requests to the model, so that a slow machine does not make
/// the lives of daemons poorer.
const LONGEST_LIFE: u64 = 80;
/// How long a request takes, or longer: what is added to a life so that it ends anywhere.
const A_REQUEST: Duration = Duration::from_millis(40);
/// The longest life of a daemon that is killed while it starts.
const LONGEST_START: Duration = Duration::from_millis(30);
/// How long the last daemon may take to answer everything.
const PATIENCE: Duration = Duration::from_secs(120);

/// Every write to the log, and with it every fail point, each with `before` and `after`.
const WRITES: [&str; 12] = [
    "accept",
    "claim",
    "record-step",
    "start-call",
    "finish-call",
    "close-step",
    "settle",
    "start-send",
    "finish-send",
    "wait",
    "settle-command",
    "release",
];

#[expect(clippy::disallowed_methods, reason = "how often, and which seed, is set from outside")]
fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

/// What is to be seen of a run that passes, too.
#[expect(clippy::explicit_write, reason = "what eprintln! prints is kept back by the harness")]
fn show(text: &str) {
    writeln!(std::io::stderr(), "\n{text}").unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_random_it_loses_nothing_and_repeats_nothing() {
    let (kills, seed) = (variable("AVOCET_KILLS", KILLS), variable("AVOCET_SEED", random::seed()));
    show(&format!("{kills} kills with AVOCET_SEED={seed}"));
    let mut random = Random::new(seed);
    let world = World::start(program!(), PEOPLE).await;
    let mut histogram = Histogram::default();
    for _ in 0..kills {
        let mut daemon = world.home.spawn(&["run"]);
        // One in eight dies while it starts.
        if random.below(8) == 0 {
            pause(random.part_of(LONGEST_START)).await;
        } else {
            daemon.wait_until_ready();
            world.live(random.below(LONGEST_LIFE)).await;
            pause(random.part_of(A_REQUEST)).await;
        }
        let booting = !daemon.has_been_ready();
        daemon.kill();
        histogram.count(&world.home.data_dir(), booting);
    }
    world.stop_talking();
    let daemon = world.home.daemon();
    world.everybody_is_answered(PATIENCE).await;
    let (status, log) = daemon.stop();
    assert!(status.success(), "{log}");
    let verdict = world.verdict();
    show(&format!("{histogram}\n{verdict}"));
    assert_eq!(histogram.empty_rows(), [""; 0]);
    verdict.check();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_every_fail_point_it_loses_nothing_and_repeats_nothing() {
    for write in WRITES {
        for moment in ["before", "after"] {
            let point = format!("{write}:{moment}");
            let world = World::start(program!(), 6).await;
            assert!(world.dies_at(&point).await, "nothing passes {point}");
            world.stop_talking();
            let daemon = world.home.daemon();
            world.everybody_is_answered(PATIENCE).await;
            let (status, log) = daemon.stop();
            assert!(status.success(), "{point}: {log}");
            world.verdict().check();
        }
    }
}

/// What the parts share.
type Shared = Arc<Oracle>;
