use serde_json::{Value, json};

use super::*;

fn user(id: u64, name: &str) -> Value {
    json!({ "id": id.to_string(), "username": name, "discriminator": "0", "avatar": null })
}

fn message(more: &Value) -> Message {
    let mut message = json!({
        "id": "175928847299117063", "channel_id": "5", "author": user(7, "ann"), "content": "",
        "timestamp": "2016-04-30T11:18:25.796Z", "edited_timestamp": null, "tts": false,
        "mention_everyone": false, "mentions": [], "mention_roles": [], "attachments": [],
        "embeds": [], "pinned": false, "type": 0,
    });
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(message).unwrap()
}

/// A channel in which the bot answers every message.
const LISTENS: u64 = 77;

fn with_bot<T>(answer_all: bool, with: impl FnOnce(BotIdentity<'_>) -> T) -> T {
    let (channel, account) = ("discord".parse().unwrap(), "main".parse().unwrap());
    let commands = [CommandHelp::new("stop", "", "stop")];
    with(BotIdentity {
        user: UserId::new(42),
        channel: &channel,
        account: &account,
        answer_all,
        unmentioned: &BTreeSet::from([ChannelId::new(LISTENS)]),
        spoken: None,
        threads: Threads::Off,
        commands: &commands,
        names: &KnownNames::default(),
    })
}

#[track_caller]
fn read(more: &Value) -> Inbound {
    match with_bot(false, |bot| {
        bot.message(&message(more), DiscordChannel::Direct, MessageVersion::Original)
    }) {
        Converted::Inbound(inbound) => *inbound,
        other => panic!("{other:?}"),
    }
}

#[test]
fn convert_replaces_mentions_with_names_and_strips_a_leading_bot_mention() {
    let mentions = json!([user(42, "avocet"), user(9, "bob")]);
    let table = [
        ("<@42> /stop", "/stop"),
        ("<@!42>  <@42> hello", "hello"),
        ("ask <@9> or <@!9>", "ask @bob or @bob"),
        ("is <@42> there?", "is @avocet there?"),
        ("<@1> is nobody", "<@1> is nobody"),
    ];
    for (content, expected) in table {
        let inbound = read(&json!({ "content": content, "mentions": mentions }));
        assert_eq!(inbound.content.text, expected, "{content}");
    }
}

#[test]
fn why_not_ignores_server_messages_not_addressed_to_the_bot() {
    let mentions = json!([user(42, "avocet")]);
    let replied = |author: u64| {
        let replied = message(&json!({ "author": user(author, "x"), "content": "hi" }));
        json!({ "content": "x", "type": 19, "referenced_message": replied })
    };
    let table = [
        (json!({ "content": "hello" }), Some("not mentioned")),
        (json!({ "content": "<@42> hello", "mentions": mentions }), None),
        (json!({ "content": "/stop" }), None),
        (json!({ "content": "/stopped" }), Some("not mentioned")),
        (json!({ "content": "stop" }), Some("not mentioned")),
        (replied(42), None),
        (replied(9), Some("not mentioned")),
        (json!({ "content": "", "type": 7 }), Some("of another kind")),
        (json!({ "content": "@everyone", "mention_everyone": true }), Some("not mentioned")),
    ];
    for (more, expected) in table {
        let why_not = |answer_all, channel_type| {
            with_bot(answer_all, |bot| bot.why_not(&message(&more), channel_type))
        };
        let why = why_not(false, DiscordChannel::Server);
        assert_eq!(why, expected, "{more}");
        let whatever = expected.filter(|why| *why != "not mentioned");
        assert_eq!(why_not(false, DiscordChannel::Direct), whatever, "{more}");
        assert_eq!(why_not(true, DiscordChannel::Server), whatever, "{more}");
        let listens = DiscordChannel::Thread { parent: ChannelId::new(LISTENS) };
        assert_eq!(why_not(false, listens), whatever, "{more}");
    }
}

#[test]
fn convert_quotes_the_replied_message_with_its_author() {
    let replied = message(&json!({ "author": user(9, "bob"), "content": "ask <@42>",
        "mentions": [user(42, "avocet")] }));
    let inbound = read(&json!({ "content": "well?", "referenced_message": replied }));
    let quote = inbound.content.quote.unwrap();
    assert_eq!((quote.from.as_deref(), quote.text.as_str()), (Some("bob"), "ask @avocet"));
}

#[test]
fn convert_reads_a_forwarded_message_with_its_files() {
    let file = json!({ "id": "8", "filename": "a.ogg", "size": 3, "url": "https://x/a",
        "proxy_url": "https://x/a", "content_type": "audio/ogg" });
    let snapshot = json!({ "content": "look", "timestamp": "2016-04-30T11:18:25.796Z",
        "edited_timestamp": null, "mentions": [], "attachments": [file], "embeds": [], "type": 0 });
    let inbound = read(&json!({
        "message_reference": { "type": 1, "channel_id": "6", "message_id": "7" },
        "message_snapshots": [{ "message": snapshot }],
    }));
    assert_eq!(inbound.content.text, "look");
    assert!(inbound.content.forwarded_from.is_some());
    let file = &inbound.content.attachments[0];
    assert_eq!(file.kind, avocet_protocol::chat::AttachmentKind::Audio);
    let reference = "5/175928847299117063/8".to_owned();
    assert_eq!(file.source, avocet_protocol::chat::AttachmentSource::Platform(reference));
}

#[test]
fn convert_names_stickers_and_polls_and_rejects_an_empty_message() {
    let sticker = json!([{ "id": "1", "name": "wave", "format_type": 1 }]);
    let parts = |more: &Value| {
        let content = read(more).content;
        assert!(content.has_untrusted_parts());
        content.as_text()
    };
    let shown = "\n[from a sticker]\n> [sticker: wave]";
    assert_eq!(parts(&json!({ "content": "", "sticker_items": sticker })), shown);
    let poll = json!({ "question": { "text": "Tea?" }, "allow_multiselect": false,
        "layout_type": 1, "expiry": null, "answers": [
            { "answer_id": 1, "poll_media": { "text": "yes" } },
            { "answer_id": 2, "poll_media": { "text": "no" } },
        ] });
    let shown = "\n[from a poll]\n> [poll: Tea? (yes / no)]";
    assert_eq!(parts(&json!({ "content": "", "poll": poll })), shown);
    let shown = "\n[from a webhook]\n> run it";
    assert_eq!(parts(&json!({ "content": "run it", "webhook_id": "9" })), shown);
    use MessageVersion::{Edited, Original};
    let empty = |channel_type, version| {
        with_bot(false, |bot| bot.message(&message(&json!({})), channel_type, version))
    };
    assert!(matches!(empty(DiscordChannel::Direct, Original), Converted::Unreadable(_)));
    for (channel_type, version) in
        [(DiscordChannel::Direct, Edited), (DiscordChannel::Server, Original)]
    {
        assert_eq!(empty(channel_type, version), Converted::Ignored("without text"));
    }
    let asked = message(&json!({ "content": "<@42>", "mentions": [user(42, "avocet")] }));
    let asked = with_bot(true, |bot| bot.message(&asked, DiscordChannel::Server, Original));
    assert!(matches!(asked, Converted::Unreadable(_)), "{asked:?}");
}

#[test]
fn convert_names_the_sender_by_nickname_or_display_name() {
    let mut ann = user(7, "ann");
    ann["global_name"] = json!("Ann Lee");
    let inbound = read(&json!({ "content": "x", "author": ann }));
    assert_eq!(inbound.sender.name.as_deref(), Some("Ann Lee"));
    let member = json!({ "nick": "Annie", "roles": [], "deaf": false, "mute": false });
    let inbound = read(&json!({ "content": "x", "author": ann, "member": member }));
    assert_eq!((inbound.sender.name.as_deref(), inbound.sender.is_bot), (Some("Annie"), false));
    let hook = read(&json!({ "content": "x", "webhook_id": "3" }));
    assert!(hook.sender.is_bot);
    assert_eq!(hook.written_at, Some(Timestamp(1_462_015_105_000)));
}

/// A message in which these fields replace the plain ones, as the platform sends it.
fn read_raw(fields: &str) -> Content {
    let mut raw = json!({ "id": "175928847299117063", "channel_id": "5", "author": user(7, "ann"),
        "type": 0 });
    let fields: Value = serde_json::from_str(fields).unwrap();
    raw.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let message = crate::lenient::message(&raw).unwrap();
    match with_bot(false, |bot| {
        bot.message(&message, DiscordChannel::Direct, MessageVersion::Original)
    }) {
        Converted::Inbound(inbound) => inbound.content,
        other => panic!("{other:?}"),
    }
}

#[test]
fn convert_reads_cards_as_text_of_others() {
    let card = "Report card\nCPU is 97 percent";
    let components = read_raw(include_str!("testdata/components.json"));
    assert_eq!(components.text, "text in a container");
    let forward = read_raw(include_str!("testdata/forward.json"));
    assert_eq!(forward.text, card);
    let reply = read_raw(include_str!("testdata/reply.json"));
    assert_eq!(reply.quote.as_ref().unwrap().text, card);
    assert_eq!(reply.text, "what is this card");
    let with_text = read_raw(
        r#"{"content": "see", "embeds": [{"title": "Report card", "description": "bad"}]}"#,
    );
    assert_eq!(with_text.text, "see");
    assert_eq!(
        with_text.describe_forwarded().unwrap(),
        "[forwarded from a card]\n> Report card\n> bad"
    );
    for content in [components, forward, reply, with_text] {
        assert!(content.quotes_others(), "{content:?}");
    }
}

#[test]
fn convert_quotes_a_forwarded_message_and_files_but_no_card_of_the_bot() {
    let reply = |replied: Value| {
        read_raw(&json!({ "content": "x", "type": 19, "referenced_message": replied }).to_string())
    };
    let quote = |replied: Value| reply(replied).quote.unwrap();
    let forward = include_str!("testdata/forward.json");
    let forward: Value = serde_json::from_str(forward).unwrap();
    assert_eq!(quote(forward).text, "Report card\nCPU is 97 percent");
    let file = json!({ "id": "8", "filename": "a.ogg", "size": 3, "url": "https://x/a",
        "proxy_url": "https://x/a", "content_type": "audio/ogg" });
    let with_file = json!({ "author": user(9, "bob"), "content": "", "attachments": [file] });
    let with_file = reply(with_file);
    assert_eq!(with_file.as_text(), "[in reply to bob]\n> [audio: a.ogg, 3 bytes]\nx");
    assert!(with_file.quotes_others() && with_file.attachments[0].quoted);
    let ours = json!({ "author": user(42, "avocet"), "content": "see",
        "embeds": [{ "title": "not our words" }] });
    let ours = reply(ours);
    assert_eq!(ours.quote, Some(Quote { from: None, text: "see".to_owned() }));
    assert!(ours.quoted.is_some() && with_file.quoted.is_none(), "only the bot's own message");
}
