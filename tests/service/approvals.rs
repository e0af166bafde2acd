//! Tests of approvals on the platforms: by buttons, by different people, repeatedly, and after
//! events.

use avocet_testkit::discord::{DiscordFake, DiscordMessage};
use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results, last_user_text};
use avocet_testkit::telegram::{SentMessage, TelegramFake};
use avocet_tests::{DaemonProcess, Home, SINK, now, program};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::log::number;
use crate::model::{config, held, held_back};
use crate::patience::{stop, until, with_timeout};
use crate::sink::Sink;

const TOKEN: &str = "4711:AA-secret";
const ANN: i64 = 7;
const BOB: i64 = 8;
const ASK: &str = "[tools.policy]\npost = \"ask\"\n";
const DECIDED: &str = "No call waits for approval here, or it is decided already.";

/// A model that posts the text of the user, and then reports the result.
fn posts(request: &Value) -> ModelAnswer {
    match last_results(request)[..] {
        [] => ModelAnswer::call("post", json!({ "text": last_user_text(request) })),
        ref results => ModelAnswer::says(results.join(" ")),
    }
}

async fn sink() -> Sink {
    let sink = Sink::start().await;
    sink.gate.add_permits(100);
    sink
}

fn on_telegram(platform: &TelegramFake, model: &OpenAiFake, sink: &Sink) -> Home {
    platform.set_now(now());
    let telegram = format!(
        "{ASK}[channels.telegram]\ntoken = \"${{TOKEN}}\"\napi_url = \"{}\"\nowners = [{ANN}]\n\
         allow = [{BOB}]\npairing = false\npreview_seconds = 0\n",
        platform.base_url()
    );
    let home = Home::new(program!()).with_config(&config(model, &telegram));
    home.with("TOKEN", TOKEN).with(SINK, &sink.address)
}

/// Waits for the message at this place in Ann's chat.
async fn told(platform: &TelegramFake, place: usize) -> SentMessage {
    let here = |sent: &[SentMessage]| sent.iter().filter(|one| one.chat == ANN).nth(place).cloned();
    let sent = platform.wait_for(|sent| here(sent).is_some());
    here(&with_timeout(&format!("message {place}"), sent).await).unwrap()
}

/// Waits until the answer to a press shows this text to its presser.
pub(crate) async fn told_presser(platform: &TelegramFake, text: &str) {
    until(text, async || {
        let answers = platform.requests("answerCallbackQuery");
        answers.iter().any(|answer| answer.args["text"] == text)
    })
    .await;
}

