//! Consolidations of memories. The edits of a run are applied in the transaction that ends the run.

use async_trait::async_trait;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{ConsolidationId, MemoryChangeId};
use avocet_protocol::store::{
    Backlog, ChangedMemory, Consolidation, ConsolidationEnd, ConsolidationState, Consolidations,
    EditRefused, Memory, MemoryAuthor, MemoryEdit, MemoryScope, MemoryVersion, NewConsolidation,
    StoreError,
};
use avocet_text::match_query;
use rusqlite::{Row, params};

use crate::memories::{MEMORY, forget_active, memory_from_row, read_memory, rewrite_memory};
use crate::rows::{RowResult, parse_column, word_column};
use crate::tx::{Db, Result, Tx};
use crate::{Durability, SqliteStore};

/// Condition for the changes of `memories` that no run has covered.
const UNCOVERED: &str = "memory_changes.author <> 'consolidation' \
    AND memory_changes.kind <> 'undone' AND memory_changes.id > coalesce( \
        (SELECT max(covered_to) FROM consolidations WHERE consolidations.scope = memories.scope), 0)";

/// Condition for `memories` whose last change is not undone by a person.
const NOT_UNDONE: &str = "(SELECT kind FROM memory_changes WHERE memory = memories.id \
    ORDER BY id DESC LIMIT 1) <> 'undone'";

#[async_trait]
impl Consolidations for SqliteStore {
    async fn backlogs(&self) -> Result<Vec<Backlog>> {
        if self.stop.now().is_some() {
            return Ok(Vec::new());
        }
        self.read(|db| {
            db.query_rows(
                &format!(
                    "SELECT memories.scope AS scope, count(DISTINCT memories.id) AS found, \
                         (SELECT iif(state IN ('begun', 'failed'), began_at, NULL) \
                          FROM consolidations WHERE consolidations.scope = memories.scope \
                          ORDER BY id DESC LIMIT 1) AS failed_at \
                     FROM memory_changes JOIN memories ON memories.id = memory \
                     WHERE {UNCOVERED} AND {NOT_UNDONE} AND memories.state = 'active' \
                     GROUP BY memories.scope ORDER BY found DESC, memories.scope"
                ),
                (),
                |row| {
                    Ok(Backlog {
                        scope: parse_column(row, "scope")?,
                        memories: row.get("found")?,
                        failed_at: row.get::<_, Option<i64>>("failed_at")?.map(Timestamp),
                    })
                },
            )
        })
        .await
    }

    async fn backlog_of(&self, scope: &MemoryScope, limit: u32) -> Result<Vec<ChangedMemory>> {
        let scope = scope.to_string();
        self.read(move |db| {
            db.query_rows(
                &format!(
                    "SELECT {MEMORY}, max(memory_changes.id) AS change \
                     FROM memories JOIN memory_changes ON memory = memories.id \
                     WHERE memories.scope = ?1 AND memories.state = 'active' AND {UNCOVERED} \
                         AND {NOT_UNDONE} \
                     GROUP BY memories.id ORDER BY change LIMIT ?2"
                ),
                params![scope, limit],
                |row| {
                    let change = MemoryChangeId(row.get("change")?);
                    Ok(ChangedMemory { memory: memory_from_row(row)?, change })
                },
            )
        })
        .await
    }

    async fn related_memories(
        &self,
        scope: &MemoryScope,
        query: &str,
        limit: u32,
    ) -> Result<Vec<Memory>> {
        let Some(query) = match_query(query) else { return Ok(Vec::new()) };
        let scope = scope.to_string();
        self.read(move |db| {
            db.query_rows(
                &format!(
                    "SELECT {MEMORY} FROM memories_index \
                         JOIN memories ON memories.id = memories_index.rowid \
                     WHERE memories_index MATCH ?2 AND memories.scope = ?1 AND {NOT_UNDONE} \
                     ORDER BY bm25(memories_index), memories.id DESC LIMIT ?3"
                ),
                params![scope, query, limit],
                memory_from_row,
            )
        })
        .await
    }

    async fn begin_consolidation(&self, new: &NewConsolidation) -> Result<Option<ConsolidationId>> {
        let NewConsolidation { scope, day_start, most_runs } = new.clone();
        self.write("begin-consolidation", Durability::Synced, move |tx| {
            let begun = tx.insert(
                "INSERT INTO consolidations (scope, began_at, state) SELECT ?1, ?2, 'begun' \
                 WHERE (SELECT count(*) FROM consolidations WHERE began_at >= ?3) < ?4",
                params![scope.to_string(), tx.now.0, day_start.0, most_runs],
            )?;
            Ok(begun.map(ConsolidationId))
        })
        .await
    }

    async fn end_consolidation(
        &self,
        id: ConsolidationId,
        end: &ConsolidationEnd,
    ) -> Result<Vec<Result<Vec<MemoryChangeId>, EditRefused>>> {
        let end = end.clone();
        self.write("end-consolidation", Durability::Synced, move |tx| finish_run(tx, id, &end))
            .await
    }

