//! Texts that a chat receives from outside of its own session, for example the answer of a
//! scheduled task. The transaction that sends a text also writes its report. The report is bound to
//! the next turn of the chat's own session, whose requests show it to the model. Bound reports stay
//! unchanged, because later requests repeat them to the byte.

use avocet_protocol::access::Trust;
use avocet_protocol::chat::{ChatAddress, Content, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::TurnId;
use avocet_protocol::turn::{SessionReport, SessionReports};
use rusqlite::params;

use crate::links::session_of_chat;
use crate::rows;
use crate::rows::turns::speaking_session;
use crate::tx::{Db, Result, Tx};

/// A text on its way to a chat.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SentText<'a> {
    /// The session that sends it.
    pub(crate) from: &'a SessionId,
    pub(crate) chat: &'a ChatAddress,
    pub(crate) text: &'a str,
    pub(crate) trust: Trust,
}

/// Notes a text of a turn, unless the turn runs in the own session of the chat. A child speaks for
/// its root turn, a task in the background for itself.
pub(crate) fn note_of_turn(
    tx: &Tx<'_>,
    turn: TurnId,
    chat: &ChatAddress,
    text: &str,
    trust: Trust,
) -> Result<()> {
    let from = speaking_session(tx.db, turn)?;
    note_text(tx, SentText { from: &from, chat, text, trust })
}

/// Notes a text, unless it comes from the own session of the chat.
pub(crate) fn note_text(tx: &Tx<'_>, sent: SentText<'_>) -> Result<()> {
    let SentText { from, chat, text, trust } = sent;
    let own = session_of_chat(tx, chat)?;
    if own == *from || text.is_empty() {
        return Ok(());
    }
    let kept: String = text.chars().take(SessionReport::MAX_CHARS).collect();
    tx.insert(
        "INSERT INTO reports (session, said_from, chat, text, at, trust) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![own.as_str(), from.as_str(), chat.to_string(), kept, tx.now.0, trust.as_str()],
    )?;
    Ok(())
}

/// Returns the text of a message as a report shows it.
pub(crate) fn text_of(chunks: &[Content]) -> String {
    chunks.iter().map(Content::as_text).collect::<Vec<_>>().join("\n")
}

/// Binds all unreported texts of a session to a new turn.
pub(crate) fn bind_to_turn(tx: &Tx<'_>, session: &SessionId, turn: TurnId) -> Result<()> {
    tx.change_rows(
        "UPDATE reports SET turn = ?2 WHERE session = ?1 AND turn IS NULL",
        params![session.as_str(), turn.0],
    )?;
    Ok(())
}

/// Returns the latest texts that a turn shows to its model.
pub(crate) fn reports_of(db: Db<'_>, turn: TurnId) -> Result<SessionReports> {
    let sql = "SELECT said_from, chat, text, at, trust FROM reports WHERE turn = ?1 ORDER BY id";
    let mut texts = db.query_rows(sql, [turn.0], |row| {
        Ok(SessionReport {
            from: rows::parse_column(row, "said_from")?,
            chat: rows::parse_column(row, "chat")?,
            text: row.get("text")?,
            at: Timestamp(row.get("at")?),
            trust: rows::trust_column(row, "trust")?,
        })
    })?;
    let older = texts.len().saturating_sub(SessionReports::MOST);
    Ok(SessionReports { texts: texts.split_off(older), more: older as u64 })
}

/// Deletes unreported texts of a session, for `/new`.
pub(crate) fn forget_unreported(tx: &Tx<'_>, session: &SessionId) -> Result<()> {
    tx.change_rows("DELETE FROM reports WHERE session = ?1 AND turn IS NULL", [session.as_str()])?;
    Ok(())
}
