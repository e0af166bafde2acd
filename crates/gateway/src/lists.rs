//! The methods that list something. Each returns a page of bounded size and takes the position at
//! which the list continues. Text of models and tools is shown without secrets.

use avocet_protocol::{
    Redactor, SessionId, SessionRow, Timestamp, TranscriptPage, TurnId, UsageBy, cut_texts,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::MAX_LINE_BYTES;
use crate::methods::{GatewayParts, read, to_value};
use crate::wire::RpcError;

/// The most rows of one page.
pub const MOST_ROWS: u32 = 500;
/// Bytes of a page of turns after which no further turn is added.
const PAGE_BYTES: usize = MAX_LINE_BYTES / 2;
/// The most bytes of a result that fit into a line together with its frame.
const FITS: usize = MAX_LINE_BYTES - 4096;

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

/// The names of these methods.
pub(crate) const METHODS: [&str; 3] = ["sessions.list", "sessions.show", "usage"];

/// Answers one of these methods.
pub(crate) async fn answer(
    parts: &GatewayParts,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    let params = if params.is_null() { json!({}) } else { params };
    match method {
        "sessions.list" => {
            let ListSessions { limit, after } = read(method, params)?;
            check_limit(method, "limit", limit)?;
            to_value(parts.query.sessions(limit, after.as_ref()).await)
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

/// Refuses a page size outside of 1 to `MOST_ROWS`.
pub(crate) fn check_limit(method: &str, name: &str, rows: u32) -> Result<(), RpcError> {
    if (1..=MOST_ROWS).contains(&rows) {
        return Ok(());
    }
    let message = format!(
        "{method}: {name} is {rows}; it has to be from 1 to {MOST_ROWS}. A longer list is read page by page"
    );
    Err(RpcError::new(RpcError::PARAMS, message))
}

/// Prepares text of models and tools for people: without secrets, and short enough for a line.
#[must_use]
pub fn presentable(mut value: Value, redactor: &Redactor) -> Value {
    redactor.redact_json(&mut value);
    fitting(value)
}

/// Cuts the longest texts of a value until it fits into a line.
pub(crate) fn fitting(mut value: Value) -> Value {
    for most in [256 * 1024, 32 * 1024, 4096, 256] {
        if value.to_string().len() <= FITS {
            break;
        }
        cut_texts(&mut value, most);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fitting_cuts_the_longest_texts_of_an_answer_longer_than_a_line() {
        let short = json!({ "a": ["x".repeat(300 * 1024), 7] });
        assert_eq!(fitting(short.clone()), short);
        // Escapes make the line longer than its texts.
        for text in ["é", "\u{1}"] {
            let long = json!([{ "text": text.repeat(2 * 1024 * 1024), "id": "t1" }, "short"]);
            let cut = fitting(long);
            assert!(cut.to_string().len() <= FITS);
            assert_eq!((&cut[0]["id"], &cut[1]), (&json!("t1"), &json!("short")));
            let shown = cut[0]["text"].as_str().unwrap();
            assert!(shown.starts_with(text) && shown.ends_with(" more bytes)"));
        }
        let many = json!(vec!["x".repeat(64 * 1024); 3000]);
        assert!(fitting(many).to_string().len() <= FITS);
    }

    #[test]
    fn check_limit_names_the_largest_page() {
        assert_eq!(check_limit("usage", "limit", 500), Ok(()));
        for rows in [0, 501, 100_000] {
            let error = check_limit("usage", "limit", rows).unwrap_err();
            assert_eq!(error.code, RpcError::PARAMS);
            assert!(
                error.message.contains(&format!("limit is {rows}; it has to be from 1 to 500"))
            );
        }
    }
}
