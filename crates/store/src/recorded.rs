//! Reads a turn with everything that a replay needs.

use avocet_protocol::ids::TurnId;
use avocet_protocol::model::{Money, Spent, Usage};
use avocet_protocol::turn::{LoggedCall, TurnRecord};
use serde_json::Value;

use crate::SqliteStore;
use crate::retention::REMOVED;
use crate::turn_record::read_turn_if_any;
use crate::tx::{Db, Result};

/// A turn in the log, and its usage.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedTurn {
    /// The turn.
    pub turn: TurnRecord,
    /// Each answer of a model for the turn, in order. Those for its sub-agents are left out.
    pub spent: Vec<Spent>,
    /// `true` if a result of its calls was removed because it was old.
    pub has_removed_results: bool,
    /// `true` if `/new` came after the turn, so that the log no longer shows the conversation before
    /// it to a model.
    pub is_forgotten: bool,
}

impl SqliteStore {
    /// Returns a turn with its usage; `None` if the log has no such turn.
    ///
    /// # Errors
    /// [`StoreError`](avocet_protocol::store::StoreError) if the log cannot be read.
    pub async fn recorded_turn(&self, id: TurnId) -> Result<Option<RecordedTurn>> {
        self.read(move |db| recorded_turn(db, id)).await
    }
}

fn recorded_turn(db: Db<'_>, id: TurnId) -> Result<Option<RecordedTurn>> {
    let Some(turn) = read_turn_if_any(db, id)? else { return Ok(None) };
    let spent = db.query_rows(
        "SELECT model, input, output, cached, cache_written, cost FROM usage \
         WHERE (turn = ?1 AND child IS NULL) OR child = ?1 ORDER BY id",
        [id.0],
        |row| {
            let (input, output) = (row.get("input")?, row.get("output")?);
            let (cached, cache_written) = (row.get("cached")?, row.get("cache_written")?);
            Ok(Spent {
                model: row.get("model")?,
                usage: Usage { input, output, cached, cache_written },
                cost: row.get::<_, Option<u64>>("cost")?.map(Money),
            })
        },
    )?;
    let is_forgotten = db.query_one(
        "SELECT coalesce((SELECT max(id) FROM inbound WHERE turn = ?1) \
             <= (SELECT fresh_from FROM sessions WHERE id = turns.session), 0) \
         FROM turns WHERE id = ?1",
        [id.0],
        |row| row.get(0),
    )?;
    let mut calls = turn.steps.iter().flat_map(|step| &step.calls);
    let has_removed_results = calls.any(is_removed);
    Ok(Some(RecordedTurn { turn, spent, has_removed_results, is_forgotten }))
}

fn is_removed(call: &LoggedCall) -> bool {
    let removed = serde_json::from_str::<Value>(REMOVED).ok();
    call.result().map(|result| &result.value) == removed.as_ref()
}
