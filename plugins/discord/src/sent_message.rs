//! A message that the bot has sent, as the platform answers it.

use avocet_protocol::chat::Receipt;
use avocet_protocol::ids::PlatformId;
use serde::Deserialize;
use serde_json::Value;
use serenity::model::id::MessageId;

/// The used fields of a message that the bot has sent. The message exists even if they are
/// unreadable.
#[derive(Debug, PartialEq)]
pub(crate) struct SentMessage {
    pub(crate) id: Option<MessageId>,
    pub(crate) content: Option<String>,
}

impl SentMessage {
    pub(crate) fn read(message: &Value) -> Self {
        let id = MessageId::deserialize(&message["id"]).ok();
        Self { id, content: message["content"].as_str().map(str::to_owned) }
    }

    pub(crate) fn to_receipt(&self) -> Receipt {
        Receipt { platform_id: self.id.and_then(|id| PlatformId::parse(&id.to_string()).ok()) }
    }
}
