//! Removes old messages, results of tools and events (`[retention]`), in small transactions.
//!
//! A turn is removed as a whole: its messages, steps, calls, deliveries and sub-agents. Everything
//! that open work refers to stays: turns of a session with open work, pending deliveries, reports
//! of lost deliveries that no turn has shown yet, and commands that wait. Memories and costs stay
//! without their turn. The audit table stays as it is.

use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, TurnId};
use rusqlite::params;

use crate::rows::{self, turns::OPEN_TURN};
use crate::tx::{Db, Result, Tx};
use crate::{Durability, SqliteStore, history};

/// Number of rows that one transaction looks at, so that other writes wait only shortly.
pub(crate) const BATCH: i64 = 50;
/// Results up to this size in bytes stay, because the note that replaces one is as long.
const SMALL_RESULT: i64 = 256;
/// The result of a call, as the model reads it, after its removal.
pub(crate) const REMOVED: &str = r#"{"removed":"this result was removed because it was old"}"#;

/// The turns of a session whose next turn may still need the past as it is.
pub(crate) const HAS_OPEN_WORK: &str = "EXISTS (SELECT 1 FROM turns AS open WHERE open.session = ?1 \
        AND (open.state = 'queued' OR open.state = 'running' OR open.state = 'waiting')) \
    OR EXISTS (SELECT 1 FROM inbound WHERE session = ?1 AND state = 'queued' AND turn IS NULL) \
    OR EXISTS (SELECT 1 FROM sessions WHERE id = ?1 AND compact_for IS NOT NULL)";

/// A part of the log from which old rows are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldRows {
    /// Results of tools, whole results that a model got cut, and the reasoning of models.
    Results,
    /// Turns with their messages.
    Turns,
    /// Commands, and messages that no turn answered.
    Messages,
    /// Deliveries of no turn.
    Deliveries,
    /// Rows of the event log, even those that a subscriber has not confirmed.
    Events,
}

/// The outcome of one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemovedBatch {
    /// Number of removed turns, results, messages or deliveries.
    pub removed: u64,
    /// The row after which the next transaction continues; `None` at the end.
    pub next: Option<i64>,
}

/// A kind of content with its own limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentKind {
    /// Messages, replies and everything else that turns hold.
    Messages,
    /// Results of tools.
    Results,
}

impl SqliteStore {
    /// Removes the next rows of a part that are older than `before`, in one transaction.
    ///
    /// # Errors
    /// [`StoreError`](avocet_protocol::store::StoreError) as for any write; nothing was removed then.
    pub async fn remove_old(
        &self,
        part: OldRows,
        after: i64,
        before: Timestamp,
    ) -> Result<RemovedBatch> {
        self.write("remove-old", Durability::Process, move |tx| {
            tx.changed.past.set(true);
            match part {
                OldRows::Results => each_turn(tx, after, before, remove_results),
                OldRows::Turns => each_turn(tx, after, before, remove_turn),
                OldRows::Messages => remove_messages(tx, after, before),
                OldRows::Deliveries => remove_deliveries(tx, after, before),
                OldRows::Events => remove_events(tx, before),
            }
        })
        .await
    }

    /// Returns the time before which content has to be removed so that the rest of its kind has at
    /// most this many bytes; `None` if all of it fits. The newest turn stays in any case.
    ///
    /// # Errors
    /// [`StoreError`](avocet_protocol::store::StoreError) if the log cannot be read.
    pub async fn excess_before(&self, kind: ContentKind, bytes: u64) -> Result<Option<Timestamp>> {
        self.read(move |db| excess_before(db, kind, bytes)).await
    }

