//! Tests of many people at once. Only the platform and the model are fakes: the log on disk, the network
//! and the clock are real.
//!
//! With `AVOCET_REAL_TIME=1`, as in `tests/long`, the platform bans a bot that sends too fast, and each
//! chat has a message before another has all. That needs a quiet machine: a busy one may deliver the
//! messages of two seconds in one, or begin a turn late. `pace_load_tests.rs` in channel-kit tests the
//! same with a manual clock, on any machine.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use avocet_testkit::openai::{ModelAnswer, OpenAiFake};
use avocet_testkit::telegram::TelegramFake;
use avocet_tests::{Home, now, program};
use serde_json::{Value, json};

use crate::model::{begun, config, held};
use crate::patience::{pause, stop, until, variable};
use crate::telegram::TOKEN;

const PEOPLE: i64 = 60;
const REPLIES: usize = 3;
/// The end of the last reply.
const END: &str = "a bird.";

/// Makes the platform's time follow the real time.
async fn time_passes(platform: &TelegramFake) -> ! {
    loop {
        platform.set_now(now());
        pause(Duration::from_millis(1)).await;
    }
}

/// Counts the chats in which the last reply is complete.
fn ended(platform: &TelegramFake) -> usize {
    platform.look(|sent| sent.iter().filter(|message| message.text.ends_with(END)).count())
}

/// Counts the results of all calls in a request.
fn results(request: &Value) -> usize {
    let messages = request["messages"].as_array().unwrap();
    messages.iter().filter(|message| message["role"] == "tool").count()
}

/// Each person gets two messages and a streamed answer with previews. In real time, the platform takes
/// 30 messages and edits a second, and bans a bot that sends more for 3 seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::disallowed_methods, reason = "the figure is printed, and nothing depends on it")]
async fn f6_flood_of_60_chats_has_few_refusals_and_a_fair_order() {
    let platform = TelegramFake::start(TOKEN).await;
    let rest = held();
    let permits = rest.clone();
    let model = OpenAiFake::start(move |request| match results(request) {
        0 => ModelAnswer::call("message", json!({ "text": "One." })),
        1 => ModelAnswer::call("message", json!({ "text": "Two." })),
        _ => begun("Once upon a time there was ", &permits, END),
    })
    .await;
    platform.set_now(now());
    let is_quiet = variable("AVOCET_REAL_TIME", 0) == 1;
    let most_refusals = if is_quiet {
        platform.ban_above(30, Duration::from_secs(3));
        5
    } else {
        0
    };
    let people: Vec<i64> = (1000..1000 + PEOPLE).collect();
    let telegram = format!(
        "[sessions]\nmax_running = 256\n[channels.telegram]\ntoken = \"${{TOKEN}}\"\n\
         api_url = \"{}\"\nallow = {people:?}\npairing = false\n",
        platform.base_url()
    );
    let home = Home::new(program!()).with_config(&config(&model, &telegram)).with("TOKEN", TOKEN);
    let daemon = home.daemon();
    let started = Instant::now();
    for person in &people {
        platform.private_text(*person, "hello");
    }
    let others = people.len() * (REPLIES - 1);
    let answered = async {
        until("the messages", async || platform.look(<[_]>::len) >= others).await;
        rest.add_permits(people.len());
        until("the answers", async || ended(&platform) == people.len()).await;
    };
    tokio::select! {
        () = answered => {}
        never = time_passes(&platform) => never,
    }
    let took = started.elapsed();

    let sends = platform.calls("sendMessage") + platform.calls("editMessageText");
    let chats: Vec<i64> = platform.look(|sent| sent.iter().map(|message| message.chat).collect());
    let mut had = BTreeMap::new();
    let most = chats.iter().map_while(|chat| {
        let is_first = had.len() < people.len();
        let count = had.entry(*chat).or_insert(0);
        *count += 1;
        is_first.then_some(*count)
    });
    let most = most.max().unwrap();
    let flooded = platform.refusals().len();
    println!(
        "{sends} messages and edits in {took:?}, {flooded} refusals, {most} before all had one"
    );
    assert_eq!(chats.len(), people.len() * REPLIES);
    assert!(flooded <= most_refusals, "{flooded} refusals");
    assert!(most < REPLIES || !is_quiet, "one chat had all its replies before another had any");
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
}
