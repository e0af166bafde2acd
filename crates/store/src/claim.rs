//! Gives a lane its next turn: the open one, or a new one for the messages that wait.
//!
//! ```text
//! session                                 claim
//! unknown                                 Nothing
//! open turn: running, or waits            Nothing
//! open turn: queued, suspect              Suspect, for a lane that excludes these
//! open turn: queued                       Turn: runs on from the end of its log
//! no turn, `/compact` is due              Compact
//! no turn, messages, burst not over       Later, with the time of its end
//! no turn, messages, a part may come      Incomplete, with the time until which it may
//! no turn, messages                       Turn: a new one
//! nothing                                 Nothing
//! ```
//!
//! **The open turn comes first**, since a session has at most one. New messages wait behind it. By
//! the queue mode, `accept.rs` has interrupted it when they came, or the end of a step takes them
//! to steer it.
//!
//! **Messages that are answered together.** In the mode *collect*, all that wait. In the others,
//! one each with its further parts (`joined_message.rs`), except that messages which a channel
//! delivers late, after an outage, are answered in one turn. Both wait for the end of a burst: a
//! pause without a message, and ten such pauses at most. Only messages of one chat are together, as linked chats share a session but not the
//! answers. An open command stops the claim in front of it: messages after `/new` must wait for it.
//!
//! **A message that may have a further part** waits for it, as long as its channel says and ten seconds
//! at most. Only a text that was cut and an album have such a wait; other messages start at once.
//!
//! **A claim reads all that the lane needs**, in the transaction that marks the turn as running:
//! the settings, the grants, the turns above it, the usage. What changes later counts from the next
//! claim.

use std::ops::ControlFlow;
use std::time::Duration;

