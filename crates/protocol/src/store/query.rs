//! The port for read-only views of the log: sessions, transcripts, usage, outcomes of messages.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{OpenApproval, PermissionMode, PersonId, Trust};
use crate::bus::{ProgramCall, QueueMode};
use crate::chat::{Attachment, Outcome, SessionId};
use crate::clock::Timestamp;
use crate::daemon::LogStatus;
use crate::ids::{DeliveryId, IdError, MessageId, TurnId, WaitId};
use crate::model::{Effort, Usage, VoiceMode};
use crate::store::{SessionGroup, StoreError, Total};
use crate::tool::WaitKind;
use crate::turn::{AnswerEnding, TurnFailure, TurnRecord, TurnState};
use avocet_text::Redactor;

/// Read-only views of the log.
#[async_trait]
pub trait Query: fmt::Debug + Send + Sync {
    /// Counts over the whole log.
    async fn log_status(&self) -> Result<LogStatus, StoreError>;

    /// Returns the most recently used sessions, newest first. With `after`, the list continues
    /// behind that row.
    async fn sessions(
        &self,
        limit: u32,
        after: Option<&SessionRow>,
    ) -> Result<Vec<SessionSummary>, StoreError> {
        self.sessions_of(None, limit, after).await
    }

    /// Like [`Self::sessions`], only of one group; `None` for all.
    async fn sessions_of(
        &self,
        group: Option<SessionGroup>,
        limit: u32,
        after: Option<&SessionRow>,
    ) -> Result<Vec<SessionSummary>, StoreError>;

    /// The last turns of a session, oldest first.
    async fn transcript(
        &self,
        session: &SessionId,
        turns: u32,
    ) -> Result<Vec<TurnRecord>, StoreError> {
        let page = TranscriptPage { turns, before: None, bytes: usize::MAX };
        self.transcript_page(session, page).await
    }

    /// Like [`Self::transcript`], for a part of the session. Empty only if there are no such turns.
    async fn transcript_page(
        &self,
        session: &SessionId,
        page: TranscriptPage,
    ) -> Result<Vec<TurnRecord>, StoreError>;

    /// Returns the messages to the chat of a session, and to chats linked to it, that come from
    /// outside of the session's turns: answers to commands, texts of other sessions and processes.
    /// The newest come first. With `before`, the list continues behind that message.
    async fn sent(
        &self,
        session: &SessionId,
        limit: u32,
        before: Option<DeliveryId>,
    ) -> Result<Vec<DeliveredText>, StoreError>;

    /// The outcome of a message.
    async fn message(&self, id: MessageId) -> Result<Option<MessageStatus>, StoreError>;

    /// Returns the files that a turn of a session has sent, in order. Empty if the turn is not of
    /// that session.
    async fn sent_files(
        &self,
        session: &SessionId,
        turn: TurnId,
    ) -> Result<Vec<Attachment>, StoreError>;

    /// Returns the files of a message of a session in order, with the turn that has taken it in. Empty
    /// if the message is not of that session.
    async fn received_files(
        &self,
        session: &SessionId,
        message: MessageId,
    ) -> Result<(Option<TurnId>, Vec<Attachment>), StoreError>;

    /// The state of one session.
    async fn session_status(&self, session: &SessionId) -> Result<SessionStatus, StoreError>;

    /// Returns the calls that wait for approval, in the order of their requests. With `after`, the
    /// list continues behind that wait.
    async fn open_approvals(
        &self,
        limit: u32,
        after: Option<WaitId>,
    ) -> Result<Vec<OpenApproval>, StoreError>;

    /// Returns the cost of models since `since`. Rows by day begin with the last
    /// day, all others with the highest cost.
    async fn usage(&self, by: UsageBy, since: Timestamp) -> Result<Vec<UsageRow>, StoreError> {
        self.usage_page(by, since, u32::MAX, 0).await
    }

    /// Returns at most `limit` rows of [`Self::usage`] and skips the first `skip`.
    async fn usage_page(
        &self,
        by: UsageBy,
        since: Timestamp,
        limit: u32,
        skip: u32,
    ) -> Result<Vec<UsageRow>, StoreError>;
}

/// A position in the list of sessions, from which the next page continues. Written as
/// `USED_AT/SESSION`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionRow {
    /// The last time that the session was used, to the minute.
    pub used_at: Timestamp,
    /// The session.
    pub session: SessionId,
}

