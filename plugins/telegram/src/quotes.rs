//! Quotes: the message that a message replies to, or the selected part of it. The message replied to
//! may be in another chat, which the Bot API calls an external reply. Its text is never the sender's
//! own.

use avocet_protocol::chat::Quote;
use serde_json::{Map, Value};
use teloxide::types::{ExternalReplyInfo, Message, MessageKind, User};

use crate::bot::BotIdentity;
use crate::message::original_sender;
use crate::numbers::read_integer;

/// The author of a quote of which the platform does not name the message.
const UNNAMED: &str = "another message";
/// The text of a message in another chat of which the sender has selected no part.
const NOT_SHOWN: &str = "(Telegram does not show the text of this message)";

impl BotIdentity<'_> {
    /// The quoted part of the message replied to, or all of it. In a topic, the platform marks a
    /// plain message as a reply to the topic's first one; that is ignored.
    pub(crate) fn quote(&self, message: &Message) -> Option<Quote> {
        let chosen = message.quote().map(|quote| quote.text.as_str());
        if let Some(external) = external_reply(message) {
            return Some(external_quote(&original_sender(&external.origin), chosen));
        }
        let Some(replied) = message.reply_to_message() else {
            return chosen
                .map(|text| Quote { from: Some(UNNAMED.to_owned()), text: text.to_owned() });
        };
        let is_topic = replied.forum_topic_created().is_some()
            || Some(replied.id) == message.thread_id.map(|topic| topic.0);
        let text = chosen.or_else(|| replied.text()).or_else(|| replied.caption());
        let from = replied.from.as_ref().filter(|from| from.id != self.me.id);
        let quote = |text: &str| Quote { from: from.map(User::full_name), text: text.to_owned() };
        text.filter(|_| !is_topic).map(quote)
    }

    /// Like [`Self::quote`], for a message of which teloxide can parse only the part `readable`.
    pub(crate) fn raw_quote(
        &self,
        message: &Map<String, Value>,
        readable: &Message,
    ) -> Option<Quote> {
        let chosen = message.get("quote").and_then(|quote| quote["text"].as_str());
        if let Some(external) = message.get("external_reply").filter(|reply| reply.is_object()) {
            let origin = &external["origin"];
            let author = origin_name(origin).or_else(|| name_of(&external["chat"]));
            return Some(external_quote(author.as_deref().unwrap_or("somebody"), chosen));
        }
        let replied = message.get("reply_to_message").filter(|replied| replied.is_object());
        let Some(replied) = replied.filter(|_| readable.reply_to_message().is_none()) else {
            return self.quote(readable);
        };
        let own = ["text", "caption"].iter().find_map(|field| replied[*field].as_str());
        let author = &replied["from"];
        let is_ours =
            read_integer(&author["id"]).and_then(|id| u64::try_from(id).ok()) == Some(self.me.id.0);
        let from = (!is_ours).then(|| name_of(author).unwrap_or_else(|| UNNAMED.to_owned()));
        chosen.or(own).map(|text| Quote { from, text: text.to_owned() })
    }
}

fn external_reply(message: &Message) -> Option<&ExternalReplyInfo> {
    match &message.kind {
        MessageKind::Common(common) => common.external_reply.as_ref(),
        _ => None,
    }
}

fn external_quote(author: &str, chosen: Option<&str>) -> Quote {
    let from = Some(format!("{author}, in another chat"));
    Quote { from, text: chosen.unwrap_or(NOT_SHOWN).to_owned() }
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
