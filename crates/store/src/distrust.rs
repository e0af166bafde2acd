//! Ends open work in a log that lacks the newest state: a restored copy, a recovered log, or a log
//! without its newest transactions.
//!
//! Open work in such a log may be done already: a message answered, a call run, a chunk sent. So it
//! is ended instead of resumed, and each affected chat is informed once. Its people decide:
//! `/retry` runs a turn again, `/resend` sends messages again that may be lost.

use std::collections::BTreeMap;

use avocet_protocol::chat::notices::{self, readers};
use avocet_protocol::chat::{ChatAddress, NewInbound, Outcome, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{DedupeKey, TurnId};
use avocet_protocol::store::StoreError;
use avocet_protocol::turn::{ResultKind, TurnState};
use rusqlite::params;

use crate::audit;
use crate::cancel::{ForcedEnd, end_turn};
use crate::rows;
use crate::rows::chunks::{ChunkPosition, OPEN_CHUNK, OutboxSource, insert_chunk};
use crate::rows::events;
use crate::rows::numbers::{last_number, numbered_tables, set_last_number};
use crate::rows::turns::{OPEN_TURN, insert_turn};
use crate::tx::{Result, Tx};

/// The reason why the log is an older state.
#[derive(Debug, Clone)]
pub(crate) struct RolledBack {
    /// Word for the audit table.
    pub(crate) outcome: &'static str,
    /// Text for the operator.
    pub(crate) why: String,
    /// Text for chats: a clause that follows a colon.
    pub(crate) for_chats: String,
    /// Messages written up to this moment may have been answered by the lost part; `None` means
    /// now.
    pub(crate) unsure_until: Option<Timestamp>,
    /// Last known epoch of the lost part.
    pub(crate) epoch: i64,
    /// Known row numbers that the lost part has given out, by table.
    pub(crate) numbers: BTreeMap<String, i64>,
}

/// Counts of ended work of unknown outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct EndedWork {
    /// Messages from people.
    pub messages: usize,
    /// Turns that were open.
    pub turns: usize,
    /// Chunks that waited for delivery.
    pub deliveries: usize,
    /// Chats that are informed.
    pub chats: usize,
}

/// Distance by which row numbers jump beyond the last known one. Buttons and commands of the lost
/// part contain old numbers, which must not refer to new rows.
const GAP: i64 = 100_000;

/// Ends all open work, gives the database a new id, and records the roll-back.
pub(crate) fn distrust_log(tx: &Tx<'_>, rolled_back: &RolledBack) -> Result<EndedWork> {
    move_numbers_on(tx, &rolled_back.numbers)?;
    let newest_event = events::newest_event(tx.db)?;
    // First, so that this row explains the missing numbers before it.
    audit::rolled_back(tx, rolled_back.outcome, &rolled_back.why)?;
    events::rolled_back(tx)?;
    let chats = chats_with_open_work(tx)?;
    let mut ended = EndedWork { chats: chats.len(), ..EndedWork::default() };
    ended.turns = end_turns(tx)?;
    ended.messages = end_messages(tx)?;
    ended.deliveries = end_deliveries(tx, &rolled_back.why)?;
    // The lost part may contain a `/new`, which withdraws grants.
    tx.change_rows("DELETE FROM grants WHERE 1", ())?;
    tx.change_rows("UPDATE sessions SET compact_for = NULL WHERE compact_for IS NOT NULL", ())?;
    for (chat, open) in &chats {
        inform_chat(tx, chat, open, rolled_back)?;
    }
    tx.change_rows(
        "UPDATE meta SET was = id, id = lower(hex(randomblob(16))), in_use = 0, copied_at = NULL, \
             rolled_back_at = ?1, rolled_back = ?2, \
             unsure_until = max(coalesce(unsure_until, ?3), ?3) WHERE only = 1",
        params![tx.now.0, rolled_back.why, rolled_back.unsure_until.unwrap_or(tx.now).0],
    )?;
    tx.change_rows("UPDATE meta SET epoch = max(epoch, ?1) WHERE only = 1", [rolled_back.epoch])?;
    events::set_times(tx, newest_event)?;
    Ok(ended)
}