impl fmt::Display for SessionRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.used_at.0, self.session)
    }
}

impl FromStr for SessionRow {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (used_at, session) = text.split_once('/').ok_or_else(|| {
            format!(
                "{text:?} is not a row of the list; write it as the list shows it, USED_AT/SESSION"
            )
        })?;
        let used_at = used_at.parse().map(Timestamp).map_err(|_| {
            format!("{used_at:?} is not a time; give the milliseconds that the list shows")
        })?;
        let session = session.parse().map_err(|error: IdError| error.to_string())?;
        Ok(Self { used_at, session })
    }
}

/// Selects the turns of a session to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscriptPage {
    /// The most turns to return. The newest are kept.
    pub turns: u32,
    /// Only turns before this one.
    pub before: Option<TurnId>,
    /// Reading stops once the turns so far have this many bytes as JSON.
    pub bytes: usize,
}

/// One session in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionSummary {
    /// The session.
    pub session: SessionId,
    /// Number of turns.
    pub turns: u64,
    /// The last time that the session was used, to the minute.
    pub used_at: Timestamp,
    /// The state of its open turn, if it has one.
    pub open: Option<TurnState>,
    /// The title that a person has given, else the beginning of the first message of a person since
    /// `/new`. In one line without secrets; `None` without a message.
    #[serde(default)]
    pub title: Option<String>,
    /// `true` if a person has pinned the session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_pinned: bool,
    /// `true` if a person has archived the session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_archived: bool,
    /// The number of the session among the branches of one conversation. The title ends with it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub branch: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl SessionSummary {
    /// The most characters of a title that is shown.
    pub const TITLE_CHARS: usize = 80;
    /// The most characters of a title that is read: more than are shown, so that secrets can be found before
    /// the text is cut.
    pub const READ_CHARS: usize = 1000;

    /// Removes secrets from the title, cuts it to [`Self::TITLE_CHARS`] characters, and marks a branch.
    #[must_use]
    pub fn with_presentable_title(mut self, redactor: &Redactor) -> Self {
        let mark = match self.branch {
            0 => String::new(),
            1 => " (branch)".to_owned(),
            number => format!(" (branch {number})"),
        };
        let room = Self::TITLE_CHARS.saturating_sub(mark.len());
        self.title = self.title.map(|title| format!("{}{mark}", redactor.summary(&title, room)));
        self
    }
}

/// A message that a chat gets from outside of the turns of its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveredText {
    /// The first of its parts.
    pub delivery: DeliveryId,
    /// The time at which it was queued.
    pub at: Timestamp,
    /// The text of all parts, with a line for each file.
    pub text: String,
    /// The least advanced state of its parts.
    pub state: SentState,
    /// `true` if the text is no longer Markdown: its platform has taken it with styles.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_plain: bool,
}

/// The state of a delivery, from the worst to the best.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum SentState {
    /// The delivery was refused, or abandoned with an earlier part.
    Dead,
    /// The delivery may have arrived, and is not sent again.
    Unconfirmed,
    /// The delivery may have arrived, and is sent again.
    Unknown,
    /// The delivery waits.
    Pending,
    /// A send is in progress.
    Sending,
    /// The platform has taken it.
    Sent,
}

impl SentState {
    /// In the order of declaration.
    pub const ALL: [Self; 6] =
        [Self::Dead, Self::Unconfirmed, Self::Unknown, Self::Pending, Self::Sending, Self::Sent];

    /// The word in the log and in output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dead => "dead",
            Self::Unconfirmed => "unconfirmed",
            Self::Unknown => "unknown",
            Self::Pending => "pending",
            Self::Sending => "sending",
            Self::Sent => "sent",
        }
    }
}

