//! Tests of access from end to end: strangers, owners, users and groups on the strict fake of
//! Telegram, and the operator at the command line.

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results};
use avocet_testkit::telegram::{SentMessage, TelegramFake, UserMessage};
use avocet_tests::{Home, now, program};
use regex::Regex;
use serde_json::{Value, json};

use crate::approvals::told_presser;
use crate::model::{asked, config};
use crate::patience::{stop, until, with_timeout};

const TOKEN: &str = "4711:AA-secret";
const DAN: i64 = 6;
const ANN: i64 = 7;
const BOB: i64 = 8;
const CID: i64 = 9;
const GROUP: i64 = -20;

/// Creates a home whose bot has Ann and Dan as owners and Bob as a user, and reads all messages in a
/// group.
fn home(platform: &TelegramFake, model: &OpenAiFake) -> Home {
    platform.set_now(now());
    let telegram = format!(
        "[channels.telegram]\ntoken = \"${{TOKEN}}\"\napi_url = \"{}\"\nowners = [{ANN}, {DAN}]\n\
         allow = [{BOB}]\n[channels.telegram.groups.\"{GROUP}\"]\nmention = false\n",
        platform.base_url()
    );
    Home::new(program!()).with_config(&config(model, &telegram)).with("TOKEN", TOKEN)
}

/// Waits until a chat has `count` messages, and returns them.
async fn told(platform: &TelegramFake, chat: i64, count: usize) -> Vec<SentMessage> {
    let in_chat = |sent: &[SentMessage]| {
        sent.iter().filter(|one| one.chat == chat).cloned().collect::<Vec<_>>()
    };
    let all = platform.wait_for(|sent| in_chat(sent).len() >= count);
    in_chat(&with_timeout(&format!("message {count} in {chat}"), all).await)
}

async fn last_told(platform: &TelegramFake, chat: i64, count: usize) -> String {
    told(platform, chat, count).await.pop().unwrap().text
}

/// Returns the code in a hint.
fn code(hint: &str) -> String {
    let (_, rest) = hint.split_once("pair approve ").unwrap();
    rest.split(' ').next().unwrap().trim_end_matches('.').to_owned()
}

