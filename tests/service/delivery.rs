//! Tests of messages that a platform refuses: the chats that they block, the notices about them,
//! and the number of attempts.

use std::fs;

use avocet_testkit::discord::{ApiError, DiscordFake, InjectedFault, On, Route};
use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results, last_user_text};
use avocet_tests::{Home, now, program};
use serde_json::{Value, json};

use crate::model::config;
use crate::patience::{logged, stop, until, with_timeout};

const TOKEN: &str = "discord.secret";
const ANN: u64 = 7;
const BOB: u64 = 8;

async fn platform() -> DiscordFake {
    let platform = DiscordFake::start(TOKEN).await;
    platform.limit_rates(false);
    platform.set_now(now());
    platform.dm(BOB);
    platform
}

fn home(platform: &DiscordFake, model: &OpenAiFake) -> Home {
    let discord = format!(
        "[channels.discord]\ntoken = \"${{TOKEN}}\"\napi_url = \"{}\"\nowners = [{ANN}]\n\
         allow = [{BOB}]\npreview_seconds = 0\n",
        platform.base_url()
    );
    Home::new(program!()).with_config(&config(model, &discord)).with("TOKEN", TOKEN)
}

async fn echo() -> OpenAiFake {
    OpenAiFake::start(|request| ModelAnswer::says(format!("to {}", last_user_text(request)))).await
}

fn waiting(home: &Home) -> Value {
    let status = home.run(&["status", "--json"]);
    let status: Value = serde_json::from_str(&status.out).unwrap();
    status["log"]["waiting_chats"].clone()
}

