//! Turns as lanes use them: claimed, settled, made to wait, given back.
//!
//! # Settling
//!
//! [`settle_turn`] ends a turn in one synced transaction (T5). Before it, a preview at most is
//! visible; after it, no part of the answer can be missing:
//!
//! ```text
//! usage     + the cost that no step has recorded       (also if the turn has ended meanwhile)
//! turns     running -> done | failed | cancelled
//! steps     + the answer, as the last step
//! inbound   running -> done | dead, each with its outcome
//! outbox    preview -> the reply, + the other chunks of the reply or of the notice
//! reports   + the reply, if its chat has another session
//! waits     the parent's call gets the result, and the parent is queued
//! outbox    the first chunk -> sending, if its send is reserved
//! ```
//!
//! **Order.** The usage comes first, because it was paid for in any case: a `/stop` may have ended
//! the turn while the model answered. The start of a reserved send comes last, because it takes the
//! chunk at the head of the chat, and the chunks are queued by then.
//!
//! **A reply and its outcome are never apart.** If they were two transactions, a crash between them
//! would lose the reply or answer the message twice. So the outbox is a table of the log, and
//! delivery begins after the commit. The one exception saves a transaction: a send that the
//! delivery worker has reserved is written here as `sending`, and a crash before the send counts as
//! an unknown outcome.
//!
//! **A turn that does not run** (a stop, another claim) gives [`StoreError::Stale`], and nothing
//! but the usage is written.
//!
//! [`StoreError::Stale`]: avocet_protocol::store::StoreError::Stale

