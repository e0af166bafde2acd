//! Topics of the direct messages of a channel (Bot API 9.2). Each topic is one person's
//! conversation with the channel, so an answer never leaves its topic. teloxide does not know these
//! fields.

use avocet_protocol::chat::ChatAddress;
use avocet_protocol::ids::{IdError, TopicId};
use serde::Serialize;
use serde_json::Value;
use teloxide::requests::Payload;

/// The prefix of the number in an address. A topic of a forum has no prefix.
const MARK: char = 'd';

/// The number of a topic: at most 52 bits (Bot API, `DirectMessagesTopic`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct DirectTopic(i64);

impl DirectTopic {
    /// Returns the topic of the message in an update, or of the message with a pressed button.
    pub(crate) fn of_update(update: &Value) -> Option<Self> {
        let message = update.get("message").or_else(|| update.get("edited_message"));
        let message = message.or_else(|| update.get("callback_query")?.get("message"))?;
        message.get("direct_messages_topic")?.get("topic_id")?.as_i64().map(Self)
    }

    /// Returns `true` for a pressed button whose topic is unknown. The platform describes a message
    /// that it no longer keeps only by its chat, id and date (Bot API, `InaccessibleMessage`).
    pub(crate) fn is_lost(update: &Value) -> bool {
        let below = update.get("callback_query").and_then(|query| query.get("message"));
        below.is_some_and(|message| message["chat"]["is_direct_messages"] == true)
            && Self::of_update(update).is_none()
    }

    /// Returns the topic of an address.
    pub(crate) fn from_chat(chat: &ChatAddress) -> Option<Self> {
        chat.topic.as_ref()?.as_str().strip_prefix(MARK)?.parse().ok().map(Self)
    }

    /// Returns the topic in the form of an address.
    ///
    /// # Errors
    /// Never for a number that fits into an id.
    pub(crate) fn id(self) -> Result<TopicId, IdError> {
        TopicId::parse(&format!("{MARK}{}", self.0))
    }

    pub(crate) fn number(self) -> i64 {
        self.0
    }
}

/// A request to send something, with the topic to which it goes.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct InDirectTopic<P> {
    #[serde(flatten)]
    pub(crate) payload: P,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) direct_messages_topic_id: Option<DirectTopic>,
}

impl<P: Payload> Payload for InDirectTopic<P> {
    type Output = P::Output;
    const NAME: &'static str = P::NAME;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_update_reads_the_topic_of_messages_edits_and_buttons() {
        let message = json!({ "direct_messages_topic": { "topic_id": 4_503_599_627_370_495_i64 } });
        let topic = Some(DirectTopic(4_503_599_627_370_495));
        let updates = [
            json!({ "message": message }),
            json!({ "edited_message": message }),
            json!({ "callback_query": { "message": message } }),
        ];
        for update in updates {
            assert_eq!(DirectTopic::of_update(&update), topic, "{update}");
        }
        for odd in [json!({}), json!({ "topic_id": "7" }), json!(7)] {
            let update = json!({ "message": { "direct_messages_topic": odd } });
            assert_eq!(DirectTopic::of_update(&update), None, "{update}");
        }
    }

    #[test]
    fn is_lost_for_an_old_button_in_direct_messages_only() {
        let below = |message: Value| json!({ "callback_query": { "message": message } });
        let direct = json!({ "id": -100, "type": "supergroup", "is_direct_messages": true });
        let group = json!({ "id": -100, "type": "supergroup" });
        let of_topic = json!({ "chat": direct, "direct_messages_topic": { "topic_id": 5 } });
        let table = [
            (below(json!({ "chat": direct, "message_id": 5, "date": 0 })), true),
            (below(of_topic), false),
            (below(json!({ "chat": group, "message_id": 5, "date": 0 })), false),
            (json!({ "message": { "chat": direct } }), false),
            (json!({ "callback_query": {} }), false),
        ];
        for (update, expected) in table {
            assert_eq!(DirectTopic::is_lost(&update), expected, "{update}");
        }
    }

    #[test]
    fn id_differs_from_that_of_a_forum_topic() {
        let chat = |topic: &str| format!("telegram:main:-100:{topic}").parse().unwrap();
        assert_eq!(DirectTopic(5).id().unwrap().as_str(), "d5");
        assert_eq!(DirectTopic::from_chat(&chat("d5")), Some(DirectTopic(5)));
        assert_eq!(DirectTopic::from_chat(&chat("5")), None);
        assert_eq!(crate::topic::thread_of_chat(&chat("d5")), None);
    }
}