    /// Returns some conversations of one request that were last used before a time, in the order of
    /// their ids, behind `after`.
    ///
    /// # Errors
    /// [`StoreError`](avocet_protocol::store::StoreError) if the log cannot be read.
    pub async fn old_one_offs(&self, after: &str, before: Timestamp) -> Result<Vec<SessionId>> {
        let after = after.to_owned();
        self.read(move |db| {
            db.query_rows(
                "SELECT id FROM sessions WHERE id > ?1 AND id GLOB ?2 AND used_at < ?3 \
                 ORDER BY id LIMIT ?4",
                params![after, SessionId::ONE_OFF_PATTERN, before.0, BATCH],
                |row| rows::parse_column(row, "id"),
            )
        })
        .await
    }

    /// Gives free pages at the end of the file back to the disk, at most this many. Returns the
    /// number of free pages that are left. Without effect until `avocet db vacuum` ran once.
    ///
    /// # Errors
    /// [`StoreError`](avocet_protocol::store::StoreError) as for any write.
    pub async fn shrink_file(&self, pages: u32) -> Result<u64> {
        self.write("shrink", Durability::Process, move |tx| {
            if tx.db.query_one("PRAGMA auto_vacuum", (), |row| row.get::<_, i64>(0))? != 2 {
                return Ok(0);
            }
            tx.db.query_rows(&format!("PRAGMA incremental_vacuum({pages})"), (), |_| Ok(()))?;
            // Counts the transaction, although no row has changed.
            tx.change_rows("UPDATE meta SET epoch = epoch WHERE only = 1", ())?;
            tx.db.query_one("PRAGMA freelist_count", (), |row| row.get(0))
        })
        .await
    }
}

/// Runs `remove` for the next root turns that began before a time.
fn each_turn(
    tx: &Tx<'_>,
    after: i64,
    before: Timestamp,
    remove: impl Fn(&Tx<'_>, TurnId) -> Result<u64>,
) -> Result<RemovedBatch> {
    let turns = tx.db.query_rows(
        "SELECT id, session, started_at FROM turns WHERE id > ?1 AND parent IS NULL \
         ORDER BY id LIMIT ?2",
        [after, BATCH],
        |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?)),
    )?;
    let mut batch = RemovedBatch { removed: 0, next: None };
    for (turn, session, started_at) in &turns {
        // Numbers rise with time.
        if *started_at >= before.0 {
            return Ok(RemovedBatch { next: None, ..batch });
        }
        let is_busy = tx.db.query_one(&format!("SELECT {HAS_OPEN_WORK}"), [session], |row| {
            row.get::<_, bool>(0)
        })?;
        if !is_busy && !is_referenced(tx.db, *turn)? {
            batch.removed += remove(tx, TurnId(*turn))?;
        }
    }
    let is_last = turns.len() < usize::try_from(BATCH).unwrap_or_default();
    let last = turns.last().map(|(turn, ..)| *turn);
    Ok(RemovedBatch { next: last.filter(|_| !is_last), ..batch })
}

/// The turn with its sub-agents.
const TREE: &str = "WITH RECURSIVE tree (id) AS (SELECT ?1 UNION ALL \
    SELECT turns.id FROM tree JOIN turns ON turns.parent = tree.id)";

/// Returns `true` if a delivery, a sub-agent, a question or a report of this turn is still open.
fn is_referenced(db: Db<'_>, turn: i64) -> Result<bool> {
    let sql = format!(
        "{TREE} SELECT \
         EXISTS (SELECT 1 FROM tree JOIN turns USING (id) \
             WHERE {OPEN_TURN}) \
         OR EXISTS (SELECT 1 FROM tree JOIN outbox ON outbox.turn = tree.id \
             WHERE (outbox.state = 'pending' OR outbox.state = 'sending' \
                 OR outbox.state = 'unknown' OR outbox.state = 'preview')) \
         OR EXISTS (SELECT 1 FROM tree JOIN waits ON waits.turn = tree.id WHERE resolved = 0) \
         OR EXISTS (SELECT 1 FROM tree JOIN undelivered ON undelivered.said_by = tree.id \
             WHERE undelivered.turn IS NULL)"
    );
    db.query_one(&sql, [turn], |row| row.get(0))
}

