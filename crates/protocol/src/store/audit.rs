//! The audit table: every decision and every effect, each row bound to the previous one by a hash.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::Result;
use crate::access::PersonId;
use crate::chat::SessionId;
use crate::clock::Timestamp;

/// Read access to the audit table. The other roles of the log append its rows, each in the
/// transaction of the audited change.
#[async_trait]
pub trait Audit: fmt::Debug + Send + Sync {
    /// The last matching rows, oldest first, exactly as stored: a manipulated row is shown as it
    /// is.
    async fn audit_rows(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>>;

    /// The last row; `None` for an empty table.
    async fn audit_head(&self) -> Result<Option<AuditHead>>;

    /// Like [`Self::audit_head`], once the row is on disk. After a power failure, a head noted
    /// elsewhere must not be ahead of the table.
    async fn durable_audit_head(&self) -> Result<Option<AuditHead>>;

    /// Checks every row, and checks that `noted`, a head stored elsewhere, is one of them.
    async fn check_audit(&self, noted: Option<&AuditHead>) -> Result<AuditCheck>;
}

/// The kind of event in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditKind {
    /// A call that does more than read was started.
    Started,
    /// A call has its result: `ok`, `error`, `refused` by the sandbox, or `cancelled`.
    Finished,
    /// A call was refused, by role, policy or sandbox.
    Refused,
    /// A call was under way when the process died or stopped; its outcome is unknown.
    Interrupted,
    /// A person has decided about an interrupted call: `retry` or `skip`.
    Chosen,
    /// A person was asked to approve a call.
    Asked,
    /// The call was approved.
    Allowed,
    /// The call was denied.
    Denied,
    /// The request for approval expired.
    Expired,
    /// A person was admitted.
    LetIn,
    /// A stranger's code was denied.
    TurnedAway,
    /// A person was removed from the admitted people.
    StruckOff,
    /// A chat was linked to the session of another chat.
    Linked,
    /// A chat has its own session again.
    Unlinked,
    /// An owner declared the text that the session has read as trusted.
    Trusted,
    /// The approvals of a session were withdrawn.
    Withdrawn,
    /// An owner added a rule.
    RuleAdded,
    /// An owner removed a rule.
    RuleRemoved,
    /// An owner stopped everything.
    StoppedAll,
    /// An owner let everything go on.
    ResumedAll,
    /// The texts of a person, a conversation or a memory were erased, in the rows of this table too.
    Erased,
    /// The log returned to an earlier state: `restored`, `recovered`, or discovered at a start
    /// (`found`).
    RolledBack,
}

impl AuditKind {
    /// In the order of declaration.
    pub const ALL: [Self; 22] = [
        Self::Started,
        Self::Finished,
        Self::Refused,
        Self::Interrupted,
        Self::Chosen,
        Self::Asked,
        Self::Allowed,
        Self::Denied,
        Self::Expired,
        Self::LetIn,
        Self::TurnedAway,
        Self::StruckOff,
        Self::Linked,
        Self::Unlinked,
        Self::Trusted,
        Self::Withdrawn,
        Self::RuleAdded,
        Self::RuleRemoved,
        Self::StoppedAll,
        Self::ResumedAll,
        Self::Erased,
        Self::RolledBack,
    ];

    /// The word in the log and in CLI output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Finished => "finished",
            Self::Refused => "refused",
            Self::Interrupted => "interrupted",
            Self::Chosen => "chosen",
            Self::Asked => "asked",
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::LetIn => "let-in",
            Self::TurnedAway => "turned-away",
            Self::StruckOff => "struck-off",
            Self::Linked => "linked",
            Self::Unlinked => "unlinked",
            Self::Trusted => "trusted",
            Self::Withdrawn => "withdrawn",
            Self::RuleAdded => "rule-added",
            Self::RuleRemoved => "rule-removed",
            Self::StoppedAll => "stopped-all",
            Self::ResumedAll => "resumed-all",
            Self::Erased => "erased",
            Self::RolledBack => "rolled-back",
        }
    }
}

/// The author of an audited event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// A person in a chat, including the terminal.
    Person(PersonId),
    /// A user of the command line on this machine.
    Host,
    /// The daemon itself.
    Process,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(person) => person.fmt(f),
            Self::Host => f.write_str("host"),
            Self::Process => f.write_str("process"),
        }
    }
}

