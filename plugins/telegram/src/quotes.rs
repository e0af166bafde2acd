//! The message that a message replies to, or the selected part of it, with its files. It may be in
//! another chat, which the Bot API calls an external reply. Only the sender's own messages count as
//! the sender's own text.

use avocet_channel_kit::{RepliedAuthor, RepliedMessage};
use avocet_protocol::chat::Attachment;
use avocet_protocol::ids::PlatformId;
use serde_json::{Value, json};
use teloxide::types::{ChatId, MessageId};

use crate::bot::BotIdentity;
use crate::hidden_addresses::{add_addresses, describe_buttons};
use crate::media::{self, Carried};
use crate::numbers::read_integer;
use crate::raw_chat::Fields;
use crate::{raw_content, rich_text, update};

/// The author of a quote of which the platform does not name the message.
const UNNAMED: &str = "another message";
/// The text of a message in another chat of which the sender has selected no part.
const NOT_SHOWN: &str = "(Telegram does not show the text of this message)";
/// The fields of a message whose words are not those of its sender.
const NOT_OWN: [&str; 6] = ["contact", "forward_origin", "poll", "sender_chat", "venue", "via_bot"];
/// The fields of a message in another chat that describe no content (Bot API, `ExternalReplyInfo`).
const NO_CONTENT: [&str; 4] = ["origin", "chat", "message_id", "link_preview_options"];

impl BotIdentity<'_> {
    /// Returns the message that a message replies to. In a topic, the platform marks a plain message
    /// as a reply to the topic's first one; that is ignored.
    pub(crate) fn replied_message(&self, message: &Fields) -> Option<RepliedMessage> {
        let object = |field: &str| message.get(field).filter(|value| value.is_object());
        let chosen = object("quote").and_then(|quote| quote["text"].as_str());
        if let Some(external) = object("external_reply") {
            return Some(read_external(external, chosen));
        }
        let Some(replied) = object("reply_to_message") else {
            let author = RepliedAuthor::Other(UNNAMED.to_owned());
            let quoted =
                |text: &str| RepliedMessage { author, text: text.to_owned(), files: vec![] };
            return chosen.map(quoted);
        };
        let id = |message: &Value, field: &str| read_integer(&message[field]);
        let is_topic = !replied["forum_topic_created"].is_null()
            || (id(replied, "message_id").is_some()
                && id(replied, "message_id")
                    == message.get("message_thread_id").and_then(read_integer));
        if is_topic {
            return None;
        }
        let (text, files) = read_content(replied);
        let text = chosen.map_or(text, str::to_owned);
        Some(RepliedMessage { author: self.replied_author(message, replied), text, files })
    }

    /// Returns the author of the message replied to. A forwarded message, a card, and a message that
    /// another bot has written for its sender, is not its sender's own.
    fn replied_author(&self, message: &Fields, replied: &Value) -> RepliedAuthor {
        let author = read_integer(&replied["from"]["id"]);
        if author.and_then(|id| u64::try_from(id).ok()) == Some(self.me.id.0) {
            return RepliedAuthor::Agent(self.replied_number(message, replied));
        }
        let has = |field: &str| !replied[field].is_null();
        let sender = message.get("from").and_then(|from| read_integer(&from["id"]));
        let is_own = author.is_some()
            && author == sender
            && !message.contains_key("sender_chat")
            && !NOT_OWN.into_iter().any(has);
        let chat = name_of(&replied["sender_chat"]);
        let name = chat.or_else(|| name_of(&replied["from"])).unwrap_or_else(|| UNNAMED.to_owned());
        if is_own { RepliedAuthor::Sender(name) } else { RepliedAuthor::Other(name) }
    }
}

impl BotIdentity<'_> {
    /// Returns the id of a message of the bot in the same chat.
    fn replied_number(&self, message: &Fields, replied: &Value) -> Option<PlatformId> {
        let chat = message.get("chat").and_then(|chat| read_integer(&chat["id"]))?;
        let number = read_integer(&replied["message_id"])?;
        self.sent_number(ChatId(chat), MessageId(i32::try_from(number).ok()?))
    }
}

fn read_external(external: &Value, chosen: Option<&str>) -> RepliedMessage {
    let author = origin_name(&external["origin"]).or_else(|| name_of(&external["chat"]));
    let author = format!("{}, in another chat", author.as_deref().unwrap_or("somebody"));
    let mut content = external.as_object().cloned().unwrap_or_default();
    content.retain(|field, _| !NO_CONTENT.contains(&field.as_str()));
    // The fields that every message has.
    content.insert("message_id".to_owned(), 1.into());
    content.insert("date".to_owned(), 1.into());
    content.insert("chat".to_owned(), json!({ "id": 1, "type": "private", "first_name": "" }));
    let (text, files) = read_content(&content.into());
    let text = match chosen {
        Some(chosen) => chosen.to_owned(),
        None if text.is_empty() && files.is_empty() => NOT_SHOWN.to_owned(),
        None => text,
    };
    RepliedMessage { author: RepliedAuthor::Other(author), text, files }
}

