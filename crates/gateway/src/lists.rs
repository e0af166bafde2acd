//! The methods that list something. Each gives a page of bounded size, and takes the place from which the list goes
//! on; what models and tools wrote is shown without secrets.

use avocet_protocol::{
    Redactor, SessionId, SessionRow, Timestamp, TranscriptPage, TurnId, UsageBy, cut_texts,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::MAX_LINE_BYTES;
use crate::methods::{Parts, read, to_value};
use crate::wire::RpcError;

/// Rows that a list gives at most at once.
pub const MOST_ROWS: u32 = 500;
/// Bytes that a page of turns has before no further turn is added.
const PAGE_BYTES: usize = MAX_LINE_BYTES / 2;
/// Bytes of a result, so that it fits into a line with what is around it.
const FITS: usize = MAX_LINE_BYTES - 4096;

/// `sessions.list`: a list of `SessionSummary`, the last used first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListSessions {
    /// Rows at most, from 1 to [`MOST_ROWS`].
    pub limit: u32,
    /// `used_at` and `session` of the last row that is known already. A page with fewer rows than `limit` is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<SessionRow>,
}

impl Default for ListSessions {
    fn default() -> Self {
        Self { limit: 50, after: None }
    }
}

/// `sessions.show`: a list of `TurnRecord`, oldest first. Long texts of a page that is too long for a line are cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShowSession {
    /// Which.
    pub session: SessionId,
    /// Turns at most, from 1 to [`MOST_ROWS`]; a page may have fewer of them.
    #[serde(default = "some_rows")]
    pub turns: u32,
    /// The oldest turn that is known already. An empty page is the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<TurnId>,
}

/// `usage`: what models have cost, as a list of `UsageRow`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListUsage {
    /// What it is summed by.
    pub by: UsageBy,
    /// Since when.
    pub since: Timestamp,
    /// Rows at most, from 1 to [`MOST_ROWS`].
    pub limit: u32,
    /// Rows that are known already. A page with fewer rows than `limit` is the last.
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

/// The methods that there are here.
pub(crate) const METHODS: [&str; 3] = ["sessions.list", "sessions.show", "usage"];

/// Answers a method of this list.
pub(crate) async fn answer(parts: &Parts, method: &str, params: Value) -> Result<Value, RpcError> {
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

/// Refuses a page that is larger than pages are.
pub(crate) fn check_limit(method: &str, name: &str, rows: u32) -> Result<(), RpcError> {
    if (1..=MOST_ROWS).contains(&rows) {
        return Ok(());
    }
    let message = format!(
        "{method}: {name} is {rows}; it has to be from 1 to {MOST_ROWS}. A longer list is read page by page"
    );
    Err(RpcError::new(RpcError::PARAMS, message))
}

/// What models and tools wrote, fit to be shown to people: without secrets, and not longer than a line.
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
    fn fitting_cuts_the_longest_texts_of_what_does_not_fit_into_a_line() {
        let short = json!({ "a": ["x".repeat(300 * 1024), 7] });
        assert_eq!(fitting(short.clone()), short);
        // Escapes make it longer than its texts.
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
