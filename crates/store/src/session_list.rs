//! The list of sessions with their titles, and the labels that people give them.
//!
//! A title costs a turn nothing: the list reads the first message, and only the title of a person is
//! stored. `/new` notes the newest turn, so the first message behind it is found without reading the
//! forgotten ones.

use async_trait::async_trait;
use avocet_protocol::chat::{Content, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::{
    ChangeSession, SessionGroup, SessionLabels, SessionRow, SessionSummary,
};
use avocet_protocol::turn::TurnState;
use rusqlite::{Row, params};

use crate::history::text_of;
use crate::rows::turns::OPEN_TURN;
use crate::rows::{self, RowResult};
use crate::tx::{Db, Result};
use crate::{Durability, SqliteStore};

#[async_trait]
impl SessionLabels for SqliteStore {
    async fn change_labels(&self, change: &ChangeSession) -> Result<bool> {
        let ChangeSession { session, title, is_pinned, is_archived } = change.clone();
        self.write("change-session", Durability::Synced, move |tx| {
            let changed = tx.change_rows(
                "UPDATE sessions SET title = iif(?2 IS NULL, title, nullif(?2, '')), \
                     branch = iif(coalesce(?2, '') = '', branch, 0), \
                     is_pinned = coalesce(?3, is_pinned), is_archived = coalesce(?4, is_archived) \
                 WHERE id = ?1",
                params![session.as_str(), title, is_pinned, is_archived],
            )?;
            Ok(changed > 0)
        })
        .await
    }
}

/// Reads a page of sessions, the last used first. Sessions of single requests are left out.
pub(crate) fn read_sessions(
    db: Db<'_>,
    group: Option<SessionGroup>,
    limit: u32,
    after: Option<&SessionRow>,
) -> Result<Vec<SessionSummary>> {
    let of_group = match group {
        None => "1",
        Some(SessionGroup::Other) => "NOT is_pinned AND NOT is_archived",
        Some(SessionGroup::Pinned) => "is_pinned AND NOT is_archived",
        Some(SessionGroup::Archived) => "is_archived",
    };
    db.query_rows(
        &format!(
            "SELECT id, used_at, title, is_pinned, is_archived, branch, \
                 (SELECT count(*) FROM turns WHERE session = sessions.id) AS turns, \
                 (SELECT state FROM turns WHERE session = sessions.id AND {OPEN_TURN}) AS open, \
                 iif(title IS NULL, {FIRST_MESSAGE}, NULL) AS first \
             FROM sessions WHERE used_at <= ?2 AND (used_at < ?2 OR id > ?3) \
                 AND id NOT GLOB ?4 AND {of_group} \
             ORDER BY used_at DESC, id LIMIT ?1"
        ),
        params![
            limit,
            after.map_or(i64::MAX, |row| row.used_at.0),
            after.map_or("", |row| row.session.as_str()),
            SessionId::ONE_OFF_PATTERN,
        ],
        summary_from_row,
    )
}

/// The first message of a person since `/new`. A message that waits for its turn is the newest. The
/// join begins with the oldest turn, because `inbound` has no index of all messages of a session.
const FIRST_MESSAGE: &str = "coalesce(\
    (SELECT content FROM turns CROSS JOIN inbound ON inbound.turn = turns.id \
         WHERE turns.session = sessions.id AND turns.id > title_from \
             AND kind = 'text' AND is_bot = 0 ORDER BY turns.id, inbound.id LIMIT 1), \
    (SELECT content FROM inbound WHERE inbound.session = sessions.id AND state = 'queued' \
         AND inbound.turn IS NULL AND kind = 'text' AND is_bot = 0 ORDER BY id LIMIT 1))";

fn summary_from_row(row: &Row<'_>) -> RowResult<SessionSummary> {
    let open: Option<String> = row.get("open")?;
    let given: Option<String> = row.get("title")?;
    let first = rows::json_if_any::<Content>(row, "first")?;
    Ok(SessionSummary {
        session: rows::parse_column(row, "id")?,
        turns: row.get("turns")?,
        used_at: Timestamp(row.get("used_at")?),
        open: open
            .map(|_| rows::word_column(row, "open", &TurnState::ALL, TurnState::as_str))
            .transpose()?,
        title: given.or_else(|| first.as_ref().and_then(title_of)),
        is_pinned: row.get("is_pinned")?,
        is_archived: row.get("is_archived")?,
        branch: row.get("branch")?,
    })
}

/// Returns the beginning of a message in one line; the names of its files if it has no words.
fn title_of(content: &Content) -> Option<String> {
    let said = text_of(content);
    let text = if said.is_empty() { content.in_short() } else { said };
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let title: String = words.chars().take(SessionSummary::READ_CHARS).collect();
    (!content.is_empty()).then_some(title)
}