use avocet_protocol::access::PermissionMode;
use avocet_protocol::bus::QueueMode;
use avocet_protocol::chat::{ChatAddress, LATE, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::TurnId;
use avocet_protocol::model::Effort;
use avocet_protocol::store::{Claim, Claimed, LineageTurn, Suspects};
use avocet_protocol::tool::ChildMode;
use avocet_protocol::turn::{Origin, SessionReports, TurnRecord, TurnState, Undelivered};
use rusqlite::{Row, params};

use crate::grants;
use crate::ledger;
use crate::past::{self, PendingCompaction};
use crate::reports;
use crate::rows::messages::{INBOUND, NEXT, inbound_from_row};
use crate::rows::sessions::{mode_if_any, permission_mode};
use crate::rows::turns::{self, OPEN_TURN, insert_turn};
use crate::rows::{self, RowResult, at, parsed_if_any};
use crate::turn_record::read_turn;
use crate::tx::{Result, Tx};
use crate::undelivered;

/// Late messages that one turn answers at most.
const AT_MOST_LATE: usize = 100;

/// Maximum length of a burst, as a multiple of the pause that ends it.
const LONGEST_BURST: u32 = 10;

/// Longest wait for the further parts of a message.
const LONGEST_HOLD: Duration = Duration::from_secs(10);

pub(crate) fn claim_turn(
    tx: &Tx<'_>,
    session: &SessionId,
    suspects: Suspects,
    burst: Duration,
    default_mode: QueueMode,
) -> Result<Claim> {
    let Some(row) = claiming_session(tx, session)? else { return Ok(Claim::Nothing) };
    match &row.open {
        Some(OpenTurnRow { state, .. }) if *state != TurnState::Queued => Ok(Claim::Nothing),
        Some(OpenTurnRow { suspect: true, deaths, .. }) if suspects == Suspects::Exclude => {
            Ok(Claim::Suspect { deaths: *deaths })
        }
        Some(open) => resume_turn(tx, open, &row).map(Box::new).map(Claim::Turn),
        None if row.is_compacting
            && let Some(PendingCompaction { command, begun }) =
                past::pending_compaction(tx, session)? =>
        {
            Ok(Claim::Compact { command: Box::new(command), begun })
        }
        None => begin_turn(tx, session, &row, burst, default_mode),
    }
}

/// The columns of a session that a claim needs.
struct ClaimingSession {
    mode: Option<QueueMode>,
    model: Option<String>,
    effort: Option<Effort>,
    agent: Option<String>,
    permission_mode: PermissionMode,
    is_compacting: bool,
    open: Option<OpenTurnRow>,
}

/// The open turn of a session.
struct OpenTurnRow {
    turn: TurnId,
    state: TurnState,
    suspect: bool,
    deaths: u32,
    deaths_alone: u32,
}

/// The columns that [`claiming_session`] reads.
const CLAIMING: &str = "SELECT mode, model, effort, agent, permission_mode, \
    compact_for IS NOT NULL AS is_compacting, turns.id AS turn, state, suspect, attempts, \
    deaths_alone FROM sessions";

/// Returns `None` if the session is unknown.
fn claiming_session(tx: &Tx<'_>, session: &SessionId) -> Result<Option<ClaimingSession>> {
    tx.db.query_row(
        &format!(
            "{CLAIMING} LEFT JOIN turns ON turns.session = sessions.id AND {OPEN_TURN} \
             WHERE sessions.id = ?1"
        ),
        [session.as_str()],
        |row| {
            Ok(ClaimingSession {
                mode: mode_if_any(row)?,
                model: row.get(at!(CLAIMING, "model"))?,
                effort: parsed_if_any(row, at!(CLAIMING, "effort"))?,
                agent: row.get(at!(CLAIMING, "agent"))?,
                permission_mode: permission_mode(row)?,
                is_compacting: row.get(at!(CLAIMING, "is_compacting"))?,
                open: row
                    .get::<_, Option<i64>>(at!(CLAIMING, "turn"))?
                    .map(|id| open_turn(row, id))
                    .transpose()?,
            })
        },
    )
}

fn open_turn(row: &Row<'_>, id: i64) -> RowResult<OpenTurnRow> {
    Ok(OpenTurnRow {
        turn: TurnId(id),
        state: turns::turn_state(row)?,
        suspect: row.get(at!(CLAIMING, "suspect"))?,
        deaths: row.get(at!(CLAIMING, "attempts"))?,
        deaths_alone: row.get(at!(CLAIMING, "deaths_alone"))?,
    })
}

/// Marks an open turn as running, and reads all that a lane needs to run it.
fn resume_turn(tx: &Tx<'_>, open: &OpenTurnRow, session: &ClaimingSession) -> Result<Claimed> {
    let OpenTurnRow { turn, deaths, deaths_alone, .. } = *open;
    tx.change_rows("UPDATE turns SET state = 'running' WHERE id = ?1", [turn.0])?;
    tx.change_rows(
        "UPDATE inbound SET state = 'running' WHERE turn = ?1 AND state = 'queued'",
        [turn.0],
    )?;
    Ok(Claimed {
        turn: read_turn(tx.db, turn)?,
        attempts: deaths,
        deaths_alone,
        model: session.model.clone(),
        effort: session.effort,
        lineage: turns::lineage_of(tx.db, turn)?,
        grants: grants::of_turn(tx.db, turn)?,
        usage: ledger::at_claim(tx, turn)?,
    })
}

/// Begins a turn for the next messages, up to the first open command: messages after `/new` must
/// wait for it.
fn begin_turn(
    tx: &Tx<'_>,
    session: &SessionId,
    row: &ClaimingSession,
    burst: Duration,
    default_mode: QueueMode,
) -> Result<Claim> {
    let mode = row.mode.unwrap_or(default_mode);
    let waiting = waiting_messages(tx, session, mode)?;
    let Some(first) = waiting.first() else { return Ok(Claim::Nothing) };
    if mode == QueueMode::Collect || first.is_late {
        let received = || waiting.iter().map(|message| message.received_at);
        let (oldest, newest) = (received().min(), received().max());
        let (oldest, newest) = (oldest.unwrap_or(tx.now), newest.unwrap_or(tx.now));
        let whole = newest.after(burst).min(oldest.after(LONGEST_BURST * burst));
        // Messages must not wait for a clock that was set back.
        if tx.now < whole && tx.now.until(whole) <= LONGEST_BURST * burst {
            return Ok(Claim::Later(whole));
        }
    }
    if let Some(whole) = end_of_parts(tx, &waiting, mode) {
        return Ok(Claim::Incomplete(whole));
    }
    let turn = insert_turn(tx, session, TurnState::Running)?;
    tx.change_rows(
        &format!("UPDATE inbound SET turn = ?2, state = 'running' WHERE {NEXT} AND id <= ?3"),
        params![session.as_str(), turn.0, last_together(&waiting, mode)],
    )?;
    let (undelivered, reports) = bind_notes(tx, session, turn)?;
    let messages = format!("{INBOUND} WHERE turn = ?1 ORDER BY id");
    let record = TurnRecord {
        id: turn,
        session: session.clone(),
        state: TurnState::Running,
        started_at: tx.now,
        origin: Origin::Messages(tx.db.query_rows(&messages, [turn.0], inbound_from_row)?),
        steps: Vec::new(),
        notice: None,
        undelivered,
        recalled: Vec::new(),
        reports,
    };
    let root = LineageTurn {
        turn,
        session: session.clone(),
        agent: row.agent.clone(),
        person: turns::person_of(tx.db, session)?,
        permission_mode: row.permission_mode,
        mode: ChildMode::Awaited,
        skills: Vec::new(),
    };
    Ok(Claim::Turn(Box::new(Claimed {
        turn: record,
        attempts: 0,
        deaths_alone: 0,
        model: row.model.clone(),
        effort: row.effort,
        lineage: vec![root],
        grants: grants::of_session(tx, session)?,
        usage: ledger::at_begin(tx, session)?,
    })))
}

/// Returns the time until which the last message that is answered next may get a further part; `None`
/// if it is complete.
fn end_of_parts(tx: &Tx<'_>, waiting: &[WaitingMessage], mode: QueueMode) -> Option<Timestamp> {
    let last = last_together(waiting, mode);
    let last = waiting.iter().find(|message| message.id == last)?;
    let hold = Duration::from_millis(last.more_within_ms?.into());
    let whole = last.received_at.after(hold).min(waiting[0].received_at.after(LONGEST_HOLD));
    (tx.now < whole && tx.now.until(whole) <= LONGEST_HOLD).then_some(whole)
}

/// Binds the notes for a session to its new turn, and returns them.
fn bind_notes(
    tx: &Tx<'_>,
    session: &SessionId,
    turn: TurnId,
) -> Result<(Undelivered, SessionReports)> {
    let has_notes = tx.db.query_one(
        "SELECT EXISTS (SELECT 1 FROM undelivered WHERE session = ?1 AND turn IS NULL) \
             OR EXISTS (SELECT 1 FROM reports WHERE session = ?1 AND turn IS NULL)",
        [session.as_str()],
        |row| row.get::<_, bool>(0),
    )?;
    if !has_notes {
        return Ok(Default::default());
    }
    undelivered::bind_to_turn(tx, session, turn)?;
    reports::bind_to_turn(tx, session, turn)?;
    Ok((undelivered::notes_of(tx.db, turn)?, reports::reports_of(tx.db, turn)?))
}

/// A message that waits for a turn.
struct WaitingMessage {
    id: i64,
    received_at: Timestamp,
    is_late: bool,
    from: ChatAddress,
    key: String,
    /// `true` for a further part of the message before it.
    continues: bool,
    more_within_ms: Option<u32>,
}

/// Returns the messages that wait for a turn: only the first one, with its further parts, if it is
/// answered alone.
fn waiting_messages(
    tx: &Tx<'_>,
    session: &SessionId,
    mode: QueueMode,
) -> Result<Vec<WaitingMessage>> {
    let mut waiting: Vec<WaitingMessage> = Vec::new();
    tx.db.rows_while(
        &format!(
            "SELECT id, received_at, channel, account, chat, topic, key, \
                 content ->> 'continues' AS continues, \
                 content ->> 'more_within_ms' AS more_within_ms, \
                 coalesce(received_at - written_at > {}, 0) AS is_late \
             FROM inbound WHERE {NEXT} ORDER BY id",
            LATE.as_millis()
        ),
        [session.as_str()],
        |row| {
            let earlier: Option<String> = row.get("continues")?;
            let continues = waiting.last().is_some_and(|last| earlier.as_ref() == Some(&last.key));
            let is_alone = |first: &WaitingMessage| mode != QueueMode::Collect && !first.is_late;
            if !continues && waiting.first().is_some_and(is_alone) {
                return Ok(ControlFlow::Break(()));
            }
            waiting.push(WaitingMessage {
                id: row.get("id")?,
                received_at: Timestamp(row.get("received_at")?),
                is_late: row.get("is_late")?,
                from: rows::address_from_row(row)?,
                key: row.get("key")?,
                continues,
                more_within_ms: row.get("more_within_ms")?,
            });
            Ok(ControlFlow::Continue(()))
        },
    )?;
    Ok(waiting)
}

/// Returns the last message that is answered together with the first. Linked chats share a session,
/// but each gets its own answers.
fn last_together(waiting: &[WaitingMessage], mode: QueueMode) -> i64 {
    let together = match mode {
        QueueMode::Collect => waiting.len(),
        _ => {
            let late = waiting.iter().take(AT_MOST_LATE).take_while(|message| message.is_late);
            let late = late.count().max(1);
            late + waiting[late..].iter().take_while(|message| message.continues).count()
        }
    };
    let same_chat =
        waiting[..together].iter().take_while(|message| message.from == waiting[0].from);
    same_chat.last().map_or(0, |message| message.id)
}
