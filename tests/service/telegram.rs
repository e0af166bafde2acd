//! Telegram, all the way: the real program between the strict fake and the model.

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results};
use avocet_testkit::telegram::TelegramFake;
use avocet_tests::{Home, program};
use serde_json::json;

use crate::model::{asked, begun, config, first_and_then, held};
use crate::patience::{logged, patiently, stop};

pub(crate) const TOKEN: &str = "4711:AA-secret";
pub(crate) const ANN: i64 = 7;

/// A home whose daemon is the bot of this platform, and lets Ann speak.
pub(crate) fn home(platform: &TelegramFake, model: &OpenAiFake) -> Home {
    let telegram = format!(
        "[channels.telegram]\ntoken = \"${{TOKEN}}\"\napi_url = \"{}\"\nallow = [{ANN}]\n",
        platform.base_url()
    );
    Home::new(program!()).with_config(&config(model, &telegram)).with("TOKEN", TOKEN)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_allowed_is_answered_and_who_is_not_is_named_in_the_log() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|_| ModelAnswer::says("**Good** morning.")).await;
    let home = home(&platform, &model);
    let mut daemon = home.daemon();
    platform.private_text(8, "let me in");
    platform.private_text(ANN, "good morning");
    let sent = patiently("the answer", platform.wait_for_sent(1)).await;
    assert_eq!((sent[0].chat, sent[0].text.as_str()), (ANN, "Good morning."));
    assert_eq!(sent[0].entities[0]["type"], "bold");
    patiently("the confirmation", platform.wait_for_confirmed()).await;
    logged(&mut daemon, "not on the allow-list sender=\"8\"", 1).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success() && !log.contains("secret"), "{log}");
    assert_eq!((platform.sent().len(), platform.refusals()), (1, vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_the_middle_of_an_answer_it_answers_once_after_the_restart() {
    let platform = TelegramFake::start(TOKEN).await;
    let never = held();
    let model =
        first_and_then(move |_| begun("I ", &never, "never"), |_| ModelAnswer::says("Now.")).await;
    let home = home(&platform, &model);
    let daemon = home.daemon();
    platform.private_text(ANN, "Tell me.");
    asked(&model, 1).await;
    patiently("the confirmation", platform.wait_for_confirmed()).await;
    daemon.kill();
    patiently("the end of the poll", platform.wait_for_no_poll()).await;

    let daemon = home.daemon();
    let sent = patiently("the answer", platform.wait_for_sent(1)).await;
    assert_eq!(sent[0].text, "Now.");
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!((platform.sent().len(), model.requests().len()), (1, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f5_what_the_message_tool_has_said_is_not_said_again_as_the_answer() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|request| match last_results(request)[..] {
        [] => ModelAnswer::call("message", json!({ "text": "**Done**, as `asked`." })),
        _ => ModelAnswer::says("**Done**, as `asked`."),
    })
    .await;
    let home = home(&platform, &model);
    let daemon = home.daemon();
    platform.private_text(ANN, "do it");
    patiently("the message", platform.wait_for_sent(1)).await;
    asked(&model, 2).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    let said: Vec<String> = platform.sent().into_iter().map(|message| message.text).collect();
    assert_eq!(said, ["Done, as asked."]);
}