async fn says(platform: &DiscordFake, text: &str) {
    let said = platform.wait_for(|sent| sent.iter().any(|one| one.text.contains(text)));
    with_timeout(text, said).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delivery_to_a_stuck_chat_is_reported_while_others_are_answered() {
    let (platform, model) = (platform().await, echo().await);
    let home = home(&platform, &model);
    let (ann, bob) = (platform.dm(ANN), platform.dm(BOB));
    let on = On::route(Route::CreateMessage).channel(ann);
    platform.inject(on, usize::MAX, InjectedFault::Refuse(ApiError::internal()));
    let mut daemon = home.daemon();
    for text in ["one", "two", "three"] {
        platform.say(ann, ANN, text);
    }
    until("three answers", async || waiting(&home)[0]["count"] == 3).await;
    platform.say(bob, BOB, "hello");
    says(&platform, "to hello").await;
    // Failures are logged after 1, 2, 4 ... attempts.
    logged(&mut daemon, "delivery failed; retrying", 2).await;
    // The row of the other chat may still end.
    let one = &waiting(&home)[0];
    assert_eq!(one["chat"], format!("discord:main:{ann}"));
    assert!(one["error"].as_str().unwrap().contains("HTTP 500"), "{one}");
    assert!(one["since"].as_i64().unwrap() > 0 && one["attempts"].as_u64().unwrap() >= 2, "{one}");
    let shown = home.run(&["status"]).out;
    let line = shown.lines().find(|line| line.starts_with("undelivered ")).unwrap();
    assert!(line.contains(&format!(" 3 for discord:main:{ann} since ")), "{line}");
    let next = one["next"].as_str().unwrap();
    assert!(line.contains(&format!(", first {next}, ")) && line.contains("HTTP 500"), "{line}");
    assert!(home.run(&["trace", next]).out.contains("HTTP 500"), "the line leads to the trace");
    platform.clear_faults();
    says(&platform, "to three").await;
    until("no waiting chat", async || waiting(&home) == json!([])).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success() && log.contains("delivered after failures"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delivery_that_failed_is_listed_shown_retried_and_dropped() {
    let (platform, model) = (platform().await, echo().await);
    let home = home(&platform, &model);
    let ann = platform.dm(ANN);
    let close = || {
        let on = On::route(Route::CreateMessage).channel(ann);
        platform.inject(on, usize::MAX, InjectedFault::Refuse(ApiError::cannot_send_to_user()));
    };
    close();
    let daemon = home.daemon();
    platform.say(ann, ANN, "one");
    let listed =
        || -> Value { serde_json::from_str(&home.run(&["dead", "list", "--json"]).out).unwrap() };
    // The reply alone: no notice about it goes into the same closed chat.
    let is_one = || listed().as_array().unwrap().len() == 1;
    until("a dead letter", async || is_one()).await;
    let reply = listed()[0]["id"].as_str().unwrap().to_owned();
    let shown = home.run(&["dead", "show", &reply]).out;
    for part in [
        format!("{reply} refused: it was not delivered\n"),
        format!("chat: discord:main:{ann}\n"),
        "message: to one\n".to_owned(),
        "this person accepts no direct messages from the bot".to_owned(),
    ] {
        assert!(shown.contains(&part), "{shown}");
    }
    let status = home.run(&["status"]).out;
    assert!(status.lines().any(|line| line.ends_with("avocet dead list")), "{status}");

    platform.clear_faults();
    assert_eq!(home.run(&["dead", "retry", &reply]).out, format!("{reply} is queued again\n"));
    says(&platform, "to one").await;
    let again = home.run(&["dead", "retry", &reply]);
    assert_ne!(again.code, Some(0));
    assert!(again.err.contains(&format!("there is no dead letter {reply}")), "{}", again.err);
    close();
    platform.say(ann, ANN, "two");
    until("another dead letter", async || is_one()).await;
    assert!(stop(daemon).await.0.success());

    // Without a daemon the commands act on the log.
    let dropped = home.run(&["dead", "drop", "--all"]).out;
    assert!(dropped.starts_with('o') && dropped.ends_with(" is dropped\n"), "{dropped}");
    assert_eq!(home.run(&["dead", "list"]).out, "There are no failed messages.\n");
    assert!(!home.run(&["status"]).out.contains("avocet dead list"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delivery_after_a_wipe_of_the_data_is_a_new_message() {
    let (platform, model) = (platform().await, echo().await);
    let home = home(&platform, &model);
    let dm = platform.dm(ANN);
    for (number, text) in [(1, "one"), (2, "two")] {
        let daemon = home.daemon();
        with_timeout("the commands", platform.wait_for_calls(Route::SetCommands, number)).await;
        platform.say(dm, ANN, text);
        says(&platform, &format!("to {text}")).await;
        assert!(stop(daemon).await.0.success());
        fs::remove_dir_all(home.data_dir()).unwrap();
    }
    // Messages from before the wipe are new to the second daemon.
    let texts: Vec<String> = platform.sent().into_iter().map(|message| message.text).collect();
    assert_eq!(texts, ["to one", "to one", "to two"]);
    assert!(platform.sent().iter().all(|message| message.edits.is_empty()));
}

/// A model that sends the file that the user names.
fn sends_files(request: &Value) -> ModelAnswer {
    let text = last_user_text(request);
    match last_results(request)[..] {
        [] if text.starts_with("send ") => {
            ModelAnswer::call("message", json!({ "files": [&text["send ".len()..]] }))
        }
        [] => ModelAnswer::says("I see."),
        ref results => ModelAnswer::says(format!("The tool says: {}", results.join(" "))),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delivery_of_a_too_large_or_refused_file_is_reported_to_the_model() {
    let platform = platform().await;
    let model = OpenAiFake::start(sends_files).await;
    let home = home(&platform, &model);
    let dm = platform.dm(ANN);
    let daemon = home.daemon();
    fs::write(home.workspace().join("large.bin"), vec![1; 10 * 1024 * 1024 + 1]).unwrap();
    fs::write(home.workspace().join("small.bin"), b"1").unwrap();
    platform.say(dm, ANN, "send large.bin");
    says(&platform, "files of at most 10485760 bytes can be sent to discord:main").await;
    assert_eq!(platform.refusals(), []);

    // The platform's real limit is lower than the documented one.
    platform.limit_uploads(0);
    platform.say(dm, ANN, "send small.bin");
    says(&platform, "I could not send this message: the document small.bin").await;
    platform.say(dm, ANN, "did it come?");
    says(&platform, "I see.").await;
    platform.say(dm, ANN, "and now?");
    until("four answers", async || {
        platform.sent().iter().filter(|one| one.text == "I see.").count() == 2
    })
    .await;
    let lost = "to this chat: the document small.bin was not delivered: Request entity too large";
    let requests = model.requests();
    let [.., before, last] = &requests[..] else { panic!("{requests:?}") };
    for request in [before, last] {
        assert_eq!(request.to_string().matches(lost).count(), 1, "{request}");
    }
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
}
