//! A stopped answer stays in its chat, in the log and in the next request, on each channel and also
//! if the process dies between the parts of the stop.

use avocet_testkit::discord::DiscordFake;
use avocet_testkit::openai::{ModelAnswer, OpenAiFake};
use avocet_testkit::telegram::{SentMessage, TelegramFake};
use avocet_tests::{Home, now, program};
use serde_json::Value;

use crate::chat::AttachedChat;
use crate::crash::{dies, doomed};
use crate::discord;
use crate::log::number;
use crate::model::{asked, begun, config, first_and_then, held};
use crate::patience::{stop, until, with_timeout};
use crate::telegram::{ANN, TOKEN, home};

const BEGINNING: &str = "Once upon a time there …";
const STOPPED: &str = "Once upon a time there … (stopped)";
const REST: &str = "was a bird.";

/// A model that never ends its first answer.
async fn storyteller() -> OpenAiFake {
    let never = held();
    first_and_then(
        move |_| begun("Once upon a time there ", &never, "never"),
        |_| ModelAnswer::says(REST),
    )
    .await
}

/// Checks that the last request has the stopped answer and the mark behind it.
fn asks_with_the_stopped_answer(model: &OpenAiFake) {
    let request = model.requests().pop().unwrap();
    let is_said = |message: &&Value| message["role"] == "assistant";
    let said: Vec<String> = request["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(is_said)
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect();
    let said = said.join("\n");
    assert!(said.starts_with("Once upon a time there\n"), "{said}");
    assert!(said.ends_with("[stopped by the user]"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f11_stop_on_telegram_keeps_the_answer_also_after_a_kill() {
    for (word, point) in [
        ("/stop", None),
        ("Stop!", None),
        ("stop", Some("settle-command:before")),
        ("stop", Some("settle-command:after")),
    ] {
        let (platform, model) = (TelegramFake::start(TOKEN).await, storyteller().await);
        let home = home(&platform, &model);
        let mut daemon = match point {
            Some(point) => {
                let mut daemon = doomed(&home, point);
                daemon.wait_until_ready();
                daemon
            }
            None => home.daemon(),
        };
        let texts = || platform.sent().into_iter().map(|one| one.text).collect::<Vec<_>>();
        platform.private_text(ANN, "A story, please.");
        let has_begun = |sent: &[SentMessage]| matches!(sent, [one] if one.text == BEGINNING);
        with_timeout("the beginning", platform.wait_for(has_begun)).await;
        platform.private_text(ANN, word);
        if point.is_some() {
            dies(daemon).await;
            with_timeout("the end of the poll", platform.wait_for_no_poll()).await;
            daemon = home.daemon();
        }
        with_timeout("the reply", platform.wait_for_sent(2)).await;
        let is_marked = |sent: &[SentMessage]| sent.first().is_some_and(|one| one.text == STOPPED);
        with_timeout("the mark", platform.wait_for(is_marked)).await;
        assert_eq!(texts(), [STOPPED, "Stopped."], "{word} {point:?}");
        platform.private_text(ANN, "Go on.");
        with_timeout("the rest", platform.wait_for_sent(3)).await;
        assert_eq!(texts()[2], REST, "{word} {point:?}");
        // Before its commit, a stop has no text: the process that knew it is gone.
        if point != Some("settle-command:before") {
            asks_with_the_stopped_answer(&model);
        }
        let (status, log) = stop(daemon).await;
        assert!(status.success(), "{log}");
        assert_eq!((platform.calls("sendMessage"), platform.refusals()), (3, vec![]));
        assert_eq!(number(&home, "SELECT count(*) FROM outbox WHERE state <> 'sent'"), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f11_stop_on_discord_edits_the_growing_message() {
    const ANN: u64 = 7;
    let platform = DiscordFake::start("discord.secret").await;
    platform.limit_rates(false);
    platform.set_now(now());
    let model = storyteller().await;
    let home = discord::home(&platform, &model);
    let dm = platform.dm(ANN);
    let daemon = home.daemon();
    platform.say(dm, ANN, "A story, please.");
    let texts = || platform.sent().into_iter().map(|one| one.text).collect::<Vec<_>>();
    until("the beginning", async || texts() == [BEGINNING]).await;
    platform.say(dm, ANN, "Stop!");
    until("the mark", async || texts() == [STOPPED, "Stopped."]).await;
    platform.say(dm, ANN, "Go on.");
    until("the rest", async || texts() == [STOPPED, "Stopped.", REST]).await;
    asks_with_the_stopped_answer(&model);
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert!(platform.refusals().is_empty(), "{:?}", platform.refusals());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f11_stop_over_the_socket_delivers_the_answer_so_far() {
    let model = storyteller().await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("A story, please.").await;
    assert_eq!(chat.event("text").await["delta"], "Once upon a time there ");
    chat.ask("stop").await;
    assert_eq!(chat.reply().await.text, STOPPED);
    assert_eq!(chat.reply().await.text, "Stopped.");
    chat.ask("Go on.").await;
    assert_eq!(chat.reply().await.text, REST);
    asked(&model, 2).await;
    asks_with_the_stopped_answer(&model);
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    // The tokens of the stopped request count, although its price is unknown.
    let sum = "SELECT sum(input + output) FROM usage WHERE turn = 1 AND cost IS NULL";
    let tokens = number(&home, sum);
    assert!(tokens > 0);
    let trace = home.run(&["trace", "t1"]).out;
    let line = trace.lines().last().unwrap().replace(',', "");
    let expected = format!("model requests: 1 calls: 0 tokens: {tokens} price unknown");
    assert!(line.ends_with(&expected), "{trace}");
    let usage = home.run(&["usage"]).out;
    assert!(usage.contains("price unknown") && !usage.contains("$0.00"), "{usage}");
}