/// A row as stored in the table. Its texts stay unparsed, because another program may have written
/// them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow {
    /// From 1, without gaps.
    pub sequence: i64,
    /// The time of the event.
    pub at: Timestamp,
    /// The word of an [`AuditKind`].
    pub kind: String,
    /// The conversation, if the event belongs to one.
    pub session: Option<String>,
    /// The number of the turn, if the event belongs to one.
    pub turn: Option<i64>,
    /// The call, as `t4s1c0`.
    pub call: Option<String>,
    /// An [`Actor`].
    pub actor: String,
    /// The tool, by the name that the model used.
    pub tool: Option<String>,
    /// SHA-256 of the exact arguments, in hexadecimal digits.
    pub digest: Option<String>,
    /// A summary without secrets, 200 characters at most.
    pub summary: String,
    /// One word; `None` for kinds without an outcome.
    pub outcome: Option<String>,
    /// The hash of the previous row; zeros in the first row.
    pub previous: String,
    /// SHA-256 of all other fields, in hexadecimal digits.
    pub hash: String,
    /// `true` if a text of it was erased. The log keeps the digest of the text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
}

impl AuditRow {
    /// Characters of the longest summary.
    pub const SUMMARY: usize = 200;
    /// Stands for an erased text in a field that is never empty.
    pub const ERASED: &str = "(erased)";
}

/// Selects rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Only rows of this conversation.
    pub session: Option<SessionId>,
    /// Only rows since this time.
    pub since: Option<Timestamp>,
    /// Only rows of this kind.
    pub kind: Option<AuditKind>,
    /// Only rows before this number.
    pub before: Option<i64>,
    /// The most rows to return.
    pub limit: u32,
}

/// The last row of a chain, short enough to be noted elsewhere: `17 5d41...`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditHead {
    /// Its number.
    pub sequence: i64,
    /// The same as [`AuditRow::hash`].
    pub hash: String,
}

impl fmt::Display for AuditHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.sequence, self.hash)
    }
}

/// The text is not a valid head.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is not the head of an audit chain (`17 5d41...`, 64 hexadecimal digits)")]
pub struct NoHead;

impl FromStr for AuditHead {
    type Err = NoHead;

    fn from_str(text: &str) -> Result<Self, NoHead> {
        let (sequence, hash) = text.trim().split_once(' ').ok_or(NoHead)?;
        let sequence = sequence.parse().map_err(|_| NoHead)?;
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then(|| Self { sequence, hash: hash.to_owned() }).ok_or(NoHead)
    }
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditCheck {
    /// Number of checked rows, up to the first fault.
    pub rows: u64,
    /// Number of them with an erased text.
    pub erased: u64,
    /// The last row, if the chain is intact.
    pub head: Option<AuditHead>,
    /// The first fault.
    pub fault: Option<AuditFault>,
}

/// A fault in a chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuditFault {
    /// Rows were removed, or renumbered.
    #[error("rows {first} to {last} are missing")]
    Missing {
        /// The first missing row.
        first: i64,
        /// The last missing row.
        last: i64,
    },
    /// A row was changed after it was written, or inserted later.
    #[error("row {0} was changed: its hash does not match its content")]
    Changed(i64),
    /// A row, or the one before it, was rewritten.
    #[error("row {0} does not follow the row before it: its hash of that row differs")]
    Unlinked(i64),
    /// The end was cut off.
    #[error("the end is missing: row {last} is the last, but there was a row {known}")]
    Cut {
        /// The last row in the table.
        last: i64,
        /// The last row known from elsewhere.
        known: i64,
    },
    /// The whole table was rewritten: the chain is consistent, but it is a different one.
    #[error("row {0} is not the one whose hash was noted outside the database")]
    Rewritten(i64),
    /// Rows without their texts were changed after the erasure.
    #[error("rows up to {0} were erased, and no later row proves how they were then")]
    Unproven(i64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_head_parses_its_own_display() {
        let head = AuditHead { sequence: 17, hash: "0a".repeat(32) };
        assert_eq!(format!("{head}\n").parse(), Ok(head));
        for text in ["", "17", "x 00", "17 00", &format!("17 {}", "zz".repeat(32))] {
            assert_eq!(text.parse::<AuditHead>(), Err(NoHead), "{text}");
        }
    }
}