/// Returns the text of a message, with the line that describes other content, and its files.
fn read_content(message: &Value) -> (String, Vec<Attachment>) {
    let fields = message.as_object();
    let own = ["text", "caption"].iter().find_map(|field| message[*field].as_str());
    let own = own.map(|own| fields.map_or(own.to_owned(), |fields| add_addresses(own, fields)));
    let rich = &message["rich_message"];
    let own = own.or_else(|| rich_text::read_rich_message(rich));
    let carried = update::message(message).map(|message| media::carried(&message));
    let (line, files) = match carried {
        Some(Carried::Unreadable(kind)) => (Some(unreadable_line(kind)), Vec::new()),
        Some(carried) => carried.into_parts(),
        None => {
            let file = fields.and_then(raw_content::file);
            let kind = fields.and_then(raw_content::kind);
            let line = kind.filter(|_| own.is_none() && file.is_none());
            let files = file.into_iter().chain(rich_text::read_rich_files(rich)).collect();
            (line.as_deref().map(unreadable_line), files)
        }
    };
    let buttons = fields.and_then(describe_buttons);
    let text: Vec<String> = own.into_iter().chain(line).chain(buttons).collect();
    (text.join("\n"), files)
}

fn unreadable_line(kind: &str) -> String {
    format!("[{kind}]")
}

/// The name of a message's author (Bot API, `MessageOrigin`).
fn origin_name(origin: &Value) -> Option<String> {
    let hidden = origin["sender_user_name"].as_str().map(str::to_owned);
    let people = ["sender_user", "sender_chat", "chat"];
    hidden.or_else(|| people.iter().find_map(|field| name_of(&origin[*field])))
}

