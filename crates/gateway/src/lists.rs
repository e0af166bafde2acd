//! The methods that list something. Each returns a page of bounded size and takes the position at
//! which the list continues. Text of models and tools is shown without secrets.

use avocet_protocol::{
    DeliveryId, SessionId, SessionRow, SessionSummary, Timestamp, TranscriptPage, TurnId, UsageBy,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::MAX_LINE_BYTES;
use crate::parts::GatewayParts;
use crate::values::{MOST_ROWS, check_limit, or_empty, presentable, read, to_value, unavailable};
use crate::wire::RpcError;

/// Bytes of a page of turns after which no further turn is added.
const PAGE_BYTES: usize = MAX_LINE_BYTES / 2;

/// `sessions.list`: a list of `SessionSummary`, the last used first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListSessions {
    /// The most rows, from 1 to [`MOST_ROWS`].
    pub limit: u32,
    /// `used_at` and `session` of the last row that the client has. A page with fewer rows than
    /// `limit` is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<SessionRow>,
}

impl Default for ListSessions {
    fn default() -> Self {
        Self { limit: 50, after: None }
    }
}

/// `sessions.show`: a list of `TurnRecord`, oldest first. If a page exceeds a line, its long texts
/// are cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShowSession {
    /// The session.
    pub session: SessionId,
    /// The most turns, from 1 to [`MOST_ROWS`]; a page may have fewer of them.
    #[serde(default = "some_rows")]
    pub turns: u32,
    /// The oldest turn that the client has. An empty page is the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<TurnId>,
}

/// `sessions.sent`: a list of `DeliveredText`, the newest first: the messages that the chat of a session
/// got from outside of the session's turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListSent {
    /// The session.
    pub session: SessionId,
    /// The most rows, from 1 to [`MOST_ROWS`].
    #[serde(default = "some_rows")]
    pub limit: u32,
    /// The oldest message that the client has. A page with fewer rows than `limit` is the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<DeliveryId>,
}

/// `usage`: the costs of models, as a list of `UsageRow`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListUsage {
    /// The grouping of the sums.
    pub by: UsageBy,
    /// The start of the period.
    pub since: Timestamp,
    /// The most rows, from 1 to [`MOST_ROWS`].
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

/// Answers one of these methods.
pub(crate) async fn answer(
    parts: &GatewayParts,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    let params = or_empty(params);
    match method {
        "sessions.list" => {
            let ListSessions { limit, after } = read(method, params)?;
            check_limit(method, "limit", limit)?;
            let sessions =
                parts.query.sessions(limit, after.as_ref()).await.map_err(unavailable)?;
            let rows = sessions.into_iter().map(|row| row.presentable(&parts.redactor));
            Ok(json!(rows.collect::<Vec<SessionSummary>>()))
        }
        "sessions.sent" => {
            let ListSent { session, limit, before } = read(method, params)?;
            check_limit(method, "limit", limit)?;
            let sent = to_value(parts.query.sent(&session, limit, before).await)?;
            Ok(presentable(sent, &parts.redactor))
        }
        "sessions.show" => {
            let ShowSession { session, turns, before } = read(method, params)?;
            check_limit(method, "turns", turns)?;
            let page = TranscriptPage { turns, before, bytes: PAGE_BYTES };
            let shown = to_value(parts.query.transcript_page(&session, page).await)?;
            Ok(presentable(shown, &parts.redactor))
        }
        _ => {
            let ListUsage { by, since, limit, skip } = read(method, params)?;
            check_limit(method, "limit", limit)?;
            to_value(parts.query.usage_page(by, since, limit, skip).await)
        }
    }
}
