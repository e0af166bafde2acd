//! Tests of hostile platforms, row by row: each fault is reported once in a visible place, the
//! process goes on, other people are answered meanwhile, and every accepted message gets an
//! outcome.

use avocet_testkit::discord::{self, GatewayFault};
use avocet_testkit::telegram::{TelegramFake, UserMessage, odd_messages, odd_updates};
use serde_json::json;

use crate::chat::AttachedChat;
use crate::model::{asked, held};
use crate::patience::{logged, stop};
use crate::rows::{
    ANN, Asks, Discord, FaultRow, GROUP, HELD, STORY, Says, TOKEN, TestedPlatform, check, home,
    is_answered, is_settled, parrot, status, told, trouble,
};

/// A stranger.
const EVE: i64 = 8;
const SUPERGROUP: i64 = -1_000_000_000_020;
/// A topic of the group.
const TOPIC: i64 = 5;
const LARGE: u64 = 100 * 1024 * 1024;

/// Returns the bot's messages in a chat.
fn said_in(platform: &TelegramFake, chat: i64) -> Vec<String> {
    let sent = platform.sent().into_iter().filter(|message| message.chat == chat);
    sent.map(|message| message.text).collect()
}

fn nothing<P>(_: &P) {}

fn ask_for_the_id(platform: &TelegramFake) {
    platform.say(UserMessage::group(ANN, SUPERGROUP, "/id"));
}

/// Checks that a supergroup got the answer once, and, after `/id`, the id that it had as a group.
fn is_the_same_chat(said: &[String], answer: &str) {
    let [answered, id] = said else { panic!("{said:?}") };
    assert_eq!(answered, answer);
    assert!(id.contains("telegram:main:-20") && !id.contains("-1000000000020"), "{id}");
}