/// Replaces the results of a turn's calls. The calls stay, so that the past shows that they were
/// made.
fn remove_results(tx: &Tx<'_>, turn: TurnId) -> Result<u64> {
    remove_kept_results(tx, turn)?;
    tx.change_rows(
        &format!(
            "{TREE} UPDATE steps SET reasoning = NULL WHERE turn IN tree AND reasoning IS NOT NULL"
        ),
        [turn.0],
    )?;
    let replaced = tx.change_rows(
        &format!(
            "{TREE} UPDATE calls SET result = ?2, evidence = NULL WHERE turn IN tree \
             AND state = 'finished' AND octet_length(result) > ?3"
        ),
        params![turn.0, REMOVED, SMALL_RESULT],
    )?;
    Ok(replaced as u64)
}

fn remove_kept_results(tx: &Tx<'_>, turn: TurnId) -> Result<()> {
    let sql = format!("{TREE} SELECT turn, step, ordinal FROM tree JOIN calls ON turn = tree.id");
    let calls = tx.db.query_rows(&sql, [turn.0], |row| {
        Ok(CallId { turn: TurnId(row.get(0)?), step: row.get(1)?, ordinal: row.get(2)? })
    })?;
    for call in calls {
        tx.change_rows("DELETE FROM kept_results WHERE handle = ?1", [call.to_string()])?;
    }
    Ok(())
}

/// Removes a turn with everything that belongs to it.
pub(crate) fn remove_turn(tx: &Tx<'_>, turn: TurnId) -> Result<u64> {
    history::forget_turn(tx, turn)?;
    remove_kept_results(tx, turn)?;
    // In the order of the references between the tables.
    for statement in [
        "UPDATE memories SET turn = NULL WHERE turn IN tree",
        "UPDATE memories SET message = NULL WHERE message IN \
            (SELECT id FROM inbound WHERE turn IN tree)",
        "UPDATE usage SET child = NULL WHERE child IN tree",
        "UPDATE usage SET turn = NULL WHERE turn IN tree",
        "DELETE FROM failed_requests WHERE turn IN tree",
        "DELETE FROM jobs WHERE message IN (SELECT id FROM inbound WHERE turn IN tree)",
        "DELETE FROM undelivered WHERE (turn IN tree OR said_by IN tree)",
        "DELETE FROM reports WHERE turn IN tree",
        "DELETE FROM outbox WHERE turn IN tree",
        "DELETE FROM waits WHERE turn IN tree",
        "DELETE FROM calls WHERE turn IN tree",
        "DELETE FROM steps WHERE turn IN tree",
        "DELETE FROM inbound WHERE turn IN tree",
        "DELETE FROM history_pending WHERE turn IN tree",
        "DELETE FROM turns WHERE id IN tree",
    ] {
        tx.change_rows(&format!("{TREE} {statement}"), [turn.0])?;
    }
    Ok(1)
}

fn remove_messages(tx: &Tx<'_>, after: i64, before: Timestamp) -> Result<RemovedBatch> {
    let removable = "turn IS NULL AND state IN ('done', 'dead') \
        AND id NOT IN (SELECT message FROM jobs) \
        AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.id = inbound.session \
            AND compact_for IS NOT NULL)";
    let forget = "UPDATE memories SET message = NULL WHERE message = ?1";
    each_row(
        tx,
        &RowTable { name: "inbound", time: "received_at", removable, forget },
        after,
        before,
    )
}

fn remove_deliveries(tx: &Tx<'_>, after: i64, before: Timestamp) -> Result<RemovedBatch> {
    let removable = "turn IS NULL AND (state = 'sent' OR state = 'unconfirmed' OR state = 'dead') \
        AND NOT EXISTS (SELECT 1 FROM undelivered WHERE delivery = outbox.id AND turn IS NULL)";
    let forget = "DELETE FROM undelivered WHERE said_by IS NULL AND delivery = ?1";
    each_row(tx, &RowTable { name: "outbox", time: "created_at", removable, forget }, after, before)
}

