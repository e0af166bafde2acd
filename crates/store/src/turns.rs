//! Turns as lanes use them: claimed, settled, made to wait, given back.

use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::{
    Answer, Claim, Claimed, Condensed, LATE, LoggedInbound, MessageId, NewWait, OpenPrompt,
    OpenWait, Outcome, Planned, QueueMode, Resolution, SessionId, Settlement, Suspects, Timestamp,
    TurnId, TurnState, Turns, WaitId,
};
use rusqlite::params;

use crate::audit;
use crate::inbox::ANSWERED;
use crate::ledger::credible;
use crate::past;
use crate::preview;
use crate::recover::put_back;
use crate::rows::{self, INBOUND};
use crate::tx::{Result, Tx};
use crate::undelivered;
use crate::waits::{self, resolve_parent};
use crate::{Durability, SqliteStore};

#[async_trait]
impl Turns for SqliteStore {
    async fn claim(
        &self,
        session: &SessionId,
        suspects: Suspects,
        burst: Duration,
    ) -> Result<Claim> {
        let (session, default_mode) = (session.clone(), self.default_mode);
        self.write("claim", Durability::Process, move |tx| {
            claim(tx, &session, suspects, burst, default_mode)
        })
        .await
    }

    async fn begin_compaction(&self, command: MessageId) -> Result<()> {
        self.write("begin-compaction", Durability::Process, move |tx| {
            past::begin_compaction(tx, command)
        })
        .await
    }

    async fn compacted(
        &self,
        command: MessageId,
        condensed: Option<&Condensed>,
        notice: Option<&Planned>,
    ) -> Result<()> {
        let (condensed, notice) = (condensed.cloned(), notice.cloned());
        self.write("compacted", Durability::Synced, move |tx| {
            past::compacted(tx, command, condensed.as_ref(), notice.as_ref())
        })
        .await
    }

    async fn settle(&self, turn: TurnId, settlement: &Settlement) -> Result<Option<SessionId>> {
        let settlement = settlement.clone();
        self.write("settle", Durability::Synced, move |tx| settle(tx, turn, &settlement)).await
    }

    async fn reserve_wait(&self) -> Result<WaitId> {
        self.write("reserve-wait", Durability::Process, waits::reserve).await
    }

    async fn wait(&self, wait: &NewWait) -> Result<()> {
        let wait = wait.clone();
        self.write("wait", Durability::Synced, move |tx| waits::begin(tx, &wait)).await
    }

    async fn release(&self, turn: TurnId) -> Result<()> {
        self.write("release", Durability::Process, move |tx| put_back(tx, turn)).await
    }

    async fn resolve(&self, wait: WaitId, resolution: &Resolution) -> Result<Option<SessionId>> {
        let resolution = resolution.clone();
        self.write("resolve", Durability::Synced, move |tx| {
            audit::resolved(tx, wait, &resolution)?;
            waits::resolve(tx, wait, &resolution)
        })
        .await
    }

    async fn asked_by(&self, turn: TurnId) -> Result<Vec<LoggedInbound>> {
        self.read(move |db| {
            db.rows(
                &format!(
                    "WITH RECURSIVE line (turn) AS (VALUES (?1) UNION \
                         SELECT parent FROM turns JOIN line ON turns.id = line.turn \
                         WHERE parent IS NOT NULL) \
                     {INBOUND} WHERE inbound.turn IN (SELECT turn FROM line) ORDER BY id"
                ),
                [turn.0],
                rows::inbound,
            )
        })
        .await
    }

    async fn open_waits(&self) -> Result<Vec<OpenWait>> {
        self.read(waits::open).await
    }

    async fn open_prompts(&self, now: Timestamp) -> Result<Vec<OpenPrompt>> {
        self.read(move |db| waits::open_prompts(db, now)).await
    }

    async fn say_again(&self, prompts: &[OpenPrompt]) -> Result<()> {
        let prompts = prompts.to_vec();
        self.write("say-again", Durability::Synced, move |tx| waits::say_again(tx, &prompts)).await
    }

    async fn open_sessions(&self) -> Result<Vec<SessionId>> {
        self.read(|db| {
            db.rows(
                "SELECT session FROM ( \
                     SELECT session, 0 AS begun, id FROM turns \
                         WHERE state IN ('queued', 'running', 'waiting') AND state = 'queued' \
                     UNION ALL SELECT session, 1, id FROM inbound \
                         WHERE state = 'queued' AND turn IS NULL AND kind = 'text' \
                     UNION ALL SELECT id, 1, abs(compact_for) FROM sessions \
                         WHERE compact_for IS NOT NULL) \
                 GROUP BY session ORDER BY min(begun), min(id)",
                (),
                |row| rows::parsed(row, "session"),
            )
        })
        .await
    }
}

