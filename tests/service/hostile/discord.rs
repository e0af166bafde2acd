//! Faults of Discord.

use avocet_testkit::discord::UserMessage;
use serde_json::json;

use super::{LARGE, nothing};
use crate::rows::{ANN, Asks, Discord, FaultRow, HELD, STORY, Says, TestedPlatform};

pub(super) fn rows() -> Vec<FaultRow<Discord>> {
    [closed_chats(), odd_input()].into_iter().flatten().collect()
}

/// The bot may no longer write in a chat, or read it.
fn closed_chats() -> Vec<FaultRow<Discord>> {
    vec![
        FaultRow {
            name: "the bot is kicked from a server",
            asks: Asks::Held(ask_in_server),
            breaks: |platform| platform.fake.kick(platform.server),
            says: Says::Log(&[
                "delivery abandoned",
                "discord:main:",
                "invite it to the server again",
            ]),
            mends: |platform| platform.fake.take_back(platform.server),
            ends: |platform| assert_eq!(platform.said_in_server(), [""; 0]),
        },
        FaultRow {
            name: "the bot is kicked from a server in the middle of an answer",
            asks: Asks::Begun(|platform| {
                let ann = ANN.unsigned_abs();
                platform.fake.post(UserMessage::new(platform.channel, ann, STORY).mention());
            }),
            breaks: |platform| platform.fake.kick(platform.server),
            says: Says::Log(&[
                "delivery abandoned",
                "discord:main:",
                "invite it to the server again",
            ]),
            mends: |platform| platform.fake.take_back(platform.server),
            ends: |platform| assert_eq!(platform.said_in_server(), ["Once upon a time there …"]),
        },
        FaultRow {
            name: "a person blocks the bot",
            asks: Asks::Held(|platform| platform.ask(HELD)),
            breaks: |platform| platform.fake.block(ANN.unsigned_abs()),
            says: Says::Log(&["delivery abandoned", "discord:main:", "accepts no direct messages"]),
            mends: |platform| platform.fake.reopen(platform.fake.dm(ANN.unsigned_abs())),
            ends: |platform| assert_eq!(platform.told(), ["Before.", "After."]),
        },
        FaultRow {
            name: "the bot may not write in a channel",
            asks: Asks::Held(ask_in_server),
            breaks: |platform| platform.fake.mute(platform.channel),
            says: Says::Log(&["delivery abandoned", "discord:main:", "let it send messages there"]),
            mends: |platform| platform.fake.reopen(platform.channel),
            ends: |platform| assert_eq!(platform.said_in_server(), [""; 0]),
        },
        FaultRow {
            name: "the bot may not read what was said in a channel",
            asks: Asks::Held(ask_in_server),
            breaks: |platform| platform.fake.close_history(platform.channel),
            says: Says::Chat(HELD),
            mends: |platform| platform.fake.reopen(platform.channel),
            ends: |platform| assert_eq!(platform.said_in_server(), [HELD]),
        },
        FaultRow {
            name: "a channel is deleted",
            asks: Asks::Held(ask_in_server),
            breaks: |platform| platform.fake.delete_channel(platform.channel),
            says: Says::Log(&["delivery abandoned", "discord:main:", "the channel is gone"]),
            mends: nothing,
            ends: |platform| {
                let told = platform.told();
                assert_eq!([&*told[0], &*told[2]], ["Before.", "After."], "{told:?}");
                let notice = &told[1];
                assert!(notice.starts_with("I cannot write in `discord:main:"), "{notice}");
                assert!(notice.contains("the channel is gone") && told.len() == 3, "{told:?}");
            },
        },
    ]
}

/// Input that no client of Discord sends, or seldom.
fn odd_input() -> Vec<FaultRow<Discord>> {
    vec![
        FaultRow {
            name: "an event of an unknown kind",
            asks: Asks::Nothing,
            breaks: |platform| platform.fake.push("TEA_LEAVES_READ", &json!({ "by": [1] })),
            says: Says::Status("1 ignored: of another kind"),
            mends: nothing,
            ends: nothing,
        },
        FaultRow {
            name: "odd events",
            asks: Asks::Nothing,
            breaks: |platform| {
                let odd = [json!(null), json!(5), json!([]), json!({}), json!({ "id": "x" })];
                for kind in ["MESSAGE_CREATE", "INTERACTION_CREATE", "GUILD_CREATE", "READ"] {
                    odd.iter().for_each(|body| platform.fake.push(kind, body));
                }
                for kind in ["MESSAGE_UPDATE", "CHANNEL_CREATE", "THREAD_DELETE", "\u{202e}"] {
                    odd.iter().for_each(|body| platform.fake.push(kind, body));
                }
            },
            says: Says::Status("ignored: unreadable"),
            mends: nothing,
            ends: |platform| assert_eq!(platform.told(), ["Before.", "After."]),
        },
        FaultRow {
            name: "what is no payload at all",
            asks: Asks::Nothing,
            breaks: |platform| {
                for payload in ["", "tea", "[]", "{}", "{\"op\":99}", "{\"op\":\"x\",\"d\":{}}"] {
                    platform.fake.push_raw(payload);
                }
            },
            says: Says::Log(&["Discord sent data that is not a gateway event", "account=main"]),
            mends: nothing,
            ends: |platform| assert_eq!(platform.told(), ["Before.", "After."]),
        },
        FaultRow {
            name: "a file of 100 MB",
            asks: Asks::Nothing,
            breaks: |platform| {
                let ann = ANN.unsigned_abs();
                let film = UserMessage::new(platform.fake.dm(ann), ann, "Watch this.");
                platform.fake.post(film.file_of_size("film.mkv", "video/x-matroska", LARGE, b""));
            },
            says: Says::Log(&["not fetched", "discord:main:", "it is larger than 20 MB"]),
            mends: nothing,
            ends: |platform| {
                let told = platform.told();
                assert!(told[1].contains("could not be fetched: it is larger than 20 MB"));
                assert_eq!(told.len(), 3);
            },
        },
        FaultRow {
            name: "4000 combining characters",
            asks: Asks::Nothing,
            breaks: |platform| platform.ask(&"\u{301}".repeat(4000)),
            says: Says::Chat("\u{301}\u{301}\u{301}"),
            mends: nothing,
            ends: |platform| {
                let told = platform.told().concat();
                assert_eq!(told.matches('\u{301}').count(), 4000);
            },
        },
    ]
}

fn ask_in_server(platform: &Discord) {
    let held = UserMessage::new(platform.channel, ANN.unsigned_abs(), HELD).mention();
    platform.fake.post(held);
}
