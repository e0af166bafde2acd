//! Tests of Telegram's webhook from end to end: the strict fake posts updates to the real program.

use std::net::SocketAddr;

use avocet_testkit::http_client::exchange;
use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_user_text};
use avocet_testkit::telegram::{TelegramFake, UserMessage};
use avocet_tests::{DaemonProcess, Home, now, program};
use serde_json::{Value, json};

use crate::log::number;
use crate::model::{asked, begun, config, first_and_then, held, held_back};
use crate::patience::{logged, stop, until, with_timeout};
use crate::rows::is_settled;
use crate::telegram::{ANN, TOKEN};

const WEBHOOK: &str = "webhook = \"https://bus.example\"";
const HTTP: &str = "[http]\nlisten = \"127.0.0.1:0\"\nhosts = [\"bus.example\"]\n\
                    [http.tokens.phone]\ntoken = \"0123456789abcdef\"\nchats = [\"*\"]\n";

/// Creates a home whose bot polls, or has a webhook if `key` is [`WEBHOOK`].
fn home(platform: &TelegramFake, model: &OpenAiFake, key: &str) -> Home {
    Home::new(program!()).with_config(&text(platform, model, key)).with("TOKEN", TOKEN)
}

fn text(platform: &TelegramFake, model: &OpenAiFake, key: &str) -> String {
    platform.set_now(now());
    let telegram = format!(
        "[channels.telegram]\ntoken = \"${{TOKEN}}\"\napi_url = \"{}\"\nowners = [{ANN}]\n\
         pairing = false\npoll_seconds = 1\n{key}\n{HTTP}",
        platform.base_url()
    );
    config(model, &telegram)
}

/// Starts the daemon, and posts updates to it. Returns its address.
fn start(home: &Home, platform: &TelegramFake) -> (DaemonProcess, SocketAddr) {
    let mut daemon = home.spawn(&["run"]);
    let line = daemon.wait_for("serving HTTP");
    let (_, address) = line.split_once("address=").unwrap();
    let server = address.split_whitespace().next().unwrap().parse().unwrap();
    platform.deliver_to(Some(server));
    daemon.wait_until_ready();
    (daemon, server)
}

async fn parrot() -> OpenAiFake {
    OpenAiFake::start(|request| ModelAnswer::says(last_user_text(request))).await
}

fn texts(platform: &TelegramFake) -> Vec<String> {
    platform.sent().into_iter().map(|message| message.text).collect()
}