fn claim(
    tx: &Tx<'_>,
    session: &SessionId,
    suspects: Suspects,
    burst: Duration,
    default_mode: QueueMode,
) -> Result<Claim> {
    struct OpenTurnRow {
        turn: TurnId,
        state: TurnState,
        suspect: bool,
        deaths: u32,
    }
    let open = tx.db.row(
        "SELECT id, state, suspect, attempts FROM turns \
         WHERE session = ?1 AND state IN ('queued', 'running', 'waiting')",
        [session.as_str()],
        |row| {
            let turn = TurnId(row.get("id")?);
            let (suspect, deaths) = (row.get("suspect")?, row.get("attempts")?);
            Ok(OpenTurnRow { turn, state: rows::state(row)?, suspect, deaths })
        },
    )?;
    let turn = match open {
        Some(OpenTurnRow { state, .. }) if state != TurnState::Queued => return Ok(Claim::Nothing),
        Some(OpenTurnRow { suspect: true, deaths, .. }) if suspects == Suspects::Exclude => {
            return Ok(Claim::Suspect { deaths });
        }
        Some(OpenTurnRow { turn, .. }) => {
            tx.update("UPDATE turns SET state = 'running' WHERE id = ?1", [turn.0])?;
            turn
        }
        None if let Some((command, begun)) = past::compaction(tx, session)? => {
            return Ok(Claim::Compact { command: Box::new(command), begun });
        }
        None => match begin_turn(tx, session, burst, default_mode)? {
            TurnStart::Nothing => return Ok(Claim::Nothing),
            TurnStart::Later(whole) => return Ok(Claim::Later(whole)),
            TurnStart::Turn(turn) => turn,
        },
    };
    tx.update(
        "UPDATE inbound SET state = 'running' WHERE turn = ?1 AND state = 'queued'",
        [turn.0],
    )?;
    let record = rows::turn(tx.db, turn)?;
    let grants = waits::grants(tx, turn)?;
    let claimed = tx.db.one(
        "SELECT attempts, deaths_alone, model FROM turns JOIN sessions ON sessions.id = session \
         WHERE turns.id = ?1",
        [turn.0],
        |row| {
            Ok(Claimed {
                turn: record,
                attempts: row.get("attempts")?,
                deaths_alone: row.get("deaths_alone")?,
                model: row.get("model")?,
                grants,
            })
        },
    )?;
    Ok(Claim::Turn(Box::new(claimed)))
}

/// Begins a turn for the next messages, up to the first open command: messages after `/new` must
/// wait for it.
fn begin_turn(
    tx: &Tx<'_>,
    session: &SessionId,
    burst: Duration,
    default_mode: QueueMode,
) -> Result<TurnStart> {
    let Some(waiting) = waiting_messages(tx, session)? else { return Ok(TurnStart::Nothing) };
    let mode = rows::mode(tx.db, session, default_mode)?;
    let last = if mode == QueueMode::Collect || waiting.late {
        let whole = waiting.newest.after(burst).min(waiting.oldest.after(LONGEST_BURST * burst));
        // Messages must not wait for a clock that was set back.
        if tx.now < whole && tx.now.until(whole) <= LONGEST_BURST * burst {
            return Ok(TurnStart::Later(whole));
        }
        if mode == QueueMode::Collect { i64::MAX } else { last_late(tx, session)? }
    } else {
        waiting.first
    };
    let last = last.min(before_another_chat(tx, session, waiting.first)?);
    let turn = insert_turn(tx, session, "running", None)?;
    undelivered::bind(tx, session, turn)?;
    tx.update(
        &format!("UPDATE inbound SET turn = ?2 WHERE {NEXT} AND id <= ?3"),
        params![session.as_str(), turn.0, last],
    )?;
    Ok(TurnStart::Turn(turn))
}

/// The messages that wait for a turn.
struct WaitingMessages {
    first: i64,
    oldest: Timestamp,
    newest: Timestamp,
    /// `true` if the first message came late.
    late: bool,
}

fn waiting_messages(tx: &Tx<'_>, session: &SessionId) -> Result<Option<WaitingMessages>> {
    let first = tx.db.row(
        &format!("SELECT id, {} AS late FROM inbound WHERE {NEXT} ORDER BY id LIMIT 1", is_late()),
        [session.as_str()],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let Some((first, late)) = first else { return Ok(None) };
    tx.db.one(
        &format!("SELECT min(received_at), max(received_at) FROM inbound WHERE {NEXT}"),
        [session.as_str()],
        |row| {
            let (oldest, newest) = (Timestamp(row.get(0)?), Timestamp(row.get(1)?));
            Ok(Some(WaitingMessages { first, oldest, newest, late }))
        },
    )
}

/// Returns the last message before one from another chat. Linked chats share a session, but each
/// gets its own answers.
fn before_another_chat(tx: &Tx<'_>, session: &SessionId, first: i64) -> Result<i64> {
    let other = tx.db.one(
        &format!(
            "SELECT min(id) FROM inbound WHERE {NEXT} \
                 AND (channel, account, chat, coalesce(topic, '')) <> \
                     (SELECT channel, account, chat, coalesce(topic, '') FROM inbound WHERE id = ?2)"
        ),
        params![session.as_str(), first],
        |row| row.get::<_, Option<i64>>(0),
    )?;
    Ok(other.map_or(i64::MAX, |other| other - 1))
}

/// Returns the last of the late messages at the front, at most the hundredth.
fn last_late(tx: &Tx<'_>, session: &SessionId) -> Result<i64> {
    let front = tx.db.rows(
        &format!(
            "SELECT id, {} FROM inbound WHERE {NEXT} ORDER BY id LIMIT {AT_MOST_LATE}",
            is_late()
        ),
        [session.as_str()],
        |row| Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?)),
    )?;
    let late = front.iter().take_while(|(_, late)| *late).last();
    Ok(late.map_or(0, |(id, _)| *id))
}

