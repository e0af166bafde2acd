//! The heart: the real program, killed with SIGKILL again and again while people talk to it, and an
//! oracle that is never killed and owns everything outside: the model, the terminals, Telegram and
//! Discord, the world that the tool `post` has an effect on. Nothing may be lost, doubled without a mark,
//! reordered or run twice. The people change the queue mode, say `/stop` and `/new`, and edit what they said.
//!
//! `AVOCET_KILLS` sets how often, `AVOCET_SEED` replays a run.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod crowd;
mod model;
mod oracle;
mod person;
mod platform;
mod posts;
mod random;
mod script;
mod states;
mod world;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use avocet_tests::program;

use oracle::Oracle;
use person::pause;
use random::Random;
use states::{Histogram, PREVIEW};
use world::{Verdict, World};

/// People who talk at the same time, each in a session of their own.
const PEOPLE: usize = 20;
/// Kills at random, by default.
const KILLS: u64 = 300;
/// The longest life of a daemon, in requests to the model, so that a slow machine does not make
/// the lives of daemons poorer.
const LONGEST_LIFE: u64 = 80;
/// People on each of the platforms.
const PEOPLE_ON_EACH: usize = 10;
/// As [`LONGEST_LIFE`], where a chat is written to about once a second.
const LONGEST_LIFE_ON_PLATFORMS: u64 = 20;
/// Where answers take longer than many a daemon lives, some are given up after three attempts.
const MOST_FAILED_ON_PLATFORMS: usize = 10;
/// What Discord allows before it resets the token.
const IDENTIFIES_A_DAY: usize = 1000;
/// How long a request takes, or longer: what is added to a life so that it ends anywhere.
const A_REQUEST: Duration = Duration::from_millis(40);
/// The longest life of a daemon that is killed while it starts.
const LONGEST_START: Duration = Duration::from_millis(30);
/// How long the last daemon may take to answer everything.
const PATIENCE: Duration = Duration::from_secs(120);

/// Every write that a message over the socket goes through, and with it a fail point before and after
/// it. Those of previews and attachments are passed in tests/service.
const WRITES: [&str; 13] = [
    "accept",
    "claim",
    "record-step",
    "start-call",
    "finish-call",
    "close-step",
    "settle",
    "start-send",
    "finish-send",
    "reserve-wait",
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

/// Daemons that live for up to so many requests to the model.
async fn kill_at_random(world: &World, longest_life: u64, seed: u64) -> Histogram {
    let kills = variable("AVOCET_KILLS", KILLS);
    show(&format!("{kills} kills with AVOCET_SEED={seed}"));
    let mut random = Random::new(seed);
    let mut histogram = Histogram::default();
    for _ in 0..kills {
        let mut daemon = world.home.spawn(&["run"]);
        // One in eight dies while it starts.
        if random.below(8) == 0 {
            pause(random.part_of(LONGEST_START)).await;
        } else {
            daemon.wait_until_ready();
            world.live(random.below(longest_life)).await;
            pause(random.part_of(A_REQUEST)).await;
        }
        let booting = !daemon.has_been_ready();
        world.kill(daemon).await;
        histogram.count(&world.home.data_dir(), booting);
    }
    histogram
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_random_it_loses_nothing_and_repeats_nothing() {
    let seed = variable("AVOCET_SEED", random::seed());
    let world = World::start(program!(), PEOPLE, seed).await;
    let histogram = kill_at_random(&world, LONGEST_LIFE, seed).await;
    let verdict = ends_well(world, &histogram).await;
    assert_eq!(histogram.empty_rows(), [PREVIEW], "the socket has no previews");
    verdict.check(1);
}

/// In the middle of a preview and of a send, too. On Telegram a send of unknown outcome is made
/// again once, marked; Discord recognises it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_on_the_platforms_it_loses_nothing_and_repeats_nothing() {
    let seed = variable("AVOCET_SEED", random::seed());
    let world = World::on_platforms(program!(), PEOPLE_ON_EACH, seed).await;
    let histogram = kill_at_random(&world, LONGEST_LIFE_ON_PLATFORMS, seed).await;
    let identifies = world.identifies();
    let verdict = ends_well(world, &histogram).await;
    show(&format!("{identifies} IDENTIFYs"));
    assert!(identifies <= IDENTIFIES_A_DAY, "{identifies} IDENTIFYs");
    assert_eq!(histogram.empty_rows(), [""; 0]);
    verdict.check(MOST_FAILED_ON_PLATFORMS);
}

/// Waits until everybody is answered by one more daemon, which is not killed.
async fn ends_well(world: World, histogram: &Histogram) -> Verdict {
    world.stop_talking();
    let daemon = world.home.daemon();
    world.everybody_is_answered(PATIENCE).await;
    let (status, log) = daemon.stop();
    assert!(status.success(), "{log}");
    let verdict = world.verdict();
    show(&format!("{histogram}\n{verdict}"));
    verdict
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_every_fail_point_it_loses_nothing_and_repeats_nothing() {
    for write in WRITES {
        for moment in ["before", "after"] {
            let point = format!("{write}:{moment}");
            let world = World::start(program!(), 6, variable("AVOCET_SEED", random::seed())).await;
            assert!(world.dies_at(&point).await, "nothing passes {point}");
            world.stop_talking();
            let daemon = world.home.daemon();
            world.everybody_is_answered(PATIENCE).await;
            let (status, log) = daemon.stop();
            assert!(status.success(), "{point}: {log}");
            show(&format!("killed at {point}\n{}", world.verdict()));
            world.verdict().check(1);
        }
    }
}

/// What the parts share.
type Shared = Arc<Oracle>;
