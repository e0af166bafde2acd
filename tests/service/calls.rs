//! The requests to the platforms that a message costs, with the default settings. Polls, signs of
//! typing and Telegram's reactions are left out, because their number depends on time.

use avocet_testkit::discord::{DiscordFake, Route};
use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results, last_user_text};
use avocet_testkit::telegram::TelegramFake;
use avocet_tests::{Home, SINK, now, program};
use serde_json::{Value, json};

use crate::model::config;
use crate::patience::{stop, until, with_timeout};
use crate::sink::Sink;
use crate::telegram::TOKEN;

const ANN: i64 = 7;
const ON_TELEGRAM: [&str; 4] =
    ["sendMessage", "editMessageText", "deleteMessage", "answerCallbackQuery"];
const ON_DISCORD: [Route; 7] = [
    Route::CreateMessage,
    Route::EditMessage,
    Route::DeleteMessage,
    Route::AddReaction,
    Route::RemoveReaction,
    Route::Respond,
    Route::EditResponse,
];

/// A model that greets, and posts what is to be posted.
fn assistant(request: &Value) -> ModelAnswer {
    match (last_user_text(request), last_results(request).len()) {
        ("post", 0) => ModelAnswer::call("post", json!({ "text": "hello" })),
        _ => ModelAnswer::says("Good morning."),
    }
}

fn home(model: &OpenAiFake, sink: &Sink, name: &str, url: &str) -> Home {
    let more = format!(
        "[tools.policy]\npost = \"ask\"\n[channels.{name}]\ntoken = \"${{TOKEN}}\"\napi_url = \"{url}\"\n\
         owners = [{ANN}]\n"
    );
    let home = Home::new(program!()).with_config(&config(model, &more));
    home.with("TOKEN", TOKEN).with(SINK, &sink.address)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_to_telegram_are_one_per_answer() {
    let (platform, sink) = (TelegramFake::start(TOKEN).await, Sink::start().await);
    sink.gate.add_permits(1);
    let model = OpenAiFake::start(assistant).await;
    let home = home(&model, &sink, "telegram", &platform.base_url());
    platform.set_now(now());
    let daemon = home.daemon();
    let counted = || ON_TELEGRAM.map(|method| platform.calls(method));

    platform.private_text(ANN, "hi");
    with_timeout("an answer", platform.wait_for_sent(1)).await;
    assert_eq!(counted(), [1, 0, 0, 0], "an answer");

    platform.private_text(ANN, "/status");
    with_timeout("the state", platform.wait_for_sent(2)).await;
    assert_eq!(counted(), [2, 0, 0, 0], "a command");

    platform.private_text(ANN, "post");
    let question = with_timeout("a question", platform.wait_for_sent(3)).await.remove(2);
    platform.press(ANN, &question, "/approve w1");
    with_timeout("the answer", platform.wait_for_sent(4)).await;
    let edits = platform.wait_for_calls("editMessageText", 1);
    with_timeout("the outcome", edits).await;
    let ended = platform.wait_for_calls("answerCallbackQuery", 1);
    with_timeout("the end of the press", ended).await;
    assert_eq!(counted(), [4, 1, 0, 1], "an answer after an approval");
    assert!(platform.calls("setMessageReaction") <= 4, "two per message that waits at most");
    assert!(stop(daemon).await.0.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_to_discord_are_one_per_answer_and_one_per_outcome() {
    let (platform, sink) = (DiscordFake::start(TOKEN).await, Sink::start().await);
    sink.gate.add_permits(1);
    platform.limit_rates(false);
    let model = OpenAiFake::start(assistant).await;
    let home = home(&model, &sink, "discord", &platform.base_url());
    platform.set_now(now());
    let ann = ANN.unsigned_abs();
    let dm = platform.dm(ann);
    let daemon = home.daemon();
    let counted = || ON_DISCORD.map(|route| platform.calls(route));

    platform.say(dm, ann, "hi");
    with_timeout("an answer", platform.wait_for_sent(1)).await;
    assert_eq!(counted(), [1, 0, 0, 0, 0, 0, 0], "an answer");

    platform.say(dm, ann, "post");
    let question = with_timeout("a question", platform.wait_for_sent(2)).await.remove(1);
    platform.press(ann, question.id, "/approve w1");
    with_timeout("the answer", platform.wait_for_sent(3)).await;
    until("the outcome", async || platform.calls(Route::EditMessage) == 1).await;
    assert_eq!(counted(), [3, 1, 0, 0, 0, 1, 0], "an answer after an approval");
    assert!(stop(daemon).await.0.success());
}