/// Open work of a chat.
#[derive(Debug, Default)]
struct OpenWork {
    /// Messages from its people.
    messages: usize,
    /// Chunks that waited for delivery.
    deliveries: usize,
}

const OPEN_DELIVERIES: &str = "(state = 'pending' OR state = 'sending' OR state = 'unknown') \
        AND source NOT IN ('preview', 'notice')";

fn chats_with_open_work(tx: &Tx<'_>) -> Result<BTreeMap<ChatAddress, OpenWork>> {
    let rows = tx.db.query_rows(
        &format!(
            "SELECT channel, account, chat, topic, 1 AS message FROM inbound WHERE outcome IS NULL \
             UNION ALL SELECT channel, account, chat, topic, 0 FROM outbox WHERE {OPEN_DELIVERIES}"
        ),
        (),
        |row| Ok((rows::address_from_row(row)?, row.get::<_, bool>("message")?)),
    )?;
    let mut chats = BTreeMap::<ChatAddress, OpenWork>::new();
    for (chat, message) in rows {
        let open = chats.entry(chat).or_default();
        *if message { &mut open.messages } else { &mut open.deliveries } += 1;
    }
    Ok(chats)
}

const NOTICE: &str = "the log was put back to an earlier state while this was open";

/// Ends open turns as failed, so that `/retry` finds them. Calls without a result count as
/// interrupted.
fn end_turns(tx: &Tx<'_>) -> Result<usize> {
    let ending = ForcedEnd {
        state: TurnState::Failed,
        outcome: Outcome::Dropped,
        notice: NOTICE,
        result: "interrupted: the log was put back to an earlier state, so it is unknown whether this ran; check \
            before you repeat it",
        kind: ResultKind::OutcomeUnknown,
        reply: None,
    };
    let open = tx.db.query_rows(&format!("SELECT id FROM turns WHERE {OPEN_TURN}"), (), |row| {
        row.get(0).map(TurnId)
    })?;
    for turn in &open {
        audit::record_interrupted(tx, *turn)?;
        end_turn(tx, *turn, &ending)?;
    }
    Ok(open.len())
}

/// Ends messages without a turn. Each chat gets a failed turn for them, so that `/retry` finds
/// them.
fn end_messages(tx: &Tx<'_>) -> Result<usize> {
    let waiting = tx.db.query_rows(
        "SELECT DISTINCT session, channel, account, chat, topic FROM inbound \
         WHERE state = 'queued' AND turn IS NULL AND kind = 'text'",
        (),
        |row| Ok((rows::parse_column::<SessionId>(row, "session")?, rows::address_from_row(row)?)),
    )?;
    for (session, chat) in waiting {
        let turn = insert_turn(tx, &session, TurnState::Failed)?;
        tx.change_rows(
            "UPDATE turns SET notice = ?2, ended_at = ?3 WHERE id = ?1",
            params![turn.0, NOTICE, tx.now.0],
        )?;
        tx.change_rows(
            "UPDATE inbound SET turn = ?1 WHERE session = ?2 AND channel = ?3 AND account = ?4 \
                 AND chat = ?5 AND topic IS ?6 AND state = 'queued' AND turn IS NULL AND kind = 'text'",
            params![
                turn.0,
                session.as_str(),
                chat.channel.as_str(),
                chat.account.as_str(),
                chat.chat.as_str(),
                chat.topic.as_ref().map(avocet_protocol::ids::TopicId::as_str),
            ],
        )?;
    }
    let dropped = "UPDATE inbound SET state = 'dead', outcome = 'dropped' WHERE outcome IS NULL";
    tx.change_rows(dropped, ())
}