fn remove_events(tx: &Tx<'_>, before: Timestamp) -> Result<RemovedBatch> {
    let limit = BATCH * 10;
    let removed = tx.change_rows(
        "DELETE FROM events WHERE at < ?1 AND seq IN (SELECT seq FROM events ORDER BY seq LIMIT ?2)",
        params![before.0, limit],
    )?;
    let is_last = removed < usize::try_from(limit).unwrap_or_default();
    Ok(RemovedBatch { removed: removed as u64, next: (!is_last).then_some(0) })
}

/// A table whose rows are removed one by one.
struct RowTable {
    name: &'static str,
    /// The column with the time of a row.
    time: &'static str,
    /// The condition of a row that nothing needs.
    removable: &'static str,
    /// Removes the references to the row.
    forget: &'static str,
}

fn each_row(tx: &Tx<'_>, table: &RowTable, after: i64, before: Timestamp) -> Result<RemovedBatch> {
    let RowTable { name, time, removable, forget } = table;
    // Most rows belong to turns, which are removed before.
    let limit = BATCH * 10;
    let rows = tx.db.query_rows(
        &format!("SELECT id, {time}, {removable} FROM {name} WHERE id > ?1 ORDER BY id LIMIT ?2"),
        [after, limit],
        |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, bool>(2)?)),
    )?;
    let mut batch = RemovedBatch { removed: 0, next: None };
    for (id, at, is_removable) in &rows {
        if *at >= before.0 {
            return Ok(batch);
        }
        if *is_removable {
            tx.change_rows(forget, [id])?;
            batch.removed +=
                tx.change_rows(&format!("DELETE FROM {name} WHERE id = ?1"), [id])? as u64;
        }
    }
    let is_last = rows.len() < usize::try_from(limit).unwrap_or_default();
    Ok(RemovedBatch { next: rows.last().map(|(id, ..)| *id).filter(|_| !is_last), ..batch })
}

/// The bytes of each root turn, the newest first. Sub-agents count for themselves, which moves the
/// limit by little.
fn turn_bytes(kind: ContentKind) -> &'static str {
    match kind {
        ContentKind::Results => {
            "SELECT turn, sum(octet_length(result)) AS bytes FROM calls \
             WHERE octet_length(result) > 256 GROUP BY turn ORDER BY turn DESC"
        }
        ContentKind::Messages => {
            "SELECT turn, sum(bytes) AS bytes FROM ( \
                SELECT turn, octet_length(content) AS bytes FROM inbound WHERE turn IS NOT NULL \
                UNION ALL SELECT turn, octet_length(content) FROM outbox WHERE turn IS NOT NULL \
                UNION ALL SELECT turn, octet_length(text) + coalesce(octet_length(reasoning), 0) \
                    FROM steps \
                UNION ALL SELECT turn, octet_length(arguments) + coalesce(octet_length(result), 0) \
                    FROM calls) \
             GROUP BY turn ORDER BY turn DESC"
        }
    }
}

fn excess_before(db: Db<'_>, kind: ContentKind, limit: u64) -> Result<Option<Timestamp>> {
    // The oldest turn that fits, but at least the newest one.
    let oldest_that_fits = || -> rusqlite::Result<Option<i64>> {
        let mut statement = db.connection.prepare(turn_bytes(kind))?;
        let (mut rows, mut sum, mut fits) = (statement.query(())?, 0, None);
        while let Some(row) = rows.next()? {
            sum += row.get::<_, u64>("bytes")?;
            let turn = row.get("turn")?;
            if sum > limit {
                return Ok(fits.or(Some(turn)));
            }
            fits = Some(turn);
        }
        Ok(None)
    };
    let Some(turn) = oldest_that_fits().map_err(|error| db.store_error(&error))? else {
        return Ok(None);
    };
    // Turns of the same moment stay.
    db.query_one("SELECT started_at FROM turns WHERE id = ?1", [turn], |row| {
        row.get(0).map(Timestamp)
    })
    .map(Some)
}