    async fn consolidations(&self, limit: u32) -> Result<Vec<Consolidation>> {
        self.read(move |db| last_runs(db, limit)).await
    }

    async fn last_message(&self) -> Result<Option<Timestamp>> {
        self.read(|db| {
            let last = "SELECT received_at FROM inbound WHERE session NOT LIKE 'schedule:%' \
                AND session NOT LIKE 'job:%' ORDER BY id DESC LIMIT 1";
            db.query_row(last, (), |row| row.get(0).map(Timestamp))
        })
        .await
    }

    async fn memories_changed(&self) {
        self.changed.consolidations.notified().await;
    }
}

/// Returns the last runs, newest first.
pub(crate) fn last_runs(db: Db<'_>, limit: u32) -> Result<Vec<Consolidation>> {
    db.query_rows(
        "SELECT id, scope, began_at, state, applied, error FROM consolidations \
         ORDER BY id DESC LIMIT ?1",
        [limit],
        run,
    )
}

fn run(row: &Row<'_>) -> RowResult<Consolidation> {
    Ok(Consolidation {
        id: ConsolidationId(row.get("id")?),
        scope: parse_column(row, "scope")?,
        began_at: Timestamp(row.get("began_at")?),
        state: word_column(row, "state", &ConsolidationState::ALL, ConsolidationState::as_str)?,
        applied: row.get("applied")?,
        error: row.get("error")?,
    })
}

type EditResult = Result<Vec<MemoryChangeId>, EditRefused>;

/// Ends a run. A run ends once, so its edits are applied once.
fn finish_run(tx: &Tx<'_>, id: ConsolidationId, end: &ConsolidationEnd) -> Result<Vec<EditResult>> {
    let ConsolidationEnd { state, covered_to, edits, error } = end;
    let scope = tx.db.query_row(
        "SELECT scope FROM consolidations WHERE id = ?1 AND state = 'begun'",
        [id.0],
        |row| parse_column::<MemoryScope>(row, "scope"),
    )?;
    let scope = scope.ok_or_else(|| StoreError::Stale(id.to_string()))?;
    let results: Vec<EditResult> =
        edits.iter().map(|edit| apply_edit(tx, &scope, edit)).collect::<Result<_>>()?;
    let applied = results.iter().filter(|result| result.is_ok()).count();
    tx.update_one(
        id,
        "UPDATE consolidations SET state = ?2, covered_to = ?3, applied = ?4, error = ?5 \
         WHERE id = ?1",
        params![id.0, state.as_str(), covered_to.map(|change| change.0), applied, error],
    )?;
    Ok(results)
}

/// Applies an edit as a whole, or leaves it out.
fn apply_edit(tx: &Tx<'_>, scope: &MemoryScope, edit: &MemoryEdit) -> Result<EditResult> {
    let mut found = Vec::new();
    for version in edit.memories() {
        match unchanged_memory(tx.db, scope, version)? {
            Ok(memory) => found.push(memory),
            Err(refused) => return Ok(Err(refused)),
        }
    }
    if let Err(refused) = edit.check(&found) {
        return Ok(Err(refused));
    }
    let author = &MemoryAuthor::Consolidation;
    let changes = match edit {
        MemoryEdit::Replace { .. } => vec![forget_active(tx, &found[0], author)?],
        MemoryEdit::Date { text, .. } => vec![rewrite_memory(tx, &found[0], text, author)?],
        MemoryEdit::Merge { text, .. } => {
            found.sort_by_key(|memory| (memory.source.written_at, memory.id));
            let Some((newest, others)) = found.split_last() else { return Ok(Ok(Vec::new())) };
            let mut changes = vec![rewrite_memory(tx, newest, text, author)?];
            for other in others {
                changes.push(forget_active(tx, other, author)?);
            }
            changes
        }
    };
    Ok(Ok(changes))
}

/// Returns the memory if it is as it was read.
fn unchanged_memory(
    db: Db<'_>,
    scope: &MemoryScope,
    MemoryVersion { id, revision }: MemoryVersion,
) -> Result<Result<Memory, EditRefused>> {
    let unchanged =
        read_memory(db, id)?.filter(|memory| memory.revision == revision && !memory.forgotten);
    let Some(memory) = unchanged else { return Ok(Err(EditRefused::Changed(id))) };
    if memory.scope != *scope {
        return Ok(Err(EditRefused::OtherScope(id)));
    }
    let undone = db.query_row(
        &format!("SELECT 1 FROM memories WHERE id = ?1 AND NOT {NOT_UNDONE}"),
        [id.0],
        |_| Ok(()),
    )?;
    Ok(if undone.is_some() { Err(EditRefused::Undone(id)) } else { Ok(memory) })
}
