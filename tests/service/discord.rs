//! Tests of Discord from end to end: the real program between the strict fake and the model.

use std::time::Duration;

use avocet_testkit::discord::{DiscordFake, Route, UserMessage};
use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_user_text};
use avocet_tests::{Home, SINK, now, program};
use serde_json::json;

use crate::log::number;
use crate::model::{asked, begun, config, first_and_then, held, held_back};
use crate::patience::{stop, until, with_timeout};
use crate::sink::{Sink, posts_once};

const TOKEN: &str = "discord.secret";
const ANN: u64 = 7;

/// A platform without rate limits, on the program's time.
async fn platform() -> DiscordFake {
    let platform = DiscordFake::start(TOKEN).await;
    platform.limit_rates(false);
    platform.set_now(now());
    platform
}

/// Creates a home whose daemon is the bot of this platform, and whose owner is Ann.
pub(crate) fn home(platform: &DiscordFake, model: &OpenAiFake) -> Home {
    let discord = format!(
        "[channels.discord]\ntoken = \"${{TOKEN}}\"\napi_url = \"{}\"\nowners = [{ANN}]\n",
        platform.base_url()
    );
    Home::new(program!()).with_config(&config(model, &discord)).with("TOKEN", TOKEN)
}

fn texts(platform: &DiscordFake) -> Vec<String> {
    platform.sent().into_iter().map(|message| message.text).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f32_discord_answers_messages_and_those_missed_during_downtime() {
    let platform = platform().await;
    let model = OpenAiFake::start(|request| {
        ModelAnswer::says(format!("**You** said: {}", last_user_text(request)))
    })
    .await;
    let home = home(&platform, &model);
    let dm = platform.dm(ANN);
    let daemon = home.daemon();
    platform.say(dm, ANN, "one");
    with_timeout("the answer", platform.wait_for_sent(1)).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success() && !log.contains("secret"), "{log}");
    platform.say(dm, ANN, "two");

    let daemon = home.daemon();
    with_timeout("the second answer", platform.wait_for_sent(2)).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!(texts(&platform), ["**You** said: one", "**You** said: two"]);
    assert_eq!((platform.identifies().len(), platform.refusals()), (2, vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn discord_answers_once_after_a_kill_during_an_answer() {
    let platform = platform().await;
    let never = held();
    let model =
        first_and_then(move |_| begun("I ", &never, "never"), |_| ModelAnswer::says("Now.")).await;
    let home = home(&platform, &model);
    let daemon = home.daemon();
    platform.say(platform.dm(ANN), ANN, "Tell me.");
    asked(&model, 1).await;
    daemon.kill();

    let daemon = home.daemon();
    with_timeout("the answer", platform.wait_for_sent(1)).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!((texts(&platform), model.requests().len()), (vec!["Now.".to_owned()], 2));
    assert_eq!(platform.created().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f14_discord_answers_the_first_slash_command_of_a_stranger_with_a_code() {
    const BOB: u64 = 8;
    let platform = platform().await;
    let model = OpenAiFake::start(|_| ModelAnswer::says("never")).await;
    let daemon = home(&platform, &model).daemon();
    with_timeout("the commands", platform.wait_for_calls(Route::SetCommands, 1)).await;
    platform.slash(BOB, platform.dm(BOB), "help", &json!([]));
    // One of them is Discord's own reply to the command.
    let told = with_timeout("the hint", platform.wait_for_sent(2)).await;
    assert!(told.iter().any(|one| one.text.starts_with("I do not know you yet")), "{told:?}");
    let (status, log) = stop(daemon).await;
    assert!(status.success() && model.requests().is_empty(), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn discord_answer_in_a_channel_refers_to_its_message_without_a_mention() {
    let platform = platform().await;
    let model = OpenAiFake::start(|_| ModelAnswer::says("Hello.")).await;
    platform.dm(ANN);
    let channel = platform.channel(platform.guild("Birds"), "general");
    let daemon = home(&platform, &model).daemon();
    with_timeout("the commands", platform.wait_for_calls(Route::SetCommands, 1)).await;
    platform.say(channel, ANN, "good morning");
    let said = platform.post(UserMessage::new(channel, ANN, "are you there?").mention());
    let answer = with_timeout("the answer", platform.wait_for_sent(1)).await.remove(0);
    assert_eq!((answer.reply_to, answer.pings), (Some(said), false));
    assert_eq!((platform.mentioned(), platform.refusals()), (vec![], vec![]));
    assert!(stop(daemon).await.0.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn discord_answers_the_last_version_of_messages_edited_during_downtime() {
    let (platform, gate) = (platform().await, held());
    let permits = gate.clone();
    let model = OpenAiFake::start(move |request| {
        held_back(&permits, &format!("You said: {}", last_user_text(request)))
    })
    .await;
    let home = home(&platform, &model);
    let (dm, daemon) = (platform.dm(ANN), home.daemon());
    platform.say(dm, ANN, "one");
    asked(&model, 1).await;
    let waiting = platform.say(dm, ANN, "tow");
    until("two messages", async || number(&home, "SELECT count(*) FROM inbound") == 2).await;
    daemon.kill();
    platform.advance(Duration::from_secs(1));
    platform.edit(waiting, "two");
    let missed = platform.say(dm, ANN, "there");
    platform.edit(missed, "three");

    let daemon = home.daemon();
    let edited = "SELECT count(*) FROM inbound WHERE edited_at IS NOT NULL";
    until("the edits", async || number(&home, edited) == 2).await;
    gate.add_permits(10);
    with_timeout("the answers", platform.wait_for_sent(3)).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!(texts(&platform), ["You said: one", "You said: two", "You said: three"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn discord_repeats_an_open_question_pressed_during_downtime() {
    let (platform, sink) = (platform().await, Sink::start().await);
    let model = OpenAiFake::start(posts_once).await;
    let home = home(&platform, &model).with(SINK, &sink.address);
    let (dm, daemon) = (platform.dm(ANN), home.daemon());
    platform.say(dm, ANN, "Post it.");
    sink.posted().await;
    daemon.kill();
    let daemon = home.daemon();
    let asked = with_timeout("the choice", platform.wait_for_sent(1)).await.remove(0);
    let is_sent = "SELECT count(*) FROM outbox WHERE state = 'sent' AND source = 'prompt'";
    until("the choice in the log", async || number(&home, is_sent) == 1).await;
    stop(daemon).await;
    platform.press(ANN, asked.id, "/skip w1");
    let daemon = home.daemon();
    let again = with_timeout("the choice again", platform.wait_for_sent(2)).await.remove(1);
    assert_eq!(again.text, format!("Still waiting for a decision:\n{}", asked.text));
    assert_eq!(again.buttons().len(), 2);
    platform.wait_for_connected().await;
    platform.press(ANN, asked.id, "/skip w1");
    with_timeout("the answer", platform.wait_for_sent(3)).await;
    let shown = texts(&platform);
    let is_skipped = |text: &String| text.starts_with("Skipped by ");
    assert!(shown[..2].iter().all(is_skipped), "an old button works, and both end: {shown:?}");
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!((sink.posts().len(), platform.refusals()), (1, vec![]));
}