/// SQL form of `LoggedInbound::is_late`.
fn is_late() -> String {
    format!("coalesce(received_at - written_at > {}, 0)", LATE.as_millis())
}

/// Late messages that one turn answers at most.
const AT_MOST_LATE: u32 = 100;

/// Maximum length of a burst, as a multiple of the pause that ends it.
const LONGEST_BURST: u32 = 10;

/// The result of `begin_turn`.
enum TurnStart {
    Nothing,
    Later(Timestamp),
    Turn(TurnId),
}

/// Condition for messages of session ?1 that may be answered now.
pub(crate) const NEXT: &str = "session = ?1 AND state = 'queued' AND turn IS NULL \
    AND kind = 'text' AND id < coalesce((SELECT min(id) FROM inbound WHERE session = ?1 \
        AND state = 'queued' AND turn IS NULL AND kind = 'command'), 9223372036854775807)";

/// The parent and prompt of a child turn.
pub(crate) struct ChildTask<'a> {
    pub(crate) parent: TurnId,
    pub(crate) prompt: &'a str,
}

pub(crate) fn insert_turn(
    tx: &Tx<'_>,
    session: &SessionId,
    state: &str,
    task: Option<&ChildTask<'_>>,
) -> Result<TurnId> {
    let id = tx.insert(
        "INSERT INTO turns (session, state, parent, prompt, started_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            session.as_str(),
            state,
            task.map(|task| task.parent.0),
            task.map(|task| task.prompt),
            tx.now.0,
        ],
    )?;
    Ok(TurnId(id.unwrap_or_default()))
}

/// Ends a turn: history, reply or notice, and the outcome of its messages.
fn settle(tx: &Tx<'_>, turn: TurnId, settlement: &Settlement) -> Result<Option<SessionId>> {
    let Settlement { outcome, answer, notice, reply } = settlement;
    let state = match outcome {
        Outcome::Replied | Outcome::Merged => "done",
        Outcome::Error | Outcome::Dropped => "failed",
        Outcome::Stopped => "cancelled",
    };
    tx.update_one(
        turn,
        "UPDATE turns SET state = ?2, notice = ?3, ended_at = ?4, suspect = 0 \
         WHERE id = ?1 AND state = 'running'",
        params![turn.0, state, notice, tx.now.0],
    )?;
    if let Some(Answer { step, text, usage, trust }) = answer {
        let (input, output) = (credible(usage.input), credible(usage.output));
        tx.insert(
            "INSERT INTO steps (turn, number, text, input_tokens, output_tokens, closed, trust) \
             VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6)",
            params![turn.0, step, text, input, output, trust.word()],
        )?;
    }
    end_messages(tx, turn, *outcome)?;
    preview::become_reply(tx, turn, reply.as_ref())?;
    let result = match (outcome, answer, notice) {
        (Outcome::Replied, Some(answer), _) => {
            Resolution::Answer { text: answer.text.clone(), trust: answer.trust }
        }
        (_, _, Some(notice)) => Resolution::Error(notice.clone()),
        _ => Resolution::Error("it came to no answer".to_owned()),
    };
    resolve_parent(tx, turn, &result)
}

/// Ends all messages bound to the turn. The answer counts for the last one, and the others are
/// merged into it. An answer to a question of the turn never counts as the last one. A turn without
/// an answer gives all of them its own outcome.
fn end_messages(tx: &Tx<'_>, turn: TurnId, outcome: Outcome) -> Result<()> {
    let state = if outcome == Outcome::Dropped { "dead" } else { "done" };
    tx.update(
        "UPDATE inbound SET state = ?2, outcome = CASE \
             WHEN ?3 <> 'replied' OR id = (SELECT max(id) FROM inbound WHERE turn = ?1 \
                 AND state = 'running' AND after_step IS NOT ?4) THEN ?3 \
             ELSE 'merged' END \
         WHERE turn = ?1 AND state = 'running'",
        params![turn.0, state, outcome.word(), ANSWERED],
    )?;
    Ok(())
}