/// The name of a person or a chat.
fn name_of(party: &Value) -> Option<String> {
    let parts = ["title", "first_name", "last_name"].iter();
    let parts: Vec<&str> = parts.filter_map(|field| party[*field].as_str()).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

#[cfg(test)]
mod tests {
    use avocet_channel_kit::Converted;
    use avocet_protocol::chat::{Content, Quote};
    use serde_json::json;

    use super::*;
    use crate::lenient::tests::convert_any;
    use crate::update::Update;

    fn quote(more: &Value) -> Option<Quote> {
        let mut update: Value =
            serde_json::from_str(include_str!("testdata/external_quote.json")).unwrap();
        let fields = update["message"].as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        match convert_any(Update::read(update).unwrap()) {
            Converted::Inbound(inbound) => {
                assert_eq!(inbound.content.text, "see quote");
                inbound.content.quote
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn quote_of_another_chat_names_its_author_as_foreign() {
        let origin = |origin: Value| json!({ "external_reply": { "origin": origin } });
        let user = json!({ "id": 8, "is_bot": false, "first_name": "Bob", "last_name": "Ray" });
        let channel = json!({ "id": -5, "type": "channel", "title": "News" });
        let photo = json!([{ "file_id": "f", "file_unique_id": "u", "width": 1, "height": 1 }]);
        let with_photo = json!({ "external_reply": { "photo": photo,
            "origin": { "type": "user", "sender_user": user, "date": 1 } } });
        let table = [
            (json!({}), "X, in another chat"),
            (
                origin(json!({ "type": "user", "sender_user": user, "date": 1 })),
                "Bob Ray, in another chat",
            ),
            (
                origin(json!({ "type": "channel", "chat": channel, "message_id": 1 })),
                "News, in another chat",
            ),
            (with_photo, "Bob Ray, in another chat"),
            (
                json!({ "external_reply": { "chat": channel, "message_id": "odd" } }),
                "News, in another chat",
            ),
            (origin(json!(5)), "somebody, in another chat"),
            (json!({ "external_reply": null }), "another message"),
            (json!({ "external_reply": [] }), "another message"),
        ];
        for (more, from) in table {
            let quote = quote(&more).unwrap();
            assert_eq!((quote.from.as_deref(), &*quote.text), (Some(from), "part"), "{more}");
        }
        let without_part = quote(&json!({ "quote": null })).unwrap();
        assert_eq!(without_part.text, NOT_SHOWN);
    }

    fn content(more: &Value) -> Content {
        let ann = json!({ "id": 7, "is_bot": false, "first_name": "Ann" });
        let chat = json!({ "id": 7, "type": "private", "first_name": "Ann" });
        let mut message = json!({ "message_id": 5, "date": 1, "chat": chat, "from": ann,
            "text": "and this?" });
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        match convert_any(Update::read(json!({ "update_id": 9, "message": message })).unwrap()) {
            Converted::Inbound(inbound) => inbound.content,
            other => panic!("{other:?}"),
        }
    }

    fn reply_to(from: u64, more: &Value) -> Value {
        let mut replied = json!({ "message_id": 4, "date": 1,
            "chat": { "id": 7, "type": "private", "first_name": "Ann" },
            "from": { "id": from, "is_bot": from == 42, "first_name": "Bob" } });
        replied.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "reply_to_message": replied })
    }

    #[test]
    fn replied_message_comes_with_what_it_carries() {
        let file = |more: Value| {
            let mut file = json!({ "file_id": "f", "file_unique_id": "u", "file_size": 9 });
            file.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            file
        };
        let photo = json!([file(json!({ "width": 1, "height": 1 }))]);
        let poll = json!({ "id": "1", "question": "Tea?", "options": [
            { "text": "yes", "voter_count": 0 }, { "text": "no", "voter_count": 0 }],
            "total_voter_count": 0, "is_closed": false, "is_anonymous": true, "type": "regular",
            "allows_multiple_answers": false });
        let cell = |text: &str| json!({ "align": "left", "valign": "top", "text": text });
        let table = json!({ "blocks": [{ "type": "table",
            "cells": [[cell("Day"), cell("Rain")], [cell("Mon"), cell("2 mm")]] }] });
        let story = json!({ "id": 1, "chat": { "id": -5, "type": "channel", "title": "S" } });
        let cases = [
            (json!({ "photo": photo }), "[image: 9 bytes]"),
            (json!({ "photo": photo, "caption": "beach" }), "beach\n> [image: 9 bytes]"),
            (
                json!({ "voice": file(json!({ "duration": 3, "mime_type": "audio/ogg" })) }),
                "[voice, 3 s: 9 bytes]",
            ),
            (
                json!({ "document": file(json!({ "file_name": "a.pdf" })) }),
                "[document: a.pdf, 9 bytes]",
            ),
            (json!({ "document": { "file_id": "f", "file_name": 5 } }), "[document]"),
            (json!({ "poll": poll }), "[poll: Tea? (yes / no)]"),
            (json!({ "rich_message": table }), "Day | Rain\n> Mon | 2 mm"),
            (json!({ "story": story }), "[a story]"),
        ];
        for (more, shown) in cases {
            for (from, name) in [(42, "you"), (9, "Bob"), (7, "Bob")] {
                let content = content(&reply_to(from, &more));
                let expected = format!("[in reply to {name}]\n> {shown}\nand this?");
                assert_eq!(content.as_text(), expected);
                let is_poll = !more["poll"].is_null();
                let is_untrusted = from == 9 || (is_poll && from == 7);
                assert_eq!(content.quotes_others(), is_untrusted, "{more}");
            }
        }
        let empty = content(&reply_to(9, &json!({ "pinned_message": null })));
        assert_eq!((empty.quote, empty.attachments.len()), (None, 0));
    }

    #[test]
    fn replied_message_is_the_senders_own_only_if_the_sender_wrote_it() {
        let chat = json!({ "id": -5, "type": "supergroup", "title": "Birds" });
        let origin = json!({ "type": "hidden_user", "date": 1, "sender_user_name": "Eve" });
        let bot = json!({ "id": 3, "is_bot": true, "first_name": "Gif", "username": "gif_bot" });
        let table = [
            (7, json!({ "text": "mine" }), true),
            (9, json!({ "text": "hers" }), false),
            (7, json!({ "text": "forwarded", "forward_origin": origin }), false),
            (7, json!({ "text": "of a bot", "via_bot": bot }), false),
            (7, json!({ "text": "of the group", "sender_chat": chat }), false),
            (7, json!({ "text": "nobody's", "from": null }), false),
        ];
        for (from, more, is_own) in table {
            assert_eq!(content(&reply_to(from, &more)).quotes_own, is_own, "{more}");
        }
        let mut anonymous = reply_to(7, &json!({ "text": "mine" }));
        anonymous["sender_chat"] = chat;
        assert!(!content(&anonymous).quotes_own);
    }

    #[test]
    fn quote_of_another_chat_comes_with_its_file_as_untrusted() {
        let photo = json!([{ "file_id": "f", "file_unique_id": "u", "width": 1, "height": 1 }]);
        let origin = json!({ "type": "user", "date": 1,
            "sender_user": { "id": 7, "is_bot": false, "first_name": "Ann" } });
        let external = json!({ "external_reply": { "origin": origin, "photo": photo } });
        let content = content(&external);
        assert_eq!(content.as_text(), "[in reply to Ann, in another chat]\n> [image]\nand this?");
        assert!(content.quotes_others() && content.attachments[0].quoted);
    }

    #[test]
    fn quote_of_an_unreadable_message_keeps_its_text_and_author() {
        let replied = |id: u64| {
            json!({ "external_reply": null, "reply_to_message": {
                "text": "the whole", "from": { "id": id, "first_name": "Bob" } } })
        };
        let part = quote(&replied(8)).unwrap();
        assert_eq!((part.from.as_deref(), &*part.text), (Some("Bob"), "part"));
        let mut whole = replied(42);
        whole["quote"] = json!({ "text": 5 });
        assert_eq!(quote(&whole).unwrap(), Quote { from: None, text: "the whole".to_owned() });
    }
}