async fn hinted(platform: &TelegramFake) -> String {
    platform.private_text(CID, "let me in");
    let hint = last_told(platform, CID, 1).await;
    assert!(
        hint.starts_with("I do not know you yet. Please ask my owner to run: avocet pair approve ")
    );
    code(&hint)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f14_pair_approve_admits_a_stranger_and_people_remove_reverts_it() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|_| ModelAnswer::says("Good morning.")).await;
    let home = home(&platform, &model);
    let daemon = home.daemon();
    let code = hinted(&platform).await;
    platform.private_text(CID, "hello?");
    with_timeout("the confirmation", platform.wait_for_confirmed()).await;
    let list: Value = serde_json::from_str(&home.run(&["pair", "list", "--json"]).out).unwrap();
    assert_eq!((&list[0]["code"], &list[0]["person"]), (&json!(code), &json!("telegram:main:9")));
    assert_eq!(list[0]["name"], "User 9");
    assert_eq!(model.requests(), Vec::<Value>::new(), "a stranger costs no model call");

    let approved = home.run(&["pair", "approve", &code.replace('-', "").to_lowercase()]);
    assert_eq!(
        approved.out, "User 9 (telegram:main:9) may speak now; role: user\n",
        "{approved:?}"
    );
    let again = home.run(&["pair", "approve", &code]);
    assert_eq!(again.code, Some(1));
    assert!(again.err.contains("was approved before"), "{again:?}");
    let welcome = "You may speak with me now. I am reading your message.";
    assert_eq!(last_told(&platform, CID, 2).await, welcome);
    assert_eq!(last_told(&platform, CID, 3).await, "Good morning.");
    assert!(model.requests()[0].to_string().contains("let me in"), "{:?}", model.requests());
    platform.private_text(CID, "good morning");
    assert_eq!(last_told(&platform, CID, 4).await, "Good morning.");

    let people = home.run(&["people", "list"]).out;
    for line in ["telegram:main:7  owner  configured", "telegram:main:9  user"] {
        assert!(people.contains(line), "{people}");
    }
    let removed = home.run(&["people", "remove", "telegram:main:9"]);
    assert_eq!(removed.out, "telegram:main:9 may no longer speak\n", "{removed:?}");
    platform.private_text(CID, "still there?");
    with_timeout("the confirmation", platform.wait_for_confirmed()).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!((told(&platform, CID, 4).await.len(), model.requests().len()), (4, 2));
    assert_eq!(platform.refusals(), vec![]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f14_pair_approve_without_a_daemon_makes_the_first_owner() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|_| ModelAnswer::says("Good morning.")).await;
    let home = home(&platform, &model);
    let daemon = home.daemon();
    let code = hinted(&platform).await;
    assert!(stop(daemon).await.0.success());
    with_timeout("the end of the poll", platform.wait_for_no_poll()).await;
    let approved = home.run(&["pair", "approve", &code, "--owner"]);
    assert_eq!(
        approved.out, "User 9 (telegram:main:9) may speak now; role: owner\n",
        "{approved:?}"
    );
    assert_eq!(home.run(&["pair", "list"]).out, "No stranger waits for approval.\n");

    let daemon = home.daemon();
    let welcome = "You may speak with me now, as an owner. I am reading your message.";
    assert_eq!(told(&platform, CID, 3).await[1].text, welcome);
    assert_eq!(last_told(&platform, CID, 3).await, "Good morning.", "kept over the restart");
    platform.private_text(CID, "/pair");
    assert_eq!(last_told(&platform, CID, 4).await, "No stranger waits for approval.");
    assert!(stop(daemon).await.0.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f14_pairing_button_admits_once_and_only_if_an_owner_presses() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|_| ModelAnswer::says("Good morning.")).await;
    let home = home(&platform, &model);
    let daemon = home.daemon();
    platform.private_text(ANN, "hello");
    told(&platform, ANN, 1).await;
    platform.private_text(DAN, "hello");
    told(&platform, DAN, 1).await;
    platform.private_text(CID, "let me in");
    let hint =
        "I do not know you yet, so I have asked my owner. I will answer your message after that.";
    assert_eq!(last_told(&platform, CID, 1).await, hint);
    let notice = told(&platform, ANN, 2).await.pop().unwrap();
    let code = code(&notice.text);
    let other_card = told(&platform, DAN, 2).await.pop().unwrap();
    assert_eq!(other_card.buttons().len(), 2);
    assert!(notice.text.starts_with("User 9 (telegram:main:9) wants to speak with me."));
    let approve = format!("/pair approve {code}");

    platform.press(CID, &notice, &approve);
    platform.press(BOB, &notice, &approve);
    let refused = "/pair is for my owner, and only in a private chat.";
    told_presser(&platform, refused).await;
    platform.say(UserMessage::group(ANN, GROUP, &approve));
    assert_eq!(last_told(&platform, GROUP, 1).await, refused);
    assert_eq!(home.run(&["pair", "list", "--json"]).out.matches("\"code\"").count(), 1);

    platform.press(ANN, &notice, &approve);
    let decided = Regex::new(
        r"^User 9 \(telegram:main:9\) may speak with me, approved by .+ at \d\d:\d\d\.$",
    );
    let decided = decided.unwrap();
    let is_decided = |one: &&SentMessage| decided.is_match(&one.text) && one.buttons().is_empty();
    let ended = platform.wait_for(|sent| sent.iter().filter(is_decided).count() == 2);
    with_timeout("the end of both cards", ended).await;
    platform.press(ANN, &notice, &approve);
    let replayed = format!("The code {code} was approved before; a code can be used once.");
    told_presser(&platform, &replayed).await;
    assert_eq!(last_told(&platform, CID, 3).await, "Good morning.", "the answer to the first text");
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!((told(&platform, ANN, 2).await.len(), platform.refusals()), (2, vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn member_reads_no_words_of_the_program_and_the_owner_reads_the_cause() {
    let platform = TelegramFake::start(TOKEN).await;
    let refusal = r#"{"error":{"message":"Incorrect API key provided"}}"#;
    let refuses = move |_: &Value| ModelAnswer::Status(401, Vec::new(), refusal.to_owned());
    let model = OpenAiFake::start(refuses).await;
    let home = home(&platform, &model);
    let daemon = home.daemon();
    platform.private_text(ANN, "/status");
    told(&platform, ANN, 1).await;
    platform.private_text(BOB, "hello");
    let plain = "I cannot answer just now. My owner has been told. /retry tries it again.";
    assert_eq!(last_told(&platform, BOB, 1).await, plain);
    let cause = last_told(&platform, ANN, 2).await;
    for part in
        ["I could not answer User 8 in telegram:main:8.", "refused the key", "avocet doctor"]
    {
        assert!(cause.contains(part), "{cause}");
    }
    platform.say(UserMessage::group(BOB, GROUP, "hello"));
    assert_eq!(last_told(&platform, GROUP, 1).await, plain);
    platform.private_text(BOB, "/help");
    let help = last_told(&platform, BOB, 2).await;
    for part in ["w7", "w…", "[", "/approve", "/pair", "/mode ask"] {
        assert!(!help.contains(part), "{part}: {help}");
    }
    assert!(stop(daemon).await.0.success());
    assert_eq!(told(&platform, ANN, 2).await.len(), 2, "once an hour");
}

/// Returns the names of the tools that a request offers.
fn offered(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().into_iter().flatten();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f14_owner_tools_are_only_for_owners_in_private() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|request| match last_results(request)[..] {
        [] => ModelAnswer::call("write_file", json!({ "path": "a.txt", "content": "hi" })),
        ref results => ModelAnswer::says(results.join(" ")),
    })
    .await;
    let home = home(&platform, &model);
    let daemon = home.daemon();
    platform.private_text(BOB, "write");
    let refused = last_told(&platform, BOB, 1).await;
    assert!(refused.contains("permission denied: write_file is for owners"), "{refused}");
    platform.say(UserMessage::group(ANN, GROUP, "write"));
    let refused = last_told(&platform, GROUP, 1).await;
    assert!(refused.contains("permission denied: write_file is for owners"), "{refused}");
    assert!(!home.workspace().join("a.txt").exists());
    platform.private_text(ANN, "write");
    told(&platform, ANN, 1).await;
    assert!(home.workspace().join("a.txt").exists());

    let requests = model.requests();
    let for_users = ["ask_user", "memory_search", "memory_write", "message", "use_tools"];
    let deferred = "Load more tools. Groups: memory(forget read) read_result schedule \
        search(history)";
    assert_eq!(requests[0]["tools"][4]["function"]["description"], deferred);
    assert!(requests[..4].iter().all(|request| offered(request) == for_users), "{for_users:?}");
    assert!(offered(&requests[4]).contains(&"write_file"), "{}", requests[4]);
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn link_makes_a_terminal_and_a_telegram_chat_share_a_session() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|_| ModelAnswer::says("Noted.")).await;
    let home = home(&platform, &model);
    let daemon = home.daemon();
    let early = home.run(&["link", "telegram:main:7", "me"]);
    assert_eq!(early.code, Some(1));
    assert!(early.err.contains("telegram:main:7 is not a private chat of an admitted person"));
    platform.private_text(ANN, "My cat is called Ada.");
    told(&platform, ANN, 1).await;
    let linked = home.run(&["link", "telegram:main:7", "me"]);
    let expected = "terminal:local:me speaks in the session telegram:main:7 now\n";
    assert_eq!(linked.out, expected, "{linked:?}");
    assert_eq!(home.run(&["link"]).out, expected.replace(" now", ""));
    let answered = home.run(&["ask", "me", "What is my cat called?", "--wait"]);
    assert_eq!(answered.out, "Noted.\n", "{answered:?}");
    assert!(model.requests()[1].to_string().contains("My cat is called Ada."));
    until("both in one session", async || {
        home.run(&["sessions", "show", "telegram:main:7"]).out.matches("Noted.").count() == 2
    })
    .await;
    assert_eq!(told(&platform, ANN, 1).await.len(), 1, "replies go to the chat that asked");

    let unlinked = home.run(&["link", "telegram:main:7", "me", "--remove"]);
    assert_eq!(unlinked.out, "terminal:local:me has its own session again\n", "{unlinked:?}");
    let alone = home.run(&["ask", "me", "And now?", "--wait"]);
    assert_eq!(alone.out, "Noted.\n", "{alone:?}");
    asked(&model, 3).await;
    assert!(!model.requests()[2].to_string().contains("Ada"));
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
}