/// The head of a request for the bot's path.
fn head(secret: &str, length: usize) -> String {
    format!(
        "POST /telegram/main HTTP/1.1\r\nHost: bus.example\r\n{secret}Content-Length: {length}\r\n\r\n"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhook_message_is_answered_and_a_forged_or_repeated_one_is_not() {
    let (platform, model) = (TelegramFake::start(TOKEN).await, parrot().await);
    let home = home(&platform, &model, WEBHOOK);
    let (daemon, server) = start(&home, &platform);
    platform.private_text(ANN, "good morning");
    let sent = with_timeout("the answer", platform.wait_for_sent(1)).await;
    assert_eq!((sent[0].chat, sent[0].text.as_str()), (ANN, "good morning"));
    with_timeout("the confirmation", platform.wait_for_confirmed()).await;
    platform.deliver_to(None);
    platform.private_text(ANN, "again");
    let update = platform.pending_updates()[0].to_string();
    let secret = platform.requests("setWebhook")[0].args["secret_token"].clone();
    let name = "X-Telegram-Bot-Api-Secret-Token";
    let forged = [String::new(), format!("{name}: {}\r\n", "0".repeat(64))];
    for secret in forged {
        let request = head(&secret, update.len()) + &update;
        assert_eq!(exchange(server, request.as_bytes()).await.status, 401);
    }
    let genuine = format!("{name}: {}\r\n", secret.as_str().unwrap());
    for _ in 0..3 {
        let request = head(&genuine, update.len()) + &update;
        assert_eq!(exchange(server, request.as_bytes()).await.status, 200);
    }
    platform.deliver_to(Some(server));
    with_timeout("the answer", platform.wait_for_sent(2)).await;
    with_timeout("the confirmation", platform.wait_for_confirmed()).await;
    is_settled(&home).await;
    assert_eq!(number(&home, "SELECT count(*) FROM inbound"), 2);
    let (status, log) = stop(daemon).await;
    assert!(status.success() && !log.contains("secret"), "{log}");
    assert_eq!(texts(&platform), ["good morning", "again"]);
    assert_eq!((platform.calls("getUpdates"), platform.refusals()), (0, vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhook_message_is_answered_once_after_a_kill_and_while_the_daemon_was_down() {
    let platform = TelegramFake::start(TOKEN).await;
    let never = held();
    let model = first_and_then(
        move |_| begun("I ", &never, "never"),
        |request| ModelAnswer::says(last_user_text(request)),
    )
    .await;
    let home = home(&platform, &model, WEBHOOK);
    let (daemon, _) = start(&home, &platform);
    platform.private_text(ANN, "Tell me.");
    asked(&model, 1).await;
    with_timeout("the confirmation", platform.wait_for_confirmed()).await;
    daemon.kill();
    platform.private_text(ANN, "And now?");
    assert_eq!(platform.unconfirmed().len(), 1);
    let (daemon, _) = start(&home, &platform);
    with_timeout("the confirmation", platform.wait_for_confirmed()).await;
    until("both answers", async || texts(&platform).concat().contains("And now?")).await;
    is_settled(&home).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    let said = texts(&platform).concat();
    assert_eq!((said.matches("Tell me.").count(), said.matches("And now?").count()), (1, 1));
    assert_eq!(number(&home, "SELECT count(*) FROM inbound"), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhook_and_polls_take_turns_without_a_lost_or_doubled_message() {
    let (platform, model) = (TelegramFake::start(TOKEN).await, parrot().await);
    let mut home = home(&platform, &model, WEBHOOK);
    let mut expected = Vec::new();
    for (round, key) in [WEBHOOK, "", WEBHOOK, ""].into_iter().enumerate() {
        home = home.with_config(&text(&platform, &model, key));
        let (before, during) = (format!("before {round}"), format!("during {round}"));
        platform.private_text(ANN, &before);
        let (mut daemon, _) = start(&home, &platform);
        if key.is_empty() {
            logged(&mut daemon, "deleting the webhook of the bot", 1).await;
        }
        with_timeout("an answer", platform.wait_for_sent(expected.len() + 1)).await;
        platform.private_text(ANN, &during);
        expected.extend([before, during]);
        with_timeout("an answer", platform.wait_for_sent(expected.len())).await;
        with_timeout("the confirmation", platform.wait_for_confirmed()).await;
        is_settled(&home).await;
        let (status, log) = stop(daemon).await;
        assert!(status.success(), "{log}");
        with_timeout("the end of the poll", platform.wait_for_no_poll()).await;
    }
    assert_eq!(texts(&platform), expected);
    assert_eq!(number(&home, "SELECT count(*) FROM inbound"), 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhook_that_is_unreachable_is_in_status_and_doctor() {
    let (platform, model) = (TelegramFake::start(TOKEN).await, parrot().await);
    let hosts = "hosts = [\"bus.example\"]\n";
    let config = text(&platform, &model, WEBHOOK).replace(hosts, "");
    let home = Home::new(program!()).with_config(&config).with("TOKEN", TOKEN);
    let (daemon, _) = start(&home, &platform);
    platform.private_text(ANN, "hello");
    // The server refuses the host of the request.
    let says =
        "Telegram cannot deliver updates to bus.example: Wrong response from the webhook: 403";
    until("the fault", async || home.run(&["status"]).out.contains(says)).await;
    let found: Value = serde_json::from_str(&home.run(&["doctor", "--json"]).out).unwrap();
    let checks = found["channels"].as_array().unwrap();
    let has = |state: &str, says: &str| {
        let is_it = |check: &&Value| {
            check["state"] == state && check["says"].as_str().unwrap().contains(says)
        };
        checks.iter().any(|check| is_it(&check) && check["name"] == "telegram:main")
    };
    assert!(has("bad", "Wrong response from the webhook: 403; 1 updates wait"), "{found}");
    assert!(has("fair", "[http] hosts lacks bus.example"), "{found}");
    let (status, _) = stop(daemon).await;
    assert!(status.success());
    let (daemon, _) = start(
        &home.with_config(&config.replace("[http]\n", &format!("[http]\n{hosts}"))),
        &platform,
    );
    with_timeout("the answer", platform.wait_for_sent(1)).await;
    assert!(stop(daemon).await.0.success());
    assert_eq!(texts(&platform), ["hello"]);
    assert_eq!(platform.webhook_info()["pending_update_count"], json!(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhook_answers_a_comment_and_a_later_forward_once() {
    let (platform, never) = (TelegramFake::start(TOKEN).await, held());
    let first = move |_: &Value| held_back(&never, "Which one?");
    let model = first_and_then(first, |_| ModelAnswer::says("It is rock.")).await;
    let home = home(&platform, &model, WEBHOOK);
    let (daemon, _) = start(&home, &platform);
    platform.private_text(ANN, "Is this true?");
    asked(&model, 1).await;
    platform.say(UserMessage::private(ANN, "the moon is made of cheese").forwarded_from(9, 12));
    until("the answer", async || texts(&platform).concat().contains("It is rock.")).await;
    let request = model.requests()[1].to_string();
    let (_, forwarded) = request.split_once("Is this true?").unwrap();
    assert!(forwarded.contains("the moon is made of cheese"), "{request}");
    is_settled(&home).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!((model.requests().len(), platform.refusals()), (2, vec![]));
}
