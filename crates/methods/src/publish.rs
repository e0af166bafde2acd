//! The methods by which a program that is a channel brings in the messages of people, and takes them
//! back.

use avocet_protocol::chat::{ChatAddress, ChatKind};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{AccountName, ChannelName, DedupeKey, SenderId};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    AskResult, CallTarget, EmptyAnswer, NamesTarget, PublishedFile, UntrustedPart, named_target,
};

/// `publish`: a message of a person on the program's platform. The result, an [`AskResult`], comes
/// after the commit. If the bus refuses the message, the cursor moves, too.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishParams {
    /// The chat of the message, which gets the reply.
    pub chat: ChatAddress,
    /// The kind of chat. Default: `private`.
    #[serde(default)]
    pub chat_kind: ChatKind,
    /// The person, by the platform's own id.
    pub sender: SenderId,
    /// The name for display.
    #[serde(default)]
    pub sender_name: Option<String>,
    /// `true` if the platform reports the author as a program.
    #[serde(default)]
    pub is_bot: bool,
    /// Identifies repetitions of the message; unique within the chat.
    pub key: DedupeKey,
    /// The text that the person typed, and nothing else: it is trusted as much as the person. It may
    /// be missing if something else came.
    #[serde(default)]
    pub text: String,
    /// Messages of others that the person forwarded with the text. They are untrusted, like all of
    /// these parts. At most 100 of each kind.
    #[serde(default)]
    pub forwarded: Vec<UntrustedPart>,
    /// Messages of others that the person quoted in the text.
    #[serde(default)]
    pub quotes: Vec<UntrustedPart>,
    /// Other text of the message that the person did not type, such as a contact card.
    #[serde(default)]
    pub untrusted: Vec<UntrustedPart>,
    /// Files, which the daemon reads from the program with `file.read`.
    #[serde(default)]
    pub attachments: Vec<PublishedFile>,
    /// The time of writing in milliseconds since 1970; `None` for now.
    #[serde(default)]
    pub written_at: Option<Timestamp>,
    /// The key of the message that this one corrects.
    #[serde(default)]
    pub corrects: Option<DedupeKey>,
    /// The position in the platform's messages. It is stored in the same transaction.
    #[serde(default)]
    pub cursor: Option<PublishedCursor>,
}

/// A position in the messages of the platform.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PublishedCursor {
    /// The range that the position belongs to. Default: empty, the whole account.
    pub scope: String,
    /// The position, in the program's own format.
    pub position: String,
}

/// `cursor.move`: moves the position in the platform's messages without a message. The result, which
/// is empty, comes after the commit.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveCursor {
    /// The channel.
    pub channel: ChannelName,
    /// The account.
    pub account: AccountName,
    /// The new position.
    pub cursor: PublishedCursor,
}

/// `message.withdraw`: takes back a message that its platform has deleted. A message that waits is not
/// answered, and a turn for this message alone is stopped. A turn for several messages goes on, and an
/// unknown or answered message changes nothing. The result, which is empty, comes after the commit.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WithdrawMessage {
    /// The chat of the message. A topic of the chat counts as the chat.
    pub chat: ChatAddress,
    /// The key with which the message was published.
    pub key: DedupeKey,
}

impl NamesTarget for MoveCursor {
    fn call_target(&self) -> CallTarget {
        CallTarget::Account(self.channel.clone(), self.account.clone())
    }
}

impl NamesTarget for PublishParams {
    fn call_target(&self) -> CallTarget {
        CallTarget::Chat(self.chat.clone())
    }
}

impl NamesTarget for WithdrawMessage {
    fn call_target(&self) -> CallTarget {
        CallTarget::Chat(self.chat.clone())
    }
}

method!(MoveCursor = "cursor.move": Self => EmptyAnswer, Channel, named_target::<Self>(), enters_message);
method!(PublishParams = "publish": Self => AskResult, Channel, named_target::<Self>(), enters_message);
method!(WithdrawMessage = "message.withdraw": Self => EmptyAnswer, Channel, named_target::<Self>(), enters_message);
