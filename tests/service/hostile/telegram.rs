//! Faults of Telegram.

use avocet_testkit::telegram::{TelegramFake, UserMessage, odd_messages, odd_updates};
use serde_json::json;

use super::{LARGE, nothing};
use crate::rows::{ANN, Asks, FaultRow, GROUP, HELD, STORY, Says, TestedPlatform};

/// A stranger.
const EVE: i64 = 8;
const SUPERGROUP: i64 = -1_000_000_000_020;
/// A topic of the group.
const TOPIC: i64 = 5;

pub(super) fn rows() -> Vec<FaultRow<TelegramFake>> {
    [closed_chats(), supergroups(), topics(), odd_input()].into_iter().flatten().collect()
}

/// The bot may no longer write in a chat.
fn closed_chats() -> Vec<FaultRow<TelegramFake>> {
    vec![
        FaultRow {
            name: "the bot is kicked from a group",
            asks: Asks::Held(ask_in_group),
            breaks: |platform| platform.kick(ANN, GROUP),
            says: Says::Log(&["delivery abandoned", "telegram:main:-20", "add it again"]),
            mends: |platform| platform.take_back(ANN, GROUP),
            // The bot greets the group that has taken it back.
            ends: |platform| {
                let said = said_in(platform, GROUP);
                assert!(said.iter().all(|text| text.starts_with("Hello, I am")), "{said:?}");
            },
        },
        FaultRow {
            name: "a person blocks the bot",
            asks: Asks::Held(|platform| platform.ask(HELD)),
            breaks: |platform| platform.block(ANN),
            says: Says::Log(&["delivery abandoned", "telegram:main:7", "has blocked the bot"]),
            mends: |platform| platform.take_back(ANN, ANN),
            ends: |platform| assert_eq!(said_in(platform, ANN), ["Before.", "After."]),
        },
        FaultRow {
            name: "a person blocks the bot in the middle of an answer",
            asks: Asks::Begun(|platform| platform.ask(STORY)),
            breaks: |platform| platform.block(ANN),
            says: Says::Log(&["delivery abandoned", "telegram:main:7", "has blocked the bot"]),
            mends: |platform| platform.take_back(ANN, ANN),
            ends: |platform| {
                let said = ["Before.", "Once upon a time there …", "After."];
                assert_eq!(said_in(platform, ANN), said);
            },
        },
    ]
}

/// A group gets another id.
fn supergroups() -> Vec<FaultRow<TelegramFake>> {
    vec![
        FaultRow {
            name: "a group becomes a supergroup in the middle of an answer",
            asks: Asks::Begun(|platform| {
                platform.say(UserMessage::group(ANN, GROUP, STORY));
            }),
            breaks: |platform| platform.migrate(ANN, GROUP, SUPERGROUP),
            says: Says::Log(&["is now the supergroup", "-20", "-1000000000020", "groups"]),
            mends: ask_for_the_id,
            ends: |platform| {
                assert_eq!(said_in(platform, GROUP), ["Once upon a time there …"]);
                is_the_same_chat(&said_in(platform, SUPERGROUP), STORY);
            },
        },
        FaultRow {
            name: "a group becomes a supergroup",
            asks: Asks::Held(ask_in_group),
            breaks: |platform| platform.migrate(ANN, GROUP, SUPERGROUP),
            says: Says::Log(&["is now the supergroup", "-20", "-1000000000020", "groups"]),
            mends: ask_for_the_id,
            ends: |platform| {
                assert_eq!(said_in(platform, GROUP), [""; 0]);
                is_the_same_chat(&said_in(platform, SUPERGROUP), HELD);
            },
        },
    ]
}

/// A topic of a group is deleted or closed.
fn topics() -> Vec<FaultRow<TelegramFake>> {
    vec![
        FaultRow {
            name: "a topic is deleted before an answer",
            asks: Asks::Held(ask_in_topic),
            breaks: |platform| platform.delete_topic(GROUP, TOPIC),
            says: Says::Chat("(This was written in a topic that no longer exists.)"),
            mends: nothing,
            ends: |platform| {
                let line = "(This was written in a topic that no longer exists.)";
                assert_eq!(said_in(platform, GROUP), [format!("{line}\n{HELD}")]);
            },
        },
        FaultRow {
            name: "a topic is deleted in the middle of an answer",
            asks: Asks::Begun(|platform| {
                platform.say(UserMessage::group(ANN, GROUP, STORY).thread(TOPIC));
            }),
            breaks: |platform| platform.delete_topic(GROUP, TOPIC),
            says: Says::Chat("(This was written in a topic that no longer exists.)"),
            mends: nothing,
            ends: |platform| {
                let said = said_in(platform, GROUP);
                assert!(said[1].ends_with(STORY) && said.len() == 2, "{said:?}");
            },
        },
        FaultRow {
            name: "a topic is closed before an answer",
            asks: Asks::Held(ask_in_topic),
            breaks: |platform| platform.close_topic(GROUP, TOPIC),
            says: Says::Chat("(This was written in a topic that is closed.)"),
            mends: nothing,
            ends: |platform| {
                let line = "(This was written in a topic that is closed.)";
                assert_eq!(said_in(platform, GROUP), [format!("{line}\n{HELD}")]);
            },
        },
    ]
}

