//! The methods about conversations, and the costs of models.

use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{DeliveryId, TurnId};
use avocet_protocol::session::{
    SessionOption, SessionServer, SessionServerStart, SetSessionOption,
};
use avocet_protocol::store::{
    BranchSession, ChangeSession, DeliveredText, SessionGroup, SessionRow, SessionSummary, UsageBy,
    UsageRow,
};
use avocet_protocol::turn::TurnRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CallTarget, ListParams, MOST_ROWS, NamesTarget, Touches, listed_rows, named_target};

/// `sessions.list`: a list of `SessionSummary`, the last used first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListSessions {
    /// The most rows, from 1 to 500.
    #[schemars(range(min = 1, max = 500))]
    pub limit: u32,
    /// `used_at` and `session` of the last row that the client has. A page with fewer rows than
    /// `limit` is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<SessionRow>,
    /// The group to list. Default: all sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<SessionGroup>,
}

impl Default for ListSessions {
    fn default() -> Self {
        Self { limit: 50, after: None, only: None }
    }
}

/// `sessions.show`: a list of `TurnRecord`, oldest first. If a page exceeds a line, its long texts
/// are cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowSession {
    /// The session.
    pub session: SessionId,
    /// The most turns, from 1 to 500; a page may have fewer of them.
    #[serde(default = "some_rows")]
    #[schemars(range(min = 1, max = 500))]
    pub turns: u32,
    /// The oldest turn that the client has. An empty page is the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<TurnId>,
}

impl ShowSession {
    /// Shows the newest turns.
    #[must_use]
    pub fn new(session: SessionId) -> Self {
        Self { session, turns: some_rows(), before: None }
    }
}

/// `sessions.sent`: a list of `DeliveredText`, the newest first: the messages that the chat of a session
/// got from outside of the session's turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListSent {
    /// The session.
    pub session: SessionId,
    /// The most rows, from 1 to 500.
    #[serde(default = "some_rows")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: u32,
    /// The oldest message that the client has. A page with fewer rows than `limit` is the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<DeliveryId>,
}

/// `usage`: the costs of models, as a list of `UsageRow`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListUsage {
    /// The grouping of the sums.
    pub by: UsageBy,
    /// The start of the period.
    pub since: Timestamp,
    /// The most rows, from 1 to 500.
    #[schemars(range(min = 1, max = 500))]
    pub limit: u32,
    /// The number of rows to skip. A page with fewer rows than `limit` is the last.
    pub skip: u32,
}

impl Default for ListUsage {
    fn default() -> Self {
        Self { by: UsageBy::default(), since: Timestamp(0), limit: MOST_ROWS, skip: 0 }
    }
}

fn some_rows() -> u32 {
    50
}

/// `sessions.delete`: deletes a conversation. The result is the number of its turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteSession {
    /// The session.
    pub session: SessionId,
}

/// `sessions.options`: the settings of a conversation. The result is a list of
/// [`SessionOption`](avocet_protocol::session::SessionOption). `sessions.set_option` takes a
/// [`SetSessionOption`](avocet_protocol::session::SetSessionOption) and has the same result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowOptions {
    /// The conversation. It may be new.
    pub session: SessionId,
}

/// The parameters. The result is a list of
/// [`SessionServerStart`](avocet_protocol::session::SessionServerStart).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GiveServers {
    /// The session.
    pub session: SessionId,
    /// All servers of the session. An empty list takes its servers away.
    pub servers: Vec<SessionServer>,
}

/// The call also makes a session: the gateway checks the right to it.
impl NamesTarget for BranchSession {
    fn call_target(&self) -> CallTarget {
        CallTarget::Session(self.session.clone())
    }
}

impl NamesTarget for ChangeSession {
    fn call_target(&self) -> CallTarget {
        CallTarget::Session(self.session.clone())
    }
}

impl NamesTarget for DeleteSession {
    fn call_target(&self) -> CallTarget {
        CallTarget::Session(self.session.clone())
    }
}

impl NamesTarget for ShowOptions {
    fn call_target(&self) -> CallTarget {
        CallTarget::Session(self.session.clone())
    }
}

impl NamesTarget for ListSent {
    fn call_target(&self) -> CallTarget {
        CallTarget::Session(self.session.clone())
    }
}

impl NamesTarget for SetSessionOption {
    fn call_target(&self) -> CallTarget {
        CallTarget::Session(self.session.clone())
    }
}

impl NamesTarget for ShowSession {
    fn call_target(&self) -> CallTarget {
        CallTarget::Session(self.session.clone())
    }
}

impl ListParams for ListSessions {
    type Row = SessionSummary;

    fn page_limit(&self) -> Option<u32> {
        Some(self.limit)
    }

    fn continue_behind(&mut self, row: SessionSummary) {
        self.after = Some(SessionRow { used_at: row.used_at, session: row.session });
    }
}

method!(GiveServers = "session.servers": Self => Vec<SessionServerStart>, Operator, Touches::Everything, outside_libraries);
method!(BranchSession = "sessions.branch": Self => u64, Sender, named_target::<Self>());
method!(ChangeSession = "sessions.change": Self => (), Sender, named_target::<Self>());
method!(DeleteSession = "sessions.delete": Self => u64, Operator, named_target::<Self>(), outside_libraries);
method!(ListSessions = "sessions.list": Self => Vec<SessionSummary>, Observer, listed_rows::<Self>(), optional_params);
method!(ShowOptions = "sessions.options": Self => Vec<SessionOption>, Observer, named_target::<Self>());
method!(ListSent = "sessions.sent": Self => Vec<DeliveredText>, Observer, named_target::<Self>(), optional_params);
method!(SetSessionOption = "sessions.set_option": Self => Vec<SessionOption>, Sender, named_target::<Self>());
method!(ShowSession = "sessions.show": Self => Vec<TurnRecord>, Observer, named_target::<Self>(), optional_params);
method!(ListUsage = "usage": Self => Vec<UsageRow>, Observer, Touches::Everything, optional_params, outside_libraries);