/// The state of one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStatus {
    /// The handling of messages that arrive while a turn runs.
    pub mode: QueueMode,
    /// The model chosen for the session, as `provider/model`; `None` for the agent's model.
    pub model: Option<String>,
    /// The thinking effort chosen for the session; `None` for the configured one.
    #[serde(default)]
    pub effort: Option<Effort>,
    /// The mode chosen for the session, which can narrow the policy.
    #[serde(default)]
    pub permission_mode: PermissionMode,
    /// The spoken answers chosen for the session; `None` for the configured ones.
    #[serde(default)]
    pub voice: Option<VoiceMode>,
    /// The profile chosen for the session; `None` if the configuration decides.
    pub agent: Option<String>,
    /// The person whose private chat the session is; `None` for groups and unknown people.
    pub person: Option<PersonId>,
    /// Messages that wait.
    pub queued: u64,
    /// The turn that runs or waits.
    pub open: Option<OpenTurn>,
    /// Chunks to be delivered to the session's chat and to the chats linked to it.
    pub pending: u64,
    /// Chunks for these chats that may or may not have arrived.
    pub unconfirmed: u64,
    /// The least trust of the text that its newest turn has read. This covers the whole session,
    /// except for text that `/new` removed or `/trust` accepted.
    pub trust: Trust,
}

/// A turn that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenTurn {
    /// A session has at most one open turn.
    pub turn: TurnId,
    /// Running, queued or waiting.
    pub state: TurnState,
    /// The time at which the turn began in the log; later claims keep it.
    pub started_at: Timestamp,
    /// Number of completed steps.
    pub steps: u32,
    /// The kind of event that it waits for.
    pub waits_for: Option<WaitKind>,
}

/// The progress of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageStatus {
    /// The message.
    pub id: MessageId,
    /// The conversation.
    pub session: SessionId,
    /// The turn that answers it.
    pub turn: Option<TurnId>,
    /// The outcome; `None` before the end.
    pub outcome: Option<Outcome>,
    /// The text of the reply, the error or the notice.
    pub reply: Option<String>,
    /// The end of the reply. An incomplete one has a mark for people at its end.
    #[serde(default, skip_serializing_if = "AnswerEnding::is_complete")]
    pub ending: AnswerEnding,
    /// `true` if the turn ended with an error: then the text is the reason.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// The reason of the missing answer, for programs; `None` if the turn has an answer, or if the
    /// reason has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<TurnFailure>,
    /// The time of the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_at: Option<Timestamp>,
    /// The tokens of the turn, with those of its sub-agents; `None` before a turn began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The calls that the program that asked has to run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ProgramCall>,
}

/// The grouping of usage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UsageBy {
    /// By the model that answered.
    #[default]
    Model,
    /// By conversation. Usage of a child turn counts for the conversation of the root turn.
    Session,
    /// By day, in UTC.
    Day,
    /// By the purpose of the request: `answer`, `summary`, `consolidation` or `embedding`.
    Purpose,
    /// By schedule: the name in the configuration, or the id. All other work is one row.
    Schedule,
}

impl UsageBy {
    /// The row of all work without a schedule, in the grouping by schedule.
    pub const OTHER_WORK: &str = "all other work";

    /// In the order of declaration.
    pub const ALL: [Self; 5] =
        [Self::Model, Self::Session, Self::Day, Self::Purpose, Self::Schedule];

    /// The word in the command and the method.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Session => "session",
            Self::Day => "day",
            Self::Purpose => "purpose",
            Self::Schedule => "schedule",
        }
    }
}

/// The usage of one model, conversation, day, purpose or schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageRow {
    /// `provider/model`, a session, a day as `2026-11-22`, a purpose, or a schedule. By session,
    /// work without a conversation has its purpose.
    pub of: String,
    /// Answers of models, including empty ones.
    pub answers: u64,
    /// Sum of tokens and cost.
    #[serde(flatten)]
    pub total: Total,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presentable_title_of_a_branch_ends_with_its_number_and_stays_short() {
        let redactor = Redactor::default();
        let title = |title: &str, branch| {
            let row = SessionSummary {
                session: SessionId::parse("web:local:a").unwrap(),
                turns: 1,
                used_at: Timestamp(0),
                open: None,
                title: Some(title.to_owned()),
                is_pinned: false,
                is_archived: false,
                branch,
            };
            row.with_presentable_title(&redactor).title.unwrap()
        };
        let table = [(0, "a"), (1, "a (branch)"), (2, "a (branch 2)")];
        for (branch, expected) in table {
            assert_eq!(title("a", branch), expected);
        }
        let long = title(&"word ".repeat(100), 12);
        assert!(long.ends_with(" (branch 12)"), "{long}");
        assert!(long.chars().count() <= SessionSummary::TITLE_CHARS, "{long}");
    }
}