/// Waits until the question at this place in Ann's chat shows its outcome, without buttons.
async fn ended(platform: &TelegramFake, place: usize, outcome: &str) {
    let here = |sent: &[SentMessage]| sent.iter().filter(|one| one.chat == ANN).nth(place).cloned();
    let is_outcome = |one: SentMessage| one.text.starts_with(outcome) && one.buttons().is_empty();
    let sent = platform.wait_for(|sent| here(sent).is_some_and(is_outcome));
    let shown = here(&with_timeout(outcome, sent).await).unwrap();
    assert_eq!(shown.edits.len(), 1, "{shown:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f14_approval_on_telegram_is_once_for_the_session_or_denied() {
    let (platform, sink) = (TelegramFake::start(TOKEN).await, sink().await);
    let model = OpenAiFake::start(posts).await;
    let daemon = on_telegram(&platform, &model, &sink).daemon();
    platform.private_text(ANN, "one");
    let first = told(&platform, 0).await;
    let shown = shown(&first);
    insta::assert_snapshot!("telegram", shown);

    platform.press(BOB, &first, "/approve w1");
    told_presser(&platform, "/approve is for my owner.").await;
    assert_eq!(sink.posts(), Vec::<String>::new());
    platform.press(ANN, &first, "/approve w1");
    ended(&platform, 0, "Allowed by ").await;
    assert_eq!(told(&platform, 1).await.text, "thanks");
    platform.press(ANN, &first, "/deny w1");
    told_presser(&platform, DECIDED).await;

    platform.private_text(ANN, "two");
    let second = told(&platform, 2).await;
    platform.press(ANN, &second, "/approve w2 session");
    ended(&platform, 2, "Allowed for this session by ").await;
    assert_eq!(told(&platform, 3).await.text, "thanks");
    platform.private_text(ANN, "three");
    assert_eq!(told(&platform, 4).await.text, "thanks");

    platform.private_text(ANN, "/new");
    told(&platform, 5).await;
    platform.private_text(ANN, "four");
    assert!(told(&platform, 6).await.text.starts_with("May I use post?"));
    platform.private_text(ANN, "/deny w3 not today");
    ended(&platform, 6, "Refused by ").await;
    let answer = told(&platform, 7).await.text;
    assert!(answer.contains("denied by the owner; the reason: not today"), "{answer}");
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!(sink.posts(), ["one", "two", "three"]);
    assert_eq!(platform.refusals(), vec![]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approval_on_telegram_accepts_a_plain_word_of_an_owner() {
    let (platform, sink) = (TelegramFake::start(TOKEN).await, sink().await);
    let model = OpenAiFake::start(posts).await;
    let home = on_telegram(&platform, &model, &sink);
    let daemon = home.daemon();
    let session = "Allowed for this session by ";
    for (number, (word, decided)) in (0..).zip([
        ("y", "Allowed by "),
        ("3", "Refused by "),
        ("No", "Refused by "),
        ("2.", session),
    ]) {
        let place = number * 2;
        platform.private_text(ANN, word_post(number));
        assert!(told(&platform, place).await.text.starts_with("May I use post?"));
        until_all_is_shown(&home).await;
        platform.private_text(ANN, word);
        ended(&platform, place, decided).await;
        told(&platform, place + 1).await;
    }
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!(sink.posts(), [word_post(0), word_post(3)]);
}

/// Waits until all messages are delivered: a plain word decides only about a question that was
/// shown.
async fn until_all_is_shown(home: &Home) {
    let open = "SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending')";
    until("nothing is to be delivered", async || number(home, open) == 0).await;
}

fn word_post(number: usize) -> &'static str {
    ["one", "two", "three", "four"][number]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approval_on_discord_accepts_a_plain_word_of_an_owner() {
    const ANN: u64 = 7;
    let (platform, sink) = (DiscordFake::start(TOKEN).await, sink().await);
    platform.limit_rates(false);
    platform.set_now(now());
    let model = OpenAiFake::start(posts).await;
    let discord = format!(
        "{ASK}[channels.discord]\ntoken = \"${{TOKEN}}\"\napi_url = \"{}\"\nowners = [{ANN}]\n\
         preview_seconds = 0\n",
        platform.base_url()
    );
    let home = Home::new(program!()).with_config(&config(&model, &discord));
    let dm = platform.dm(ANN);
    let home = home.with("TOKEN", TOKEN).with(SINK, &sink.address);
    let daemon = home.daemon();
    let texts = async |count: usize| {
        let sent = with_timeout("a message", platform.wait_for_sent(count)).await;
        sent.into_iter().map(|one| one.text).collect::<Vec<_>>()
    };
    for (number, (word, decided)) in (0..).zip([("yes", "Allowed by "), ("n", "Refused by ")]) {
        platform.say(dm, ANN, word_post(number));
        let asked = texts(number * 2 + 1).await;
        assert!(asked.last().unwrap().contains("May I use"), "{asked:?}");
        until_all_is_shown(&home).await;
        platform.say(dm, ANN, word);
        texts(number * 2 + 2).await;
        let edited = platform.wait_for(|sent| sent.iter().any(|one| one.text.starts_with(decided)));
        with_timeout(decided, edited).await;
    }
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!(sink.posts(), ["one"]);
}

/// Formats a message with its styles.
fn shown(sent: &SentMessage) -> String {
    let styles = sent.entities.iter().map(|entity| {
        let at = |key: &str| usize::try_from(entity[key].as_u64().unwrap()).unwrap();
        let text: Vec<u16> =
            sent.text.encode_utf16().skip(at("offset")).take(at("length")).collect();
        format!("{}: {}\n", entity["type"].as_str().unwrap(), String::from_utf16(&text).unwrap())
    });
    let buttons = sent
        .buttons()
        .iter()
        .map(|button| {
            format!("[{}] {}\n", button["text"].as_str().unwrap(), button["callback_data"])
        })
        .collect::<String>();
    format!("{}\n\n{}\n{buttons}", sent.text, styles.collect::<String>())
}

/// Kills the daemon once the log has the question as sent.
async fn kill(daemon: DaemonProcess, home: &Home, platform: &TelegramFake) {
    let is_sent = "SELECT count(*) FROM outbox WHERE state = 'sent' AND source = 'prompt'";
    until("the question in the log", async || number(home, is_sent) == 1).await;
    with_timeout("the confirmation", platform.wait_for_confirmed()).await;
    daemon.kill();
    with_timeout("the end of the poll", platform.wait_for_no_poll()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approval_open_at_a_kill_is_decided_once_after_the_restart() {
    let (platform, sink) = (TelegramFake::start(TOKEN).await, sink().await);
    let model = OpenAiFake::start(posts).await;
    let home = on_telegram(&platform, &model, &sink);
    let daemon = home.daemon();
    platform.private_text(ANN, "one");
    let question = told(&platform, 0).await;
    kill(daemon, &home, &platform).await;
    platform.press(ANN, &question, "/approve w1");
    platform.press(ANN, &question, "/approve w1");
    let daemon = home.daemon();
    assert_eq!(told(&platform, 1).await.text, "thanks");
    told_presser(&platform, DECIDED).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!(sink.posts(), ["one"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approval_that_expires_counts_as_denied() {
    let (platform, sink) = (TelegramFake::start(TOKEN).await, sink().await);
    let model = OpenAiFake::start(posts).await;
    let home = on_telegram(&platform, &model, &sink);
    let daemon = home.daemon();
    platform.private_text(ANN, "one");
    let question = told(&platform, 0).await;
    kill(daemon, &home, &platform).await;
    let log = Connection::open(home.data_dir().join("avocet.db")).unwrap();
    assert_eq!(log.execute("UPDATE waits SET expires_at = 1", ()).unwrap(), 1);
    drop(log);
    let daemon = home.daemon();
    let answer = told(&platform, 1).await.text;
    assert!(answer.contains("no approval came in time"), "{answer}");
    platform.press(ANN, &question, "/approve w1");
    told_presser(&platform, DECIDED).await;
    assert!(stop(daemon).await.0.success());
    assert_eq!(sink.posts(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f11_approval_press_takes_effect_while_another_turn_runs() {
    let (platform, sink, gate) = (TelegramFake::start(TOKEN).await, sink().await, held());
    let permits = gate.clone();
    let model = OpenAiFake::start(move |request| match last_user_text(request) {
        "slow" => held_back(&permits, "Slowly."),
        _ => posts(request),
    })
    .await;
    let daemon = on_telegram(&platform, &model, &sink).daemon();
    platform.private_text(ANN, "one");
    let question = told(&platform, 0).await;
    platform.private_text(BOB, "slow");
    until("Bob's turn", async || model.requests().len() == 2).await;
    platform.press(ANN, &question, "/approve w1");
    assert_eq!(told(&platform, 1).await.text, "thanks");
    gate.add_permits(1);
    with_timeout("Bob's answer", platform.wait_for_sent(3)).await;
    assert!(stop(daemon).await.0.success());
    assert_eq!(sink.posts(), ["one"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f14_approval_on_discord_is_once_for_the_session_or_denied() {
    const ANN: u64 = 7;
    const BOB: u64 = 8;
    let (platform, sink) = (DiscordFake::start(TOKEN).await, sink().await);
    platform.limit_rates(false);
    platform.set_now(now());
    let model = OpenAiFake::start(posts).await;
    let discord = format!(
        "{ASK}[channels.discord]\ntoken = \"${{TOKEN}}\"\napi_url = \"{}\"\nowners = [{ANN}]\n\
         allow = [{BOB}]\npreview_seconds = 0\n",
        platform.base_url()
    );
    let home = Home::new(program!()).with_config(&config(&model, &discord));
    let dm = platform.dm(ANN);
    platform.dm(BOB);
    let daemon = home.with("TOKEN", TOKEN).with(SINK, &sink.address).daemon();
    let told = async |place: usize| {
        let sent = platform.wait_for_sent(place + 1);
        with_timeout(&format!("message {place}"), sent).await.remove(place)
    };
    platform.say(dm, ANN, "one");
    let first = told(0).await;
    let button =
        |one: &Value| format!("[{}] {}\n", one["label"].as_str().unwrap(), one["custom_id"]);
    let buttons: String = first.buttons().iter().map(button).collect();
    let shown = format!("{}\n\n{buttons}", first.text);
    insta::assert_snapshot!("discord", shown);
    platform.press(BOB, first.id, "/approve w1");
    let refused = told(1).await.text;
    assert!(refused.contains("/approve is for my owner"), "{refused}");
    assert_eq!(sink.posts(), Vec::<String>::new());

    platform.press(ANN, first.id, "/approve w1");
    let heard = async |texts: &[&str]| {
        let sent = platform
            .wait_for(|sent| texts.iter().all(|text| sent.iter().any(|one| one.text == *text)));
        with_timeout(&format!("{texts:?}"), sent).await;
    };
    heard(&["thanks"]).await;
    // The buttons are gone.
    platform.say(dm, ANN, "/approve w1");
    heard(&[DECIDED]).await;
    platform.say(dm, ANN, "two");
    let asks = |one: &&DiscordMessage| {
        one.buttons().iter().any(|button| button["custom_id"] == "/approve w2")
    };
    let sent = platform.wait_for(|sent| sent.iter().any(|one| asks(&one)));
    let sent = with_timeout("the second question", sent).await;
    let second = sent.iter().find(asks).unwrap();
    platform.press(ANN, second.id, "/approve w2 session");
    let outcome = "Allowed for this session by ";
    let ended = platform.wait_for(|sent| {
        sent.iter().any(|one| one.text.starts_with(outcome) && one.buttons().is_empty())
    });
    with_timeout(outcome, ended).await;
    until("two posts", async || sink.posts().len() == 2).await;
    platform.say(dm, ANN, "three");
    until("three posts", async || sink.posts().len() == 3).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!(
        (sink.posts(), platform.refusals()),
        (["one", "two", "three"].map(str::to_owned).to_vec(), vec![])
    );
}