fn telegram() -> Vec<FaultRow<TelegramFake>> {
    let ask_in_group = |platform: &TelegramFake| {
        platform.say(UserMessage::group(ANN, GROUP, HELD));
    };
    let ask_in_topic = |platform: &TelegramFake| {
        platform.say(UserMessage::group(ANN, GROUP, HELD).thread(TOPIC));
    };
    vec![
        FaultRow {
            name: "the bot is kicked from a group",
            asks: Asks::Held(ask_in_group),
            breaks: |platform| platform.kick(ANN, GROUP),
            says: Says::Log(&["given up", "telegram:main:-20", "add it again"]),
            mends: |platform| platform.take_back(ANN, GROUP),
            ends: |platform| assert_eq!(said_in(platform, GROUP), [""; 0]),
        },
        FaultRow {
            name: "a person blocks the bot",
            asks: Asks::Held(|platform| platform.ask(HELD)),
            breaks: |platform| platform.block(ANN),
            says: Says::Log(&["given up", "telegram:main:7", "has blocked the bot"]),
            mends: |platform| platform.take_back(ANN, ANN),
            ends: |platform| assert_eq!(said_in(platform, ANN), ["Before.", "After."]),
        },
        FaultRow {
            name: "a person blocks the bot in the middle of an answer",
            asks: Asks::Begun(|platform| platform.ask(STORY)),
            breaks: |platform| platform.block(ANN),
            says: Says::Log(&["given up", "telegram:main:7", "has blocked the bot"]),
            mends: |platform| platform.take_back(ANN, ANN),
            ends: |platform| {
                let said = ["Before.", "Once upon a time there …", "After."];
                assert_eq!(said_in(platform, ANN), said);
            },
        },
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
            says: Says::Status("ignored: of a kind that cannot be read"),
            mends: nothing,
            ends: |platform| assert_eq!(platform.told(), ["Before.", "After."]),
        },
        FaultRow {
            name: "a voice message that cannot be read",
            asks: Asks::Nothing,
            breaks: |platform| {
                platform.say(UserMessage::thing(ANN, ANN, "voice", json!({})));
            },
            says: Says::Chat("a voice message that Telegram describes in a way I do not know"),
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_telegram_is_reported_once_and_stops_nothing() {
    for row in telegram() {
        check(&TelegramFake::start(TOKEN).await, row).await;
    }
}

fn discord() -> Vec<FaultRow<Discord>> {
    let ask_in_server = |platform: &Discord| {
        let held = discord::UserMessage::new(platform.channel, ANN.unsigned_abs(), HELD).mention();
        platform.fake.post(held);
    };
    vec![
        FaultRow {
            name: "the bot is kicked from a server",
            asks: Asks::Held(ask_in_server),
            breaks: |platform| platform.fake.kick(platform.server),
            says: Says::Log(&["given up", "discord:main:", "take it into the server again"]),
            mends: |platform| platform.fake.take_back(platform.server),
            ends: |platform| assert_eq!(platform.said_in_server(), [""; 0]),
        },
        FaultRow {
            name: "the bot is kicked from a server in the middle of an answer",
            asks: Asks::Begun(|platform| {
                let ann = ANN.unsigned_abs();
                platform
                    .fake
                    .post(discord::UserMessage::new(platform.channel, ann, STORY).mention());
            }),
            breaks: |platform| platform.fake.kick(platform.server),
            says: Says::Log(&["given up", "discord:main:", "take it into the server again"]),
            mends: |platform| platform.fake.take_back(platform.server),
            ends: |platform| assert_eq!(platform.said_in_server(), ["Once upon a time there …"]),
        },
        FaultRow {
            name: "a person blocks the bot",
            asks: Asks::Held(|platform| platform.ask(HELD)),
            breaks: |platform| platform.fake.block(ANN.unsigned_abs()),
            says: Says::Log(&["given up", "discord:main:", "takes no direct messages"]),
            mends: |platform| platform.fake.reopen(platform.fake.dm(ANN.unsigned_abs())),
            ends: |platform| assert_eq!(platform.told(), ["Before.", "After."]),
        },
        FaultRow {
            name: "the bot may not write in a channel",
            asks: Asks::Held(ask_in_server),
            breaks: |platform| platform.fake.mute(platform.channel),
            says: Says::Log(&["given up", "discord:main:", "let it send messages there"]),
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
            says: Says::Log(&["given up", "discord:main:", "the channel is gone"]),
            mends: nothing,
            ends: |platform| assert_eq!(platform.told(), ["Before.", "After."]),
        },
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
            says: Says::Log(&["Discord sent data that is no gateway event", "account=main"]),
            mends: nothing,
            ends: |platform| assert_eq!(platform.told(), ["Before.", "After."]),
        },
        FaultRow {
            name: "a file of 100 MB",
            asks: Asks::Nothing,
            breaks: |platform| {
                let ann = ANN.unsigned_abs();
                let film = discord::UserMessage::new(platform.fake.dm(ann), ann, "Watch this.");
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_discord_is_reported_once_and_stops_nothing() {
    for row in discord() {
        check(&Discord::start().await, row).await;
    }
}

/// An invalid token on a platform, at a given time.
struct TokenRow<P> {
    name: &'static str,
    /// `true` if it fails before the start, `false` if it fails while a person waits for an answer.
    at_start: bool,
    breaks: fn(&P),
    mends: fn(&P),
    /// Words of the one line in the log, and of the status.
    says: &'static [&'static str],
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn discord_token_that_is_unknown_stops_only_its_channel() {
    let row = |name, at_start, breaks| TokenRow {
        name,
        at_start,
        breaks,
        mends: |platform: &Discord| platform.fake.reinstate(),
        says: &["does not know the token of [channels.discord]", "Reset Token"],
    };
    let revoke: fn(&Discord) = |platform| platform.fake.revoke();
    let refuse: fn(&Discord) =
        |platform| platform.fake.inject_gateway(1, GatewayFault::Close(4004));
    let rows = [
        row("a wrong token", true, revoke),
        row("a token that only the gateway does not take", true, refuse),
        row("a token that is revoked in flight", false, revoke),
    ];
    for row in rows {
        check_token(&Discord::start().await, &row).await;
    }
}

async fn check_token<P: TestedPlatform>(platform: &P, row: &TokenRow<P>) {
    eprintln!("{}", row.name);
    let permits = held();
    let model = parrot(&permits).await;
    let home = home(platform, &model);
    if row.at_start {
        (row.breaks)(platform);
    }
    let mut daemon = home.daemon();
    if !row.at_start {
        platform.ask(HELD);
        asked(&model, 1).await;
        (row.breaks)(platform);
    }
    logged(&mut daemon, "the channel is down until this is mended", 1).await;
    permits.add_permits(1);
    // The only other channel goes on.
    let terminal = AttachedChat::join(&home, "ann").await;
    terminal.ask("Are you there?").await;
    assert_eq!(terminal.reply().await.text, "Are you there?");
    let shown = home.run(&["status"]).out;
    assert!(shown.contains("down: "), "{shown}");
    assert!(row.says.iter().all(|words| shown.contains(words)), "{shown}");
    assert_eq!((daemon.ended(), &status(&home)["pid"]), (None, &json!(daemon.pid())));
    let (ended, log) = stop(daemon).await;
    assert!(ended.success() && !log.contains("secret"), "{log}");
    // The log also has the delivery that waits for the new token.
    let mut trouble = trouble(&log);
    trouble.retain(|line| !line.contains("delivery failed; retrying"));
    let [line] = &trouble[..] else { panic!("{trouble:#?}") };
    assert!(row.says.iter().all(|words| line.contains(words)), "{line}");

    (row.mends)(platform);
    let daemon = home.daemon();
    is_answered(platform, "After.").await;
    is_settled(&home).await;
    if !row.at_start {
        told(platform, HELD).await;
    }
    let expected: &[&str] = if row.at_start { &["After."] } else { &[HELD, "After."] };
    assert_eq!(platform.told(), expected);
    assert!(stop(daemon).await.0.success());
}