use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::access::{Grant, Trust};
use avocet_protocol::chat::{LoggedInbound, Outcome, Planned, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{MessageId, TurnId, WaitId};
use avocet_protocol::store::{
    Answer, Claim, CompactedPast, EndedMessage, LineageTurn, NewWait, OpenPrompt, OpenWait,
    Resolution, SettledTurn, Settlement, Suspects, Turns,
};
use rusqlite::{Row, params};

use crate::audit;
use crate::claim::claim_turn;
use crate::grants;
use crate::ledger::{cap_figure, unless_ended};
use crate::outbox::start_head;
use crate::past;
use crate::preview;
use crate::prompts::{self, DecidedBy};
use crate::put_back::put_back;
use crate::reports::{self, SentText};
use crate::rows;
use crate::rows::messages::{ANSWERED, INBOUND, inbound_from_row};
use crate::rows::numbers::reserve_number;
use crate::rows::turns::{ANCESTORS, OPEN_TURN, RunningTurn, lineage_of};
use crate::tx::{Result, Tx};
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
        let stop = self.stop.clone();
        self.write("claim", Durability::Process, move |tx| {
            if stop.now().is_some() {
                return Ok(Claim::Stopped);
            }
            claim_turn(tx, &session, suspects, burst, default_mode)
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
        compacted: Option<&CompactedPast>,
        notice: Option<&Planned>,
    ) -> Result<()> {
        let (compacted, notice) = (compacted.cloned(), notice.cloned());
        self.write("compacted", Durability::Synced, move |tx| {
            past::finish_compaction(tx, command, compacted.as_ref(), notice.as_ref())
        })
        .await
    }

    async fn settle(&self, turn: TurnId, settlement: &Settlement) -> Result<SettledTurn> {
        let settlement = settlement.clone();
        self.write("settle", Durability::Synced, move |tx| {
            unless_ended(tx, turn, &settlement.spent, |running| {
                settle_turn(tx, turn, running, &settlement)
            })
        })
        .await?
    }

    async fn reserve_wait(&self) -> Result<WaitId> {
        self.write("reserve-wait", Durability::Process, |tx| {
            reserve_number(tx, "waits").map(WaitId)
        })
        .await
    }

    async fn wait(&self, waits: &[NewWait]) -> Result<()> {
        let waits = waits.to_vec();
        self.write("wait", Durability::Synced, move |tx| waits::begin_waits(tx, &waits)).await
    }

    async fn release(&self, turn: TurnId) -> Result<()> {
        self.write("release", Durability::Process, move |tx| put_back(tx, turn)).await
    }

    async fn resolve(&self, wait: WaitId, resolution: &Resolution) -> Result<Option<SessionId>> {
        let resolution = resolution.clone();
        self.write("resolve", Durability::Synced, move |tx| {
            audit::record_resolved(tx, wait, &resolution)?;
            waits::resolve_wait(tx, wait, &resolution, DecidedBy::Host)
        })
        .await
    }

    async fn asked_by(&self, turn: TurnId) -> Result<Vec<LoggedInbound>> {
        self.read(move |db| {
            db.query_rows(
                &format!(
                    "WITH RECURSIVE {ANCESTORS} {INBOUND} WHERE inbound.turn IN (SELECT turn FROM line) ORDER BY id"
                ),
                [turn.0],
                inbound_from_row,
            )
        })
        .await
    }

    async fn ended_messages(&self, turn: TurnId) -> Result<Vec<EndedMessage>> {
        self.read(move |db| {
            db.query_rows(
                "SELECT channel, account, chat, topic, key, outcome FROM inbound \
                 WHERE turn = ?1 AND outcome IS NOT NULL ORDER BY id",
                [turn.0],
                ended_message,
            )
        })
        .await
    }

    async fn lineage(&self, turn: TurnId) -> Result<Vec<LineageTurn>> {
        self.read(move |db| lineage_of(db, turn)).await
    }

    async fn grants_of(&self, turn: TurnId) -> Result<Vec<Grant>> {
        self.read(move |db| grants::of_turn(db, turn)).await
    }

    async fn open_waits(&self) -> Result<Vec<OpenWait>> {
        self.read(waits::open).await
    }

    async fn open_prompts(&self, now: Timestamp) -> Result<Vec<OpenPrompt>> {
        self.read(move |db| prompts::open(db, now)).await
    }

    async fn repeat_prompts(&self, prompts: &[OpenPrompt]) -> Result<()> {
        let repeated = prompts.to_vec();
        self.write("repeat-prompts", Durability::Synced, move |tx| {
            prompts::repeat_prompts(tx, &repeated)
        })
        .await
    }

    async fn open_sessions(&self) -> Result<Vec<SessionId>> {
        self.read(|db| {
            db.query_rows(
                &format!(
                    "SELECT session FROM ( \
                         SELECT session, 0 AS begun, id FROM turns \
                             WHERE {OPEN_TURN} AND state = 'queued' \
                         UNION ALL SELECT session, 1, id FROM inbound \
                             WHERE state = 'queued' AND turn IS NULL AND kind = 'text' \
                         UNION ALL SELECT id, 1, abs(compact_for) FROM sessions \
                             WHERE compact_for IS NOT NULL) \
                     GROUP BY session ORDER BY min(begun), min(id)"
                ),
                (),
                |row| rows::parse_column(row, "session"),
            )
        })
        .await
    }
}

/// Ends a turn: history, reply or notice, and the outcome of its messages.
fn settle_turn(
    tx: &Tx<'_>,
    turn: TurnId,
    running: &RunningTurn,
    settlement: &Settlement,
) -> Result<SettledTurn> {
    let Settlement { outcome, answer, notice, failure, reply, .. } = settlement;
    let failure = failure.as_ref().map(rows::to_json).transpose()?;
    let state = match outcome {
        Outcome::Replied | Outcome::Merged => "done",
        Outcome::Error | Outcome::Dropped => "failed",
        Outcome::Stopped => "cancelled",
    };
    tx.update_one(
        turn,
        "UPDATE turns SET state = ?2, notice = ?3, ended_at = ?4, failure = ?5, suspect = 0 \
         WHERE id = ?1 AND state = 'running'",
        params![turn.0, state, notice, tx.now.0, failure],
    )?;
    if let Some(Answer { step, text, ending, usage, trust }) = answer {
        let (input, output) = (cap_figure(usage.input), cap_figure(usage.output));
        tx.insert(
            "INSERT INTO steps (turn, number, text, ending, input_tokens, output_tokens, closed, trust) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7)",
            params![turn.0, step, text, ending.as_str(), input, output, trust.as_str()],
        )?;
    }
    let ended = end_messages(tx, turn, *outcome)?;
    if running.is_background {
        preview::send_as_new_message(tx, turn, reply.as_ref())?;
    } else if settlement.removes_preview {
        preview::remove_all(tx, turn)?;
        preview::become_reply(tx, turn, reply.as_ref())?;
    } else {
        preview::become_reply(tx, turn, reply.as_ref())?;
    }
    note_report(tx, turn, running, settlement)?;
    let result = match (outcome, answer, notice) {
        (Outcome::Replied, Some(answer), _) => {
            Resolution::Answer { text: answer.text.clone(), trust: answer.trust }
        }
        (_, _, Some(notice)) => Resolution::error(notice),
        _ => Resolution::error("it ended without an answer"),
    };
    let parent = match running.parent {
        Some(_) => resolve_parent(tx, turn, &result)?,
        None => None,
    };
    let started = match reply {
        Some(reply) if settlement.start_send => start_head(tx, &reply.address)?,
        Some(_) | None => None,
    };
    Ok(SettledTurn { parent, more: has_work(tx, &running.session)?, started, ended })
}

/// Returns `true` if a claim would find something.
fn has_work(tx: &Tx<'_>, session: &SessionId) -> Result<bool> {
    tx.db.query_one(
        &format!(
            "SELECT compact_for IS NOT NULL \
                 OR EXISTS (SELECT 1 FROM inbound WHERE session = ?1 \
                     AND state = 'queued' AND turn IS NULL) \
                 OR EXISTS (SELECT 1 FROM turns WHERE session = ?1 \
                     AND {OPEN_TURN}) \
             FROM sessions WHERE id = ?1"
        ),
        [session.as_str()],
        |row| row.get(0),
    )
}

/// Notes the reply for the own session of its chat, if that is another session.
fn note_report(
    tx: &Tx<'_>,
    turn: TurnId,
    running: &RunningTurn,
    settlement: &Settlement,
) -> Result<()> {
    let Settlement { answer, notice, reply, .. } = settlement;
    let Some(Planned { address, chunks }) = reply else { return Ok(()) };
    let (text, trust) = match (answer, notice) {
        // The message of a task names the task.
        (Some(answer), _) if running.is_background => (reports::text_of(chunks), answer.trust),
        (Some(answer), _) => (answer.text.clone(), answer.trust),
        // An error may quote the text of a message.
        (None, Some(notice)) => (notice.clone(), Trust::Low),
        (None, None) => return Ok(()),
    };
    match running.parent {
        Some(_) => reports::note_of_turn(tx, turn, address, &text, trust),
        None => {
            let from = &running.session;
            reports::note_text(tx, SentText { from, chat: address, text: &text, trust })
        }
    }
}

/// Ends all messages bound to the turn. The answer counts for the last one, and the others are
/// merged into it. An answer to a question of the turn never counts as the last one. A turn without
/// an answer gives all of them its own outcome.
fn end_messages(tx: &Tx<'_>, turn: TurnId, outcome: Outcome) -> Result<Vec<EndedMessage>> {
    let state = if outcome == Outcome::Dropped { "dead" } else { "done" };
    tx.db.query_rows(
        "UPDATE inbound SET state = ?2, outcome = CASE \
             WHEN ?3 <> 'replied' OR id = (SELECT max(id) FROM inbound WHERE turn = ?1 \
                 AND state = 'running' AND after_step IS NOT ?4) THEN ?3 \
             ELSE 'merged' END \
         WHERE turn = ?1 AND state = 'running' \
         RETURNING channel, account, chat, topic, key, outcome",
        params![turn.0, state, outcome.as_str(), ANSWERED],
        ended_message,
    )
}

fn ended_message(row: &Row<'_>) -> rusqlite::Result<EndedMessage> {
    let (address, key) = (rows::address_from_row(row)?, rows::parse_column(row, "key")?);
    let outcome = rows::word_column(row, "outcome", &Outcome::ALL, Outcome::as_str)?;
    Ok(EndedMessage { address, key, outcome })
}
