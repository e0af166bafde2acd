//! Tests of Telegram from end to end: the real program between the strict fake and the model.

use avocet_protocol::chat::REPEAT_MARK;
use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results};
use avocet_testkit::telegram::{ApiError, InjectedFault, On, TelegramFake, UserMessage, png};
use avocet_tests::{Home, now, program};
use serde_json::json;

use crate::chat::AttachedChat;
use crate::log::number;
use crate::model::{asked, begun, config, first_and_then, held, held_back};
use crate::patience::{logged, stop, until, with_timeout};
use crate::rows::{self, HELD, TestedPlatform, is_answered, is_settled, parrot, trouble};

pub(crate) const TOKEN: &str = "4711:AA-secret";
pub(crate) const ANN: i64 = 7;

/// Creates a home whose daemon is the bot of this platform, whose owner is Ann, and which ignores
/// strangers.
pub(crate) fn home(platform: &TelegramFake, model: &OpenAiFake) -> Home {
    home_with(platform, model, "")
}

/// Works as [`home`], with more in the configuration.
pub(crate) fn home_with(platform: &TelegramFake, model: &OpenAiFake, more: &str) -> Home {
    platform.set_now(now());
    let telegram = format!(
        "[channels.telegram]\ntoken = \"${{TOKEN}}\"\napi_url = \"{}\"\nowners = [{ANN}]\n\
         pairing = false\n{more}",
        platform.base_url()
    );
    Home::new(program!()).with_config(&config(model, &telegram)).with("TOKEN", TOKEN)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn telegram_answers_allowed_senders_and_logs_others() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|_| ModelAnswer::says("**Good** morning.")).await;
    let home = home(&platform, &model);
    let mut daemon = home.daemon();
    platform.private_text(8, "let me in");
    platform.private_text(ANN, "good morning");
    let sent = with_timeout("the answer", platform.wait_for_sent(1)).await;
    assert_eq!((sent[0].chat, sent[0].text.as_str()), (ANN, "Good morning."));
    assert_eq!(sent[0].entities[0]["type"], "bold");
    with_timeout("the confirmation", platform.wait_for_confirmed()).await;
    logged(&mut daemon, "8 may not speak on telegram; add it to [channels.telegram] allow", 1)
        .await;
    let (status, log) = stop(daemon).await;
    assert!(status.success() && !log.contains("secret"), "{log}");
    assert_eq!((platform.sent().len(), platform.refusals()), (1, vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn telegram_group_that_becomes_a_supergroup_keeps_its_rules() {
    const SUPERGROUP: i64 = -1_000_000_000_020;
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|_| ModelAnswer::says("Good morning.")).await;
    let rules = "[channels.telegram.groups.\"-20\"]\nmention = false\nallow = []\n";
    let home = home_with(&platform, &model, rules);
    let mut daemon = home.daemon();
    platform.migrate(ANN, -20, SUPERGROUP);
    for _ in 0..2 {
        platform.say(UserMessage::group(ANN, SUPERGROUP, "good morning"));
        logged(&mut daemon, "7 may not speak on telegram", 1).await;
        with_timeout("the confirmation", platform.wait_for_confirmed()).await;
        assert!(stop(daemon).await.0.success());
        with_timeout("the end of the poll", platform.wait_for_no_poll()).await;
        daemon = home.daemon();
    }
    assert!(stop(daemon).await.0.success());
    assert_eq!((platform.sent().len(), model.requests().len()), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn telegram_gives_the_model_earlier_and_forwarded_messages_as_untrusted_text() {
    const GROUP: i64 = -20;
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|_| ModelAnswer::says("It is rock.")).await;
    let home = home(&platform, &model);
    let in_group = |user, text: &str| UserMessage::group(user, GROUP, text);
    platform.say(in_group(8, "the boat leaves at nine"));
    platform.say(in_group(ANN, "@avocet_bot is this true?"));
    platform.say(in_group(ANN, "the moon is made of cheese").forwarded_from(9, 12));
    let daemon = home.daemon();
    let sent = with_timeout("the answer", platform.wait_for_sent(1)).await;
    assert_eq!((sent[0].chat, sent[0].text.as_str()), (GROUP, "It is rock."));
    let request = model.requests()[0].to_string();
    let (earlier, comment) = request.split_once("is this true?").unwrap();
    assert!(earlier.contains("from earlier messages to others"), "{request}");
    assert!(earlier.contains("the boat leaves at nine"), "{request}");
    assert!(comment.contains("from messages forwarded with this one"), "{request}");
    assert!(comment.contains("[forwarded from User 9]"), "{request}");
    with_timeout("the confirmation", platform.wait_for_confirmed()).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!((model.requests().len(), platform.refusals()), (1, vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn telegram_answers_a_comment_and_a_later_forward_once() {
    let platform = TelegramFake::start(TOKEN).await;
    let never = held();
    let model =
        first_and_then(move |_| held_back(&never, "One."), |_| ModelAnswer::says("Both.")).await;
    let home = home(&platform, &model);
    let daemon = home.daemon();
    platform.private_text(ANN, "is this true?");
    asked(&model, 1).await;
    platform.say(UserMessage::private(ANN, "the moon is made of cheese").forwarded_from(9, 12));
    let sent = with_timeout("the answer", platform.wait_for_sent(1)).await;
    assert_eq!(sent[0].text, "Both.");
    let request = model.requests()[1].to_string();
    assert!(request.contains("is this true?") && request.contains("made of cheese"), "{request}");
    with_timeout("the confirmation", platform.wait_for_confirmed()).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!((platform.sent().len(), model.requests().len()), (1, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn telegram_answers_once_after_a_kill_during_an_answer() {
    let platform = TelegramFake::start(TOKEN).await;
    let never = held();
    let model =
        first_and_then(move |_| begun("I ", &never, "never"), |_| ModelAnswer::says("Now.")).await;
    let home = home(&platform, &model);
    let daemon = home.daemon();
    platform.private_text(ANN, "Tell me.");
    asked(&model, 1).await;
    with_timeout("the confirmation", platform.wait_for_confirmed()).await;
    daemon.kill();
    with_timeout("the end of the poll", platform.wait_for_no_poll()).await;

    let daemon = home.daemon();
    let sent = with_timeout("the answer", platform.wait_for_sent(1)).await;
    assert_eq!(sent[0].text, "Now.");
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!((platform.sent().len(), model.requests().len()), (1, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f5_telegram_retries_a_certainly_failed_send_without_a_mark() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|_| ModelAnswer::says("Good morning.")).await;
    let home = home(&platform, &model);
    let failure = ApiError::new(500, "Internal Server Error");
    platform.inject(On::method("sendMessage"), 2, InjectedFault::Refuse(failure));
    let daemon = home.daemon();
    platform.private_text(ANN, "good morning");
    let sent = with_timeout("the answer", platform.wait_for_sent(1)).await;
    assert_eq!(sent[0].text, "Good morning.");
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!((platform.sent().len(), platform.calls("sendMessage")), (1, 3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f5_message_tool_text_is_not_repeated_as_the_answer() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|request| match last_results(request)[..] {
        [] => ModelAnswer::call("message", json!({ "text": "**Done**, as `asked`." })),
        _ => ModelAnswer::says("**Done**, as `asked`."),
    })
    .await;
    let home = home(&platform, &model);
    let daemon = home.daemon();
    platform.private_text(ANN, "do it");
    with_timeout("the message", platform.wait_for_sent(1)).await;
    asked(&model, 2).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    let said: Vec<String> = platform.sent().into_iter().map(|message| message.text).collect();
    assert_eq!(said, ["Done, as asked."]);
}

/// A model that sends the files of the workspace before it answers.
async fn sends_files() -> OpenAiFake {
    OpenAiFake::start(|request| match last_results(request)[..] {
        [] => ModelAnswer::call(
            "message",
            json!({ "text": "Your **files**.", "files": ["out/report.pdf", "chart.png"] }),
        ),
        [..] => ModelAnswer::says("There they are."),
    })
    .await
}

fn put_files(home: &Home) {
    let workspace = home.workspace();
    std::fs::create_dir_all(workspace.join("out")).unwrap();
    std::fs::write(workspace.join("out/report.pdf"), b"%PDF-1.7").unwrap();
    std::fs::write(workspace.join("chart.png"), png(640, 480)).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn message_tool_sends_files_of_the_workspace() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = sends_files().await;
    let home = home(&platform, &model);
    put_files(&home);
    let daemon = home.daemon();
    platform.private_text(ANN, "send me the files");
    let sent = with_timeout("the answer", platform.wait_for_sent(4)).await;
    let texts: Vec<&str> = sent.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["Your files.", "", "", "There they are."]);
    let upload = |at: usize| sent[at].file.as_ref().unwrap().upload.clone().unwrap();
    assert_eq!((upload(1).name.as_str(), &upload(1).bytes[..]), ("report.pdf", &b"%PDF-1.7"[..]));
    assert_eq!((upload(2).name.as_str(), upload(2).bytes), ("chart.png", png(640, 480)));
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!(platform.refusals(), vec![]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn message_tool_repeats_a_file_once_with_a_mark_after_a_kill() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = sends_files().await;
    let home = home(&platform, &model);
    put_files(&home);
    platform.inject(On::method("sendDocument"), 1, InjectedFault::HangAfter);
    let daemon = home.daemon();
    platform.private_text(ANN, "send me the files");
    with_timeout("the document", platform.wait_for_calls("sendDocument", 1)).await;
    daemon.kill();
    with_timeout("the end of the poll", platform.wait_for_no_poll()).await;

    let daemon = home.daemon();
    let sent = with_timeout("the answer", platform.wait_for_sent(5)).await;
    let shown: Vec<(&str, bool)> =
        sent.iter().map(|message| (message.text.as_str(), message.file.is_some())).collect();
    let expected = [
        ("Your files.", false),
        ("", true),
        (REPEAT_MARK, true),
        ("", true),
        ("There they are.", false),
    ];
    assert_eq!(shown, expected);
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!(platform.sent().len(), 5);
}

/// The second picture is too long for a photo, so that Telegram refuses the album.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn message_tool_repeats_a_partly_sent_album_with_a_mark_after_a_kill() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|request| match last_results(request)[..] {
        [] => ModelAnswer::call(
            "message",
            json!({ "text": "Both", "files": ["small.png", "long.png"] }),
        ),
        [..] => ModelAnswer::says("There they are."),
    })
    .await;
    let home = home(&platform, &model);
    let workspace = home.workspace();
    std::fs::create_dir_all(&workspace).unwrap();
    for (name, width) in [("small.png", 10), ("long.png", 4000)] {
        std::fs::write(workspace.join(name), png(width, 10)).unwrap();
    }
    platform.inject(On::method("sendDocument"), 1, InjectedFault::flood(3));
    let daemon = home.daemon();
    platform.private_text(ANN, "send me the files");
    let waits = "SELECT count(*) FROM outbox WHERE state = 'pending' AND repeat = 1";
    until("the flood wait", async || number(&home, waits) == 1).await;
    daemon.kill();
    with_timeout("the end of the poll", platform.wait_for_no_poll()).await;

    let daemon = home.daemon();
    let sent = with_timeout("the answer", platform.wait_for_sent(4)).await;
    let texts: Vec<&str> = sent.iter().map(|message| message.text.as_str()).collect();
    let marked = format!("{REPEAT_MARK}\nBoth");
    assert_eq!(texts, ["Both", &marked, "", "There they are."]);
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!(platform.sent().len(), 4);
}

/// Telegram may refuse a token for some seconds: the channel retries, and then works without a
/// restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn telegram_token_refused_for_a_while_is_reported_once_and_loses_no_answer() {
    for at_start in [true, false] {
        let platform = TelegramFake::start(TOKEN).await;
        let permits = held();
        let model = parrot(&permits).await;
        let home = rows::home(&platform, &model);
        if at_start {
            platform.revoke();
        }
        let mut daemon = home.daemon();
        if !at_start {
            platform.ask(HELD);
            asked(&model, 1).await;
            platform.revoke();
        }
        let says = "does not know the token of [channels.telegram] (main)";
        logged(&mut daemon, says, 1).await;
        permits.add_permits(1);
        // The other channel still works.
        let terminal = AttachedChat::join(&home, "ann").await;
        terminal.ask("Are you there?").await;
        assert_eq!(terminal.reply().await.text, "Are you there?");
        let shown = home.run(&["status"]).out;
        assert!(
            ["down: ", says, "@BotFather"].iter().all(|words| shown.contains(words)),
            "{shown}"
        );

        platform.reinstate();
        is_answered(&platform, "After.").await;
        is_settled(&home).await;
        let expected: &[&str] = if at_start { &["After."] } else { &[HELD, "After."] };
        assert_eq!(platform.told(), expected);
        let (ended, log) = stop(daemon).await;
        assert!(ended.success() && !log.contains("secret"), "{log}");
        let [line] = &trouble(&log)[..] else { panic!("{:#?}", trouble(&log)) };
        assert!(line.contains(says) && line.contains("@BotFather"), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn telegram_sends_a_table_natively_and_asks_an_older_server_once() {
    for knows in [true, false] {
        let platform = TelegramFake::start(TOKEN).await;
        platform.learn_drafts();
        if knows {
            platform.learn_rich_messages();
        }
        let table = "| Bird | Eggs |\n|--|--:|\n| Goose | 5 |";
        let model = OpenAiFake::start(move |_| ModelAnswer::says(table)).await;
        let daemon = home_with(&platform, &model, "rich_tables = true\n").daemon();
        for count in 1..=2 {
            platform.private_text(ANN, "which birds?");
            let sent = with_timeout("the answer", platform.wait_for_sent(count)).await;
            assert_eq!(sent[count - 1].rich.is_some(), knows, "{sent:?}");
        }
        let (status, log) = stop(daemon).await;
        assert!(status.success(), "{log}");
        let calls = ["sendRichMessage", "sendMessage"].map(|method| platform.calls(method));
        assert_eq!(calls, if knows { [2, 0] } else { [1, 2] });
        assert_eq!(platform.refusals(), []);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn telegram_answers_direct_messages_of_a_channel_in_their_topics() {
    const CHANNEL: i64 = -1_000_000_000_060;
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|_| ModelAnswer::says("Good morning.")).await;
    let group = format!("[channels.telegram.groups.\"{CHANNEL}\"]\nmention = false\n");
    let home = home_with(&platform, &model, &group);
    let daemon = home.daemon();
    for (count, topic) in [(1, 41), (2, 42)] {
        platform.say(UserMessage::group(ANN, CHANNEL, "hello").direct_topic(topic));
        let sent = with_timeout("the answer", platform.wait_for_sent(count)).await;
        let sent = &sent[count - 1];
        assert_eq!((sent.direct_topic, sent.text.as_str()), (Some(topic), "Good morning."));
    }
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!(number(&home, "SELECT count(DISTINCT session) FROM turns"), 2);
    assert_eq!(platform.refusals(), []);
}
