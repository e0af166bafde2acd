//! An inbound message.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Trust;
use crate::chat::{ChatAddress, Content, SessionId};
use crate::clock::Timestamp;
use crate::ids::{DedupeKey, MessageId, SenderId};

/// A message that a channel or another process publishes on the bus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Inbound {
    /// The chat of the message, which also gets the reply.
    pub address: ChatAddress,
    /// The author.
    pub sender: Sender,
    /// Identifies the message when it arrives again; unique within the chat.
    pub key: DedupeKey,
    /// The content of the message.
    pub content: Content,
    /// The kind of chat, which says if others read it.
    #[serde(default)]
    pub chat: ChatKind,
    /// The time of writing according to the platform; `None` if it was written just now.
    #[serde(default)]
    pub written_at: Option<Timestamp>,
    /// The key of the message that this one corrects, if a person edited it. The correction has a
    /// key of its own.
    #[serde(default)]
    pub corrects: Option<DedupeKey>,
    /// The time of the edit, if the message had been edited before it was first received. The
    /// platform may report that edit again.
    #[serde(default)]
    pub edited_at: Option<Timestamp>,
    /// `true` if the platform itself vouches for the author; another process may claim anything.
    /// Not in the log.
    #[serde(skip)]
    pub from_platform: bool,
    /// `true` if its sender was an owner when it was admitted. Not in the log.
    #[serde(skip)]
    pub by_owner: bool,
}

impl Inbound {
    /// Makes a message from another process, written just now in a private chat with the agent.
    #[must_use]
    pub fn new(address: ChatAddress, sender: Sender, key: DedupeKey, content: Content) -> Self {
        Self {
            address,
            sender,
            key,
            content,
            chat: ChatKind::Private,
            written_at: None,
            corrects: None,
            edited_at: None,
            from_platform: false,
            by_owner: false,
        }
    }

    /// Returns the message that a reply refers to: the one that the channel has set in the content.
    /// Without it, in a group, this message or the one that it corrects, since others write in
    /// between.
    #[must_use]
    pub fn to_reply_to(&self) -> Option<&DedupeKey> {
        match self.chat {
            _ if self.content.reply_to.is_some() => self.content.reply_to.as_ref(),
            ChatKind::Private => None,
            ChatKind::Group => Some(self.corrects.as_ref().unwrap_or(&self.key)),
        }
    }
}

/// The kind of a chat, by its readers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChatKind {
    /// One person and the agent.
    #[default]
    Private,
    /// Several people: groups, their topics, channels of a server.
    Group,
}

impl ChatKind {
    /// In the order of declaration.
    pub const ALL: [Self; 2] = [Self::Private, Self::Group];

    /// The word in the log.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Group => "group",
        }
    }
}

/// The author of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sender {
    /// The platform's id of the person, bot or process.
    pub id: SenderId,
    /// The display name that the person chose, if any; for display only, never for decisions.
    pub name: Option<String>,
    /// `true` if the platform reports the author as a program.
    #[serde(default)]
    pub is_bot: bool,
}

impl Sender {
    /// Makes a person or process without a name.
    #[must_use]
    pub fn new(id: SenderId) -> Self {
        Self { id, name: None, is_bot: false }
    }
}

/// The way in which the lane handles a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InboundKind {
    /// Waits in its lane and starts a turn.
    Text,
    /// `/stop`, `/status`, ...: never waits in the lane.
    Command,
}

/// An inbound message that the bus admitted, ready for the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewInbound {
    /// The conversation that it belongs to.
    pub session: SessionId,
    /// Text or command.
    pub kind: InboundKind,
    /// The message, its text sanitised.
    pub inbound: Inbound,
    /// Number of characters that sanitising removed.
    pub removed: u32,
    /// Upper limit for the trust of the text. `full` for messages of people, whose role
    /// decides; less for a message that the daemon itself writes, for example for a scheduled task.
    #[serde(default, skip_serializing_if = "is_full")]
    pub trust: Trust,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_full(trust: &Trust) -> bool {
    *trust == Trust::Full
}

/// An inbound message in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoggedInbound {
    /// Its number.
    pub id: MessageId,
    /// The time of the commit.
    pub received_at: Timestamp,
    /// The committed message.
    pub message: NewInbound,
}

impl NewInbound {
    /// The text for the model, with a line for each attachment. It has a remark if the message
    /// corrects another or if sanitising removed something.
    #[must_use]
    pub fn model_text(&self) -> String {
        self.model_text_of(&self.inbound.content)
    }

    fn model_text_of(&self, content: &Content) -> String {
        let mut text = String::new();
        if self.inbound.corrects.is_some() {
            text.push_str("[corrects an earlier message]\n");
        }
        text.push_str(&content.as_text());
        match self.removed {
            0 => {}
            1 => text.push_str("\n[1 invisible character was removed from this message]"),
            removed => text.push_str(&format!(
                "\n[{removed} invisible characters were removed from this message]"
            )),
        }
        text
    }
}

/// The delay between writing and arrival after which a message is late: its author may have gone on
/// without an answer.
pub const LATE: Duration = Duration::from_mins(15);

impl LoggedInbound {
    /// [`NewInbound::model_text`], with a remark if the message came late.
    #[must_use]
    pub fn model_text(&self) -> String {
        self.model_text_of(&self.message.inbound.content)
    }

    /// Like [`Self::model_text`], with `content` in place of the message's own.
    #[must_use]
    pub fn model_text_of(&self, content: &Content) -> String {
        let text = self.message.model_text_of(content);
        if !self.is_late() {
            return text;
        }
        let minutes = self.delay().as_secs() / 60;
        let late = match minutes / 60 {
            0 | 1 => format!("{minutes} minutes"),
            hours @ 2..48 => format!("{hours} hours"),
            hours => format!("{} days", hours / 24),
        };
        format!("[written {late} before it arrived]\n{text}")
    }

    /// Returns `true` if it arrived more than [`LATE`] after it was written.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.delay() > LATE
    }

    fn delay(&self) -> Duration {
        let written = self.message.inbound.written_at;
        written.map_or(Duration::ZERO, |written| written.until(self.received_at))
    }
}

/// The position of a channel in its platform's updates, or other state that it needs after a
/// restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// The range that the position belongs to: empty if an account has one cursor (Telegram's
    /// offset), a chat if each chat has its own (Discord's channels).
    pub scope: String,
    /// The position, in the platform's own format.
    pub position: String,
}

/// The outcome of an accepted message. Every accepted message ends with exactly one outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// A reply was put into the outbox, or the message tool had sent it already.
    Replied,
    /// A visible error was put into the outbox.
    Error,
    /// A visible notice reports that the message was dropped, and how to send it again.
    Dropped,
    /// The answer to another message covers it (collect, steer), or it answered a question.
    Merged,
    /// Its sender stopped it.
    Stopped,
}

impl Outcome {
    /// All outcomes, in the order of the state table.
    pub const ALL: [Self; 5] =
        [Self::Replied, Self::Error, Self::Dropped, Self::Merged, Self::Stopped];

    /// The word in the log and in CLI output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replied => "replied",
            Self::Error => "error",
            Self::Dropped => "dropped",
            Self::Merged => "merged",
            Self::Stopped => "stopped",
        }
    }
}