/// Input that no client of Telegram sends, or seldom.
fn odd_input() -> Vec<FaultRow<TelegramFake>> {
    vec![
        FaultRow {
            name: "an update of an unknown type",
            asks: Asks::Nothing,
            breaks: |platform| {
                platform.push_unasked("tea", json!({ "leaves": "read" }));
            },
            says: Says::Status("1 ignored: of another kind"),
            mends: nothing,
            ends: nothing,
        },
        FaultRow {
            name: "an update without an id",
            asks: Asks::Nothing,
            breaks: |platform| {
                platform.push_whole(json!({ "message": { "text": "hi" } }));
            },
            says: Says::Log(&["an update without an id", "account=main"]),
            mends: nothing,
            ends: nothing,
        },
        FaultRow {
            name: "odd updates of more than 60 kinds",
            asks: Asks::Nothing,
            breaks: |platform| {
                for message in odd_messages(EVE) {
                    platform.push("message", message);
                }
                for (kind, body) in odd_updates(EVE) {
                    platform.push_unasked(kind, body);
                }
            },
            says: Says::Status("ignored: of an unsupported kind"),
            mends: nothing,
            ends: |platform| assert_eq!(platform.told(), ["Before.", "After."]),
        },
        FaultRow {
            name: "a voice message that cannot be read",
            asks: Asks::Nothing,
            breaks: |platform| {
                platform.say(UserMessage::thing(ANN, ANN, "voice", json!({})));
            },
            says: Says::Chat("a voice message that Telegram describes in an unknown way"),
            mends: nothing,
            ends: nothing,
        },
        FaultRow {
            name: "a file of 100 MB",
            asks: Asks::Nothing,
            breaks: |platform| {
                platform.add_file("film", Some(LARGE), b"");
                let film = json!({ "file_id": "film", "file_unique_id": "u", "file_size": LARGE });
                platform.say(UserMessage::thing(ANN, ANN, "document", film));
            },
            says: Says::Log(&["not fetched", "telegram:main:7", "it is larger than 20 MB"]),
            mends: nothing,
            ends: |platform| {
                let told = platform.told();
                assert!(told[1].contains("could not be fetched: it is larger than 20 MB"));
                assert_eq!(told.len(), 3);
            },
        },
        FaultRow {
            name: "4096 combining characters",
            asks: Asks::Nothing,
            breaks: |platform| {
                platform.private_text(ANN, &"\u{301}".repeat(4096));
            },
            says: Says::Chat("\u{301}\u{301}\u{301}"),
            mends: nothing,
            ends: |platform| {
                let said = platform.told().concat();
                assert_eq!(said.matches('\u{301}').count(), 4096);
            },
        },
    ]
}

fn ask_in_group(platform: &TelegramFake) {
    platform.say(UserMessage::group(ANN, GROUP, HELD));
}

fn ask_in_topic(platform: &TelegramFake) {
    platform.say(UserMessage::group(ANN, GROUP, HELD).thread(TOPIC));
}

fn ask_for_the_id(platform: &TelegramFake) {
    platform.say(UserMessage::group(ANN, SUPERGROUP, "/id"));
}

/// Checks that a supergroup got the answer once, and, after `/id`, the id that it had as a group.
fn is_the_same_chat(said: &[String], answer: &str) {
    let [answered, id] = said else { panic!("{said:?}") };
    assert_eq!(answered, answer);
    assert!(id.contains("telegram:main:-20") && !id.contains("-1000000000020"), "{id}");
}

/// Returns the bot's messages in a chat.
fn said_in(platform: &TelegramFake, chat: i64) -> Vec<String> {
    let sent = platform.sent().into_iter().filter(|message| message.chat == chat);
    sent.map(|message| message.text).collect()
}
