//! Replays a day's traffic at the platforms' top speed: checks the order per chat, and the memory.
//! `AVOCET_ROUNDS` sets the number of messages in each chat; `tests/long` takes more.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::time::Duration;

use avocet_protocol::clock::Clock;
use avocet_supervise::SystemClock;
use avocet_testkit::discord::DiscordFake;
use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_user_text};
use avocet_testkit::telegram::TelegramFake;
use avocet_tests::{Home, now, program};

use crate::model::config;
use crate::patience::{stop, until_within, variable};

/// Chats on each of the two platforms, and the default number of messages in each.
const CHATS: u64 = 250;
const ROUNDS: u64 = 4;
/// The first person's number on Telegram.
const FIRST: u64 = 1000;
/// The patience for each message of a chat. Telegram lets a bot send thirty messages a second.
const PATIENCE_PER_ROUND: Duration = Duration::from_secs(60);
/// The allowed growth of memory after a tenth of the traffic: caches fill, histories grow.
const GROWTH: u64 = 32 * 1024 * 1024;

/// Returns the resident memory of a process, in bytes.
fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kilobytes * 1024
}

fn config_of(telegram: &TelegramFake, discord: &DiscordFake, users: &[u64]) -> String {
    let ids = |ids: Vec<u64>| ids.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    format!(
        "[channels.telegram]\ntoken = \"4711:AA\"\napi_url = \"{}\"\nowners = [{}]\n\
         [channels.discord]\ntoken = \"discord\"\napi_url = \"{}\"\nowners = [{}]\n",
        telegram.base_url(),
        ids((FIRST..FIRST + CHATS).collect()),
        discord.base_url(),
        ids(users.to_vec())
    )
}

/// Prints a line even if the test passes.
#[expect(clippy::explicit_write, reason = "what eprintln! prints is kept back by the harness")]
fn show(text: &str) {
    writeln!(std::io::stderr(), "\n{text}").unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replay_of_a_days_traffic_keeps_the_order_of_chats_and_bounds_memory() {
    let rounds = variable("AVOCET_ROUNDS", ROUNDS);
    let (each, patience) = ((CHATS * rounds) as usize, PATIENCE_PER_ROUND * rounds as u32);
    let (telegram, discord) =
        (TelegramFake::start("4711:AA").await, DiscordFake::start("discord").await);
    telegram.set_now(now());
    discord.set_now(now());
    discord.limit_rates(false);
    let users: Vec<u64> = (0..CHATS).map(|number| discord.user(&format!("u{number}"))).collect();
    let channels: Vec<u64> = users.iter().map(|user| discord.dm(*user)).collect();
    let model = OpenAiFake::start(|request| ModelAnswer::says(last_user_text(request))).await;
    let home =
        Home::new(program!()).with_config(&config(&model, &config_of(&telegram, &discord, &users)));
    let daemon = home.daemon();
    let pid = daemon.pid();
    let clock = SystemClock::new();
    for round in 0..rounds {
        for (chat, (user, channel)) in (FIRST..).zip(users.iter().zip(&channels)) {
            telegram.private_text(chat.cast_signed(), &format!("message {round}"));
            discord.say(*channel, *user, &format!("message {round}"));
        }
    }
    let sent = || telegram.look(<[_]>::len) + discord.look(<[_]>::len);
    until_within(patience, "a tenth", async || sent() >= each / 5).await;
    let early = resident(pid);
    until_within(patience, "everything", async || sent() >= 2 * each).await;
    let (late, took) = (resident(pid), clock.elapsed());
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");

    let mut said: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    telegram.look(|sent| {
        for one in sent {
            said.entry(one.chat.cast_unsigned()).or_default().push(one.text.clone());
        }
    });
    discord.look(|sent| {
        for one in sent {
            said.entry(one.channel).or_default().push(one.text.clone());
        }
    });
    let expected: Vec<String> = (0..rounds).map(|round| format!("message {round}")).collect();
    assert_eq!(said.len(), 2 * CHATS as usize);
    for (chat, texts) in said {
        assert_eq!(texts, expected, "{chat}");
    }
    let megabytes = |bytes: u64| bytes as f64 / 1024.0 / 1024.0;
    show(&format!(
        "{} messages over {} chats in {:.0} s; resident {:.1} MiB after a tenth, {:.1} MiB at the end",
        2 * each,
        2 * CHATS,
        took.as_secs_f64(),
        megabytes(early),
        megabytes(late)
    ));
    assert!(late < early + GROWTH, "from {early} to {late} bytes");
    assert_eq!((telegram.refusals(), discord.refusals()), (vec![], vec![]));
}