/// Ends deliveries without sending them, since they may have arrived; `/resend` sends them again.
fn end_deliveries(tx: &Tx<'_>, why: &str) -> Result<usize> {
    let unconfirmed = "UPDATE outbox SET state = 'unconfirmed', error = ?1 WHERE";
    let ended = tx.change_rows(&format!("{unconfirmed} {OPEN_DELIVERIES}"), [why])?;
    let notices = format!("{unconfirmed} {OPEN_CHUNK} AND source = 'notice'");
    tx.change_rows(&notices, [why])?;
    // The turns of these previews have ended; the chat keeps the shown text.
    tx.change_rows(
        "UPDATE outbox SET state = 'sent' WHERE source = 'preview' AND state <> 'sent'",
        (),
    )?;
    Ok(ended)
}

fn inform_chat(
    tx: &Tx<'_>,
    chat: &ChatAddress,
    open: &OpenWork,
    rolled_back: &RolledBack,
) -> Result<()> {
    let mut text = format!("My log is not up to date: {}.", rolled_back.for_chats);
    let theirs = match open.messages {
        0 => None,
        1 => Some("your message".to_owned()),
        many => Some(format!("{many} of your messages")),
    };
    if let Some(theirs) = theirs {
        text.push_str(&format!(
            " I do not know whether I have answered {theirs}: /retry answers again, if you still want that."
        ));
    }
    let ours = match open.deliveries {
        0 => None,
        1 => Some("a message of mine".to_owned()),
        many => Some(format!("{many} messages of mine")),
    };
    if let Some(ours) = ours {
        text.push_str(&format!(" I do not know whether {ours} arrived: /resend sends again."));
    }
    let source = OutboxSource::Notice;
    let position = ChunkPosition { turn: None, ordinal: 0, chunk: 0, key: None, source };
    let notice = notices::LostLog.for_reader(readers::EVERYBODY, text);
    insert_chunk(tx, chat, &notice, &position).map(drop)
}

/// Returns `true` for a redelivered message that was written while the lost part was in use. Such a
/// message may have been answered already, so it is dropped and its chat is informed once.
pub(crate) fn is_unsure(tx: &Tx<'_>, message: &NewInbound) -> Result<bool> {
    let Some(Timestamp(written)) = message.inbound.written_at else { return Ok(false) };
    let until: Option<i64> =
        tx.db.query_one("SELECT unsure_until FROM meta", (), |row| row.get("unsure_until"))?;
    let Some(until) = until.filter(|until| written <= *until) else { return Ok(false) };
    let text = format!(
        "A part of my log is lost, so I do not know whether I answered your messages before {}. \
            Please send again what still matters.",
        crate::damage::format_date(Timestamp(until))
    );
    let key = DedupeKey::parse(&format!("unsure until {until}"));
    let key = key.map_err(|error| StoreError::Internal(error.to_string()))?;
    let source = OutboxSource::Notice;
    let position = ChunkPosition { turn: None, ordinal: 0, chunk: 0, key: Some(&key), source };
    let notice = notices::LostLog.for_reader(readers::EVERYBODY, text);
    insert_chunk(tx, &message.inbound.address, &notice, &position)?;
    Ok(true)
}

/// Returns `true` if work that was due then may have been done by the lost part.
pub(crate) fn is_unsure_at(tx: &Tx<'_>, due: Timestamp) -> Result<bool> {
    let until: Option<i64> =
        tx.db.query_one("SELECT unsure_until FROM meta", (), |row| row.get("unsure_until"))?;
    Ok(until.is_some_and(|until| due.0 <= until))
}

/// Skips row numbers that the lost part may have given out. The audit table has no gaps, so only
/// numbers known to be used are skipped there.
fn move_numbers_on(tx: &Tx<'_>, known: &BTreeMap<String, i64>) -> Result<()> {
    for table in numbered_tables(tx.db)? {
        let gap = if table == "audit" { 0 } else { GAP };
        let known = known.get(&table).copied().unwrap_or_default();
        let used = last_number(tx.db, &table)?.max(known);
        set_last_number(tx, &table, used.saturating_add(gap))?;
    }
    Ok(())
}
