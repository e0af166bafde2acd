//! The audit table: every decision and every effect, each row bound to the one before it by a hash.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::Result;
use crate::{PersonId, SessionId, Timestamp};

/// What was decided and done. Rows are appended by the other roles of the log, in the transaction of
/// what they are about; this one only looks.
#[async_trait]
pub trait Audit: fmt::Debug + Send + Sync {
    /// The last rows that fit, oldest first, as they stand: a row that somebody has changed is shown.
    async fn audit_rows(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>>;

    /// The last row; none if there is none.
    async fn audit_head(&self) -> Result<Option<AuditHead>>;

    /// As [`Self::audit_head`], once the disk has it: what is noted elsewhere must not be ahead of the
    /// table after a power failure.
    async fn durable_audit_head(&self) -> Result<Option<AuditHead>>;

    /// Checks every row, and whether `noted`, a head that was kept elsewhere, stands among them.
    async fn check_audit(&self, noted: Option<&AuditHead>) -> Result<AuditCheck>;
}

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditKind {
    /// A call that does more than read was started.
    Started,
    /// It has its result: `ok`, `error`, `refused` by a wall, or `cancelled`.
    Finished,
    /// A call was refused, by role, policy or wall.
    Refused,
    /// A call was under way when the process died or stopped; its outcome is unknown.
    Interrupted,
    /// A person has decided about it: `retry` or `skip`.
    Chosen,
    /// A person was asked to allow a call.
    Asked,
    /// The call was allowed.
    Allowed,
    /// The call was denied.
    Denied,
    /// Nobody has decided in time.
    Expired,
    /// Somebody may speak from now on.
    LetIn,
    /// Somebody's code was taken back.
    TurnedAway,
    /// Somebody may no longer speak.
    StruckOff,
    /// A chat speaks in another's session.
    Linked,
    /// A chat has its own session again.
    Unlinked,
    /// An owner believes what the session has read.
    Trusted,
    /// What was allowed for a session is not any more.
    Withdrawn,
    /// The log was put back to an earlier state: `restored`, `recovered`, or found so at a start (`found`).
    RolledBack,
}

impl AuditKind {
    /// Every kind.
    pub const ALL: [Self; 17] = [
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
        Self::RolledBack,
    ];

    /// The word in the log and in what the CLI prints.
    #[must_use]
    pub fn word(self) -> &'static str {
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
            Self::RolledBack => "rolled-back",
        }
    }
}

/// Who did it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// A person in a chat, the terminal's included.
    Person(PersonId),
    /// Whoever has the machine: the command line.
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

/// A row as it stands in the table. Texts are not parsed: they may be another's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow {
    /// From 1, without gaps.
    pub sequence: i64,
    /// When.
    pub at: Timestamp,
    /// The word of an [`AuditKind`].
    pub kind: String,
    /// The conversation, if it is about one.
    pub session: Option<String>,
    /// The turn.
    pub turn: Option<i64>,
    /// The call, as `t4s1c0`.
    pub call: Option<String>,
    /// An [`Actor`].
    pub actor: String,
    /// The tool, as the model called it.
    pub tool: Option<String>,
    /// SHA-256 of the exact arguments, in hexadecimal digits.
    pub digest: Option<String>,
    /// What it is about, without secrets, 200 characters at most.
    pub summary: String,
    /// What it came to.
    pub outcome: Option<String>,
    /// The hash of the row before; of the first, zeros.
    pub previous: String,
    /// SHA-256 of all of this, in hexadecimal digits.
    pub hash: String,
}

impl AuditRow {
    /// Characters of the longest summary.
    pub const SUMMARY: usize = 200;
}

/// Which rows are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Of this conversation.
    pub session: Option<SessionId>,
    /// Since this moment.
    pub since: Option<Timestamp>,
    /// Of this kind.
    pub kind: Option<AuditKind>,
    /// Before the row of this number.
    pub before: Option<i64>,
    /// So many at most.
    pub limit: u32,
}

/// The last row of a chain, short enough to be kept elsewhere: `17 5d41...`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditHead {
    /// Its number.
    pub sequence: i64,
    /// Its hash.
    pub hash: String,
}

impl fmt::Display for AuditHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.sequence, self.hash)
    }
}

/// It is no head.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is no head of an audit chain (`17 5d41...`, 64 hexadecimal digits)")]
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

/// What a check has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditCheck {
    /// Rows that were looked at: up to the first fault.
    pub rows: u64,
    /// The last row, if all is well.
    pub head: Option<AuditHead>,
    /// The first fault.
    pub fault: Option<AuditFault>,
}

/// Where a chain breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuditFault {
    /// Rows were taken out, or renumbered.
    #[error("rows {first} to {last} are missing")]
    Missing {
        /// The first.
        first: i64,
        /// The last.
        last: i64,
    },
    /// A row says something else than when it was written, or was put there by somebody else.
    #[error("row {0} was changed: its hash is not that of what it says")]
    Changed(i64),
    /// A row was written anew, or what came before it.
    #[error("row {0} does not follow the row before it: the hash that it names is another")]
    Unlinked(i64),
    /// The end was cut off.
    #[error("the end is missing: row {last} is the last, but there was a row {known}")]
    Cut {
        /// The last that is there.
        last: i64,
        /// The last that is known to have been there.
        known: i64,
    },
    /// Everything was written anew: the chain is whole, but it is another one.
    #[error("row {0} is not the one whose hash was noted outside the database")]
    Rewritten(i64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_is_written() {
        let head = AuditHead { sequence: 17, hash: "0a".repeat(32) };
        assert_eq!(format!("{head}\n").parse(), Ok(head));
        for text in ["", "17", "x 00", "17 00", &format!("17 {}", "zz".repeat(32))] {
            assert_eq!(text.parse::<AuditHead>(), Err(NoHead), "{text}");
        }
    }
}
