//! The kill test: the real program is killed with SIGKILL again and again while people talk to it.
//! An oracle, which is never killed, owns everything outside: the model, the terminals, Telegram
//! and Discord, and the world that the tool `post` acts on. No message may be lost, doubled without
//! a mark, reordered or run twice. The people change the queue mode, send `/stop` and `/new`, and
//! edit messages. Planners give the agent tasks, jobs and schedules: each due time happens once,
//! each job ends in one state, and no effect takes place twice.
//!
//! `AVOCET_KILLS` sets the number of kills, `AVOCET_SEED` replays a run. `tests/run` sets a fixed seed,
//! and `tests/long` makes thousands of kills with random ones.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod crowd;
mod external;
mod failures;
mod long_answers;
mod model;
mod oracle;
mod person;
mod planner;
mod platform;
mod posts;
mod random;
mod script;
mod states;
mod subscriber;
mod verdict;
mod work;
mod work_verdict;
mod world;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use avocet_tests::program;

use failures::{AllowedFailure, OF_MANY_KILLS};
use oracle::Oracle;
use person::pause;
use random::Random;
use states::{Histogram, PREVIEW};
use subscriber::Subscriber;
use verdict::RunVerdict;
use work_verdict::WorkVerdict;
use world::{World, needs_an_earlier_kill};

/// People who talk at the same time, each in another session.
const PEOPLE: usize = 20;
/// People who give the agent work that outlives the answer, at the same time.
const PLANNERS: usize = 6;
/// The default number of random kills.
const KILLS: u64 = 100;
/// The default number of kills of a daemon with a webhook.
const WEBHOOK_KILLS: u64 = 30;
/// The longest life of a daemon, in requests to the model, so that lives on a slow machine cover as
/// many states.
const LONGEST_LIFE: u64 = 110;
/// The default number of kills of a subscriber; every third one kills the daemon too.
const SUBSCRIBER_KILLS: u64 = 100;
/// People whose messages make the events, at the same time.
const SUBSCRIBED_PEOPLE: usize = 4;
/// The longest life of a subscriber, in requests to the model.
const LONGEST_SUBSCRIBED_LIFE: u64 = 8;
/// Worlds with platforms that exist side by side, each with its part of the kills: their chats
/// spend most of the time waiting for the platforms' limits.
const WORLDS_ON_PLATFORMS: u64 = 3;
/// People on each of the platforms.
const PEOPLE_ON_EACH: usize = 10;
/// Like [`LONGEST_LIFE`], for chats that are limited to about one message per second.
const LONGEST_LIFE_ON_PLATFORMS: u64 = 20;
/// With fewer kills, a rare state may be missed by chance. The fail points hit each state in any
/// case.
const ENOUGH_FOR_EVERY_STATE: u64 = 250;
/// Discord's limit, after which it resets the token.
const IDENTIFIES_A_DAY: usize = 1000;
/// At least the time of a request. A random part of it is added to a life, so that the kill comes
/// at any point.
const A_REQUEST: Duration = Duration::from_millis(40);
/// The longest life of a daemon that is killed while it starts.
const LONGEST_START: Duration = Duration::from_millis(30);
/// The time for the last daemon to answer everything.
const PATIENCE: Duration = Duration::from_secs(120);

