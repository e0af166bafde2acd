//! The address of a chat, and the id of the conversation that it belongs to.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{AccountName, CallId, ChannelName, ChatId, IdError, JobId, ScheduleId, TopicId};
use crate::ids::{IdFault, MAX_ID_BYTES, check_id, text_id_traits};

/// A chat or topic that can get a reply: `telegram:work:-100123:7`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct ChatAddress {
    /// The platform adapter.
    pub channel: ChannelName,
    /// The bot login on it.
    pub account: AccountName,
    /// The chat there.
    pub chat: ChatId,
    /// The topic or thread inside the chat.
    pub topic: Option<TopicId>,
}

impl ChatAddress {
    /// Returns `true` if both are in the same chat, in whatever topics.
    #[must_use]
    pub fn is_same_chat(&self, other: &Self) -> bool {
        let Self { channel, account, chat, .. } = self;
        (channel, account, chat) == (&other.channel, &other.account, &other.chat)
    }

    /// Returns the chat without its topic. Order and rate limits apply to the whole chat.
    #[must_use]
    pub fn whole_chat(&self) -> Self {
        Self { topic: None, ..self.clone() }
    }
}

impl fmt::Display for ChatAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { channel, account, chat, topic } = self;
        write!(f, "{channel}:{account}:{chat}")?;
        topic.iter().try_for_each(|topic| write!(f, ":{topic}"))
    }
}

impl fmt::Debug for ChatAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl FromStr for ChatAddress {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        const KIND: &str = "chat";
        check_id(KIND, text)?;
        let parts: Vec<&str> = text.split(':').collect();
        let (channel, account, chat, topic) = match parts[..] {
            [channel, account, chat] => (channel, account, chat, None),
            [channel, account, chat, topic] => (channel, account, chat, Some(topic)),
            _ => return Err(IdError::new(KIND, text, IdFault::Parts(parts.len()))),
        };
        Ok(Self {
            channel: ChannelName::parse(channel)?,
            account: AccountName::parse(account)?,
            chat: ChatId::parse(chat)?,
            topic: topic.map(TopicId::parse).transpose()?,
        })
    }
}

impl TryFrom<String> for ChatAddress {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<ChatAddress> for String {
    fn from(address: ChatAddress) -> Self {
        address.to_string()
    }
}

/// The key of one conversation: `channel:account:chat` or `channel:account:chat:topic`. At most 256
/// bytes as a whole. Forbidden are `..`, `/`, `\`, control characters and empty parts.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// Parses a session id.
    ///
    /// # Errors
    /// [`IdError`] names the value and the rule it breaks.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let reject = |fault| IdError::new(Self::KIND, text, fault);
        check_id(Self::KIND, text)?;
        match text.split(':').count() {
            3 | 4 if text.split(':').any(str::is_empty) => Err(reject(IdFault::Empty)),
            3 | 4 => Ok(Self(text.into())),
            parts => Err(reject(IdFault::Parts(parts))),
        }
    }

    const KIND: &str = "session id";

    /// Returns the session of a chat or topic.
    ///
    /// # Errors
    /// [`IdError`] if the parts together are longer than an id may be.
    pub fn from_address(address: &ChatAddress) -> Result<Self, IdError> {
        // Its parts are valid.
        match address.to_string() {
            id if id.len() <= MAX_ID_BYTES => Ok(Self(id.into())),
            id => Err(IdError::new(Self::KIND, &id, IdFault::TooLong(id.len()))),
        }
    }

    /// The beginning of the ids of sessions of editors.
    pub const OF_EDITORS: &str = "terminal:local:acp-";

    /// Returns `true` for the session of an editor.
    #[must_use]
    pub fn is_of_editor(&self) -> bool {
        self.0.starts_with(Self::OF_EDITORS)
    }

    /// Returns the session of the child turn that a call spawns: `spawn:t4:s1c0`. No channel has
    /// this name.
    #[must_use]
    pub fn of_child(call: CallId) -> Self {
        let CallId { turn, step, ordinal } = call;
        Self(format!("spawn:{turn}:s{step}c{ordinal}").into())
    }

    /// Returns the call that spawned the child of this session; `None` for other sessions.
    #[must_use]
    pub fn spawned_by(&self) -> Option<CallId> {
        let (turn, call) = self.0.strip_prefix("spawn:")?.split_once(":s")?;
        let (step, ordinal) = call.split_once('c')?;
        Some(CallId {
            turn: turn.parse().ok()?,
            step: step.parse().ok()?,
            ordinal: ordinal.parse().ok()?,
        })
    }

    /// Returns the session of a job that a chat has asked for: `job:local:5`. No channel has this
    /// name.
    #[must_use]
    pub fn of_job(job: JobId) -> Self {
        Self(format!("job:local:{}", job.0).into())
    }

    /// Returns the session of a job that no chat has asked for: `terminal:local:job-5`, which is
    /// also a chat of the terminal.
    #[must_use]
    pub fn of_terminal_job(job: JobId) -> Self {
        Self(format!("terminal:local:job-{}", job.0).into())
    }

    /// Returns `true` if the id has the form of a job's session. Terminal chats with such an id
    /// belong to jobs.
    #[must_use]
    pub fn is_named_as_job(&self) -> bool {
        let number = self.job_number();
        number.is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    }

    /// Returns the job that runs in this session; `None` for other sessions.
    #[must_use]
    pub fn job(&self) -> Option<JobId> {
        let number = self.job_number().filter(|_| self.is_named_as_job())?;
        number.parse().ok().map(JobId)
    }

    fn job_number(&self) -> Option<&str> {
        let begins = ["job:local:", "terminal:local:job-"];
        begins.iter().find_map(|begin| self.0.strip_prefix(begin))
    }

    /// Returns the session of the runs of a schedule: `schedule:local:3`. No channel has this name.
    #[must_use]
    pub fn of_schedule(id: ScheduleId) -> Self {
        Self(format!("schedule:local:{}", id.0).into())
    }

    /// Returns the schedule whose runs have this session; `None` for other sessions.
    #[must_use]
    pub fn schedule(&self) -> Option<ScheduleId> {
        self.0.strip_prefix("schedule:local:")?.parse().ok().map(ScheduleId)
    }

    /// Returns the session of one request that belongs to no other conversation:
    /// `terminal:local:once-phone-1f3a`. Lists leave it out, and it is deleted
    /// [`Self::ONE_OFF_DAYS`] days after its last message.
    ///
    /// # Errors
    /// [`IdError`] if the name of the client cannot be a part of an id.
    pub fn one_off(client: &str, id: &str) -> Result<Self, IdError> {
        Self::parse(&format!("terminal:local:once-{client}-{id}"))
    }

    /// The form of the ids of [`Self::one_off`], in which `*` stands for any characters.
    pub const ONE_OFF_PATTERN: &str = "terminal:local:once-*";
    /// The days for which a conversation of one request is kept after its last message.
    pub const ONE_OFF_DAYS: u64 = 30;

    /// Returns `true` for a session of [`Self::one_off`].
    #[must_use]
    pub fn is_one_off(&self) -> bool {
        self.0.starts_with("terminal:local:once-")
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The chat that the session is named after.
    #[must_use]
    pub fn address(&self) -> ChatAddress {
        match self.0.parse() {
            Ok(address) => address,
            Err(error) => unreachable!("a session id was checked when it was made: {error}"),
        }
    }
}

text_id_traits!(SessionId);

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
