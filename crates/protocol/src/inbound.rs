//! A message on its way in.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{ChatAddress, Content, DedupeKey, MessageId, SenderId, SessionId, Timestamp};

/// What a channel or another process puts onto the bus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inbound {
    /// Where it was written, and where the reply goes.
    pub address: ChatAddress,
    /// Who wrote it.
    pub sender: Sender,
    /// What makes it the same message when it comes again; unique within the chat.
    pub key: DedupeKey,
    /// What was written.
    pub content: Content,
    /// Who else reads the chat.
    #[serde(default)]
    pub chat: ChatKind,
    /// When the platform says that it was written; none where that is now.
    #[serde(default)]
    pub written_at: Option<Timestamp>,
    /// The message that this one corrects, by its key: the platform lets people edit. The
    /// correction has a key of its own.
    #[serde(default)]
    pub corrects: Option<DedupeKey>,
    /// When it was edited, if it is a first hearing of what was edited before: the platform may tell
    /// of that edit once more.
    #[serde(default)]
    pub edited_at: Option<Timestamp>,
    /// Whether the platform itself says who wrote it; another process may claim anything. Not in the
    /// log.
    #[serde(skip)]
    pub from_platform: bool,
    /// Whether its sender was an owner when it was admitted. Not in the log.
    #[serde(skip)]
    pub by_owner: bool,
}

impl Inbound {
    /// A message that was written just now, in a chat with the agent alone, as another process says.
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

    /// What a reply to it refers to: where others write in between, the message, or the one that it
    /// corrects. In a chat with the agent alone nothing has to be referred to.
    #[must_use]
    pub fn to_reply_to(&self) -> Option<&DedupeKey> {
        match self.chat {
            ChatKind::Private => None,
            ChatKind::Group => Some(self.corrects.as_ref().unwrap_or(&self.key)),
        }
    }
}

/// Who reads what is said in a chat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatKind {
    /// One person and the agent.
    #[default]
    Private,
    /// Others too: groups, their topics, channels of a server.
    Group,
}

impl ChatKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Private, Self::Group];

    /// The word in the log.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Group => "group",
        }
    }
}

/// Who wrote a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The platform's id of the person, bot or process.
    pub id: SenderId,
    /// What the person calls themselves, if anything; to be shown, never to be believed.
    pub name: Option<String>,
    /// Whether the platform says that it is a program.
    #[serde(default)]
    pub is_bot: bool,
}

impl Sender {
    /// A person or process without a name.
    #[must_use]
    pub fn new(id: SenderId) -> Self {
        Self { id, name: None, is_bot: false }
    }
}

/// What the lane has to do with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InboundKind {
    /// Waits in its lane and starts a turn.
    Text,
    /// `/stop`, `/status`, ...: never waits in the lane.
    Command,
}

/// An inbound message that the bus admitted, as it goes into the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewInbound {
    /// The conversation it belongs to.
    pub session: SessionId,
    /// Text or command.
    pub kind: InboundKind,
    /// The message, its text sanitised.
    pub inbound: Inbound,
    /// How many characters sanitising removed.
    pub removed: u32,
}

/// An inbound message as it stands in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedInbound {
    /// Its number.
    pub id: MessageId,
    /// When it was committed.
    pub received_at: Timestamp,
    /// What was committed.
    pub message: NewInbound,
}

impl NewInbound {
    /// The text as the model is to read it: with a line for each attachment, and with a remark if
    /// it corrects another or if sanitising removed something.
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

/// How long after it was written a message is late: whoever wrote it has waited, and may have gone
/// on without an answer.
pub const LATE: Duration = Duration::from_mins(15);

impl LoggedInbound {
    /// [`NewInbound::model_text`], with a remark if it came late.
    #[must_use]
    pub fn model_text(&self) -> String {
        self.model_text_of(&self.message.inbound.content)
    }

    /// As [`Self::model_text`], if this had been the content.
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

    /// Whether it arrived more than [`LATE`] after it was written.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.delay() > LATE
    }

    fn delay(&self) -> Duration {
        let written = self.message.inbound.written_at;
        written.map_or(Duration::ZERO, |written| written.until(self.received_at))
    }
}

/// How far a channel has read its platform's updates, or what else it has to know after a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// What it is the place in: empty where an account has one cursor (Telegram's offset), a chat
    /// where each has its own (Discord's channels).
    pub scope: String,
    /// The place, in the platform's own words.
    pub position: String,
}

/// How an accepted message ended. Every accepted message ends in exactly one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// A reply was put into the outbox, or had been sent by the message tool.
    Replied,
    /// A visible error was put into the outbox.
    Error,
    /// A visible notice says that it was dropped, and how to send it again.
    Dropped,
    /// Its answer is that of another message (collect, steer), or it was the answer to a question.
    Merged,
    /// Its sender stopped it.
    Stopped,
}

impl Outcome {
    /// Every outcome, in the order of the promise.
    pub const ALL: [Self; 5] =
        [Self::Replied, Self::Error, Self::Dropped, Self::Merged, Self::Stopped];

    /// The word in the log and in what the CLI prints.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Replied => "replied",
            Self::Error => "error",
            Self::Dropped => "dropped",
            Self::Merged => "merged",
            Self::Stopped => "stopped",
        }
    }
}