/// Every write that a message over the socket goes through; each has a fail point before and after
/// it. The tests of the service cover those of previews, attachments and steps that end with a
/// wait.
const WRITES: [&str; 12] = [
    "accept",
    "claim",
    "record-step",
    "start-call",
    "finish-call",
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

/// Prints a line even if the test passes.
#[expect(clippy::explicit_write, reason = "what eprintln! prints is kept back by the harness")]
fn show(text: &str) {
    writeln!(std::io::stderr(), "\n{text}").unwrap();
}

/// Kills daemons at random after up to `longest_life` requests to the model.
async fn kill_times(world: &World, kills: u64, longest_life: u64, seed: u64) -> Histogram {
    show(&format!("{kills} kills with AVOCET_SEED={seed}"));
    let mut random = Random::new(seed);
    let mut histogram = Histogram::default();
    for _ in 0..kills {
        let mut daemon = world.home.spawn(&["run"]);
        // One daemon in eight is killed while it starts.
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
async fn kill_at_random_moments_loses_and_repeats_nothing() {
    let seed = variable("AVOCET_SEED", random::seed());
    let world = World::start(program!(), PEOPLE, seed).await.with_planners(PLANNERS);
    let kills = variable("AVOCET_KILLS", KILLS);
    let histogram = kill_times(&world, kills, LONGEST_LIFE, seed).await;
    let verdict = ends_well(&world, &histogram).await;
    let work = WorkVerdict::new(&world, OF_MANY_KILLS);
    show(&work.to_string());
    if kills >= ENOUGH_FOR_EVERY_STATE {
        assert_eq!(histogram.empty_rows(), [PREVIEW], "the socket has no previews");
    }
    work.check();
    verdict.check();
}

/// Kills also hit previews and sends. On Telegram a send of unknown outcome is repeated once,
/// marked; Discord recognises the repetition.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[expect(clippy::disallowed_methods, reason = "a world waits for its daemons in a blocking way")]
async fn kill_on_telegram_and_discord_loses_and_repeats_nothing() {
    let seed = variable("AVOCET_SEED", random::seed());
    let kills = variable("AVOCET_KILLS", KILLS).div_ceil(WORLDS_ON_PLATFORMS);
    let seeds = seed..seed + WORLDS_ON_PLATFORMS;
    let worlds: Vec<_> = seeds.map(|seed| tokio::spawn(kill_on_platforms(kills, seed))).collect();
    let mut histogram = Histogram::default();
    for world in worlds {
        histogram.add(&world.await.unwrap());
    }
    show(&histogram.to_string());
    if kills * WORLDS_ON_PLATFORMS >= ENOUGH_FOR_EVERY_STATE {
        assert_eq!(histogram.empty_rows(), [""; 0]);
    }
}

async fn kill_on_platforms(kills: u64, seed: u64) -> Histogram {
    let world = World::on_platforms(program!(), PEOPLE_ON_EACH, seed).await;
    let histogram = kill_times(&world, kills, LONGEST_LIFE_ON_PLATFORMS, seed).await;
    let identifies = world.identifies();
    let verdict = ends_well(&world, &histogram).await;
    show(&format!("{identifies} IDENTIFYs"));
    assert!(identifies <= IDENTIFIES_A_DAY, "{identifies} IDENTIFYs");
    verdict.check();
    histogram
}

/// Telegram repeats an update until the daemon has committed it and lived long enough to answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_behind_a_webhook_loses_and_repeats_nothing() {
    let seed = variable("AVOCET_SEED", random::seed());
    let kills = variable("AVOCET_KILLS", WEBHOOK_KILLS);
    let world = World::behind_a_webhook(program!(), PEOPLE_ON_EACH, seed).await;
    let histogram = kill_times(&world, kills, LONGEST_LIFE_ON_PLATFORMS, seed).await;
    ends_well(&world, &histogram).await.check();
}

/// A subscriber and the daemon are killed in turn or together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_of_a_subscriber_and_the_daemon_misses_no_event() {
    let seed = variable("AVOCET_SEED", random::seed());
    let kills = variable("AVOCET_KILLS", SUBSCRIBER_KILLS);
    show(&format!("{kills} kills of a subscriber with AVOCET_SEED={seed}"));
    let mut random = Random::new(seed);
    let world = World::start(program!(), SUBSCRIBED_PEOPLE, seed).await;
    let mut subscriber = Subscriber::new();
    let mut daemon = world.home.daemon();
    for kill in 0..kills {
        subscriber.start(&world.home);
        world.live(random.below(LONGEST_SUBSCRIBED_LIFE)).await;
        pause(random.part_of(A_REQUEST)).await;
        subscriber.kill();
        if kill % 3 == 0 {
            daemon.kill();
            daemon = world.home.daemon();
        }
    }
    subscriber.start(&world.home);
    world.stop_talking();
    world.everybody_is_answered(PATIENCE).await;
    world.newest_event_is(&subscriber).await;
    let (status, log) = daemon.stop();
    assert!(status.success(), "{log}");
    subscriber.kill();
    show(&format!(
        "{} of {} events came again",
        subscriber.check(&world.home),
        subscriber.newest()
    ));
    RunVerdict::new(&world, OF_MANY_KILLS).check();
}

/// Runs one more daemon, without killing it, until everybody is answered.
async fn ends_well(world: &World, histogram: &Histogram) -> RunVerdict {
    world.stop_talking();
    let daemon = world.home.daemon();
    world.everybody_is_answered(PATIENCE).await;
    let (status, log) = daemon.stop();
    assert!(status.success(), "{log}");
    let verdict = RunVerdict::new(world, OF_MANY_KILLS);
    show(&format!("{histogram}\n{verdict}"));
    let is_warning = |line: &&str| [" WARN ", "ERROR "].iter().any(|level| line.contains(level));
    let warnings: Vec<&str> = log.lines().filter(is_warning).collect();
    show(&format!("Warnings of the last daemon:\n{}", warnings.join("\n")));
    verdict
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_at_every_fail_point_loses_and_repeats_nothing() {
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
            // One kill explains no failure, and the two that some writes need only one of them.
            let allowed: &[_] = if needs_an_earlier_kill(write) {
                &[AllowedFailure::UnconfirmedAnswer]
            } else {
                &[]
            };
            let verdict = RunVerdict::new(&world, allowed);
            show(&format!("killed at {point}\n{verdict}"));
            verdict.check();
        }
    }
}

/// The oracle, shared by all parts of the test.
type SharedOracle = Arc<Oracle>;
