//! The long-term memory: the present state in `memories`, every change in `memory_changes`, and a
//! full-text index that triggers keep.

use async_trait::async_trait;
use avocet_protocol::access::{PersonId, Trust};
use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, MemoryChangeId, MemoryId, MessageId, TurnId};
use avocet_protocol::store::{
    FoundMemory, Memories, Memory, MemoryAuthor, MemoryChange, MemoryChangeKind, MemoryScope,
    MemorySource, MemoryText, NewMemory, ScopeFilter, StoreError, UndoneChange, WordCounts,
    WrittenMemory,
};
use avocet_text::{index_text, match_query};
use rusqlite::{Row, params};

use crate::rows::turns::ANCESTORS;
use crate::rows::{self, RowResult, parse_column, parsed_if_any, to_json, word_column};
use crate::tx::{Db, Result, Tx};
use crate::{Durability, SqliteStore};

/// Columns that [`memory_from_row`] reads.
pub(crate) const MEMORY: &str = "memories.id, memories.scope, text, memories.trust, state, revision, \
    memories.session, memories.turn, message, said_by, written_at";

/// Condition for the scopes in `?1`, a JSON list; NULL includes all.
pub(crate) const IN_SCOPES: &str =
    "(?1 IS NULL OR memories.scope IN (SELECT value FROM json_each(?1)))";

#[async_trait]
impl Memories for SqliteStore {
    async fn search_memories(
        &self,
        scopes: &ScopeFilter,
        query: &str,
        limit: u32,
    ) -> Result<Vec<FoundMemory>> {
        let (scopes, query) = (in_json(scopes)?, match_query(query));
        self.read(move |db| match query {
            None => db.query_rows(
                &format!(
                    "SELECT {MEMORY}, 0.0 AS score FROM memories \
                     WHERE {IN_SCOPES} AND state = 'active' ORDER BY id DESC LIMIT ?2"
                ),
                params![scopes, limit],
                found_from_row,
            ),
            Some(query) => db.query_rows(
                &format!(
                    "SELECT {MEMORY}, score FROM (\
                         SELECT memories.id AS best, -bm25(memories_index) AS score \
                         FROM memories_index JOIN memories ON memories.id = memories_index.rowid \
                         WHERE memories_index MATCH ?3 AND {IN_SCOPES} \
                         ORDER BY score DESC, best DESC LIMIT ?2) \
                     JOIN memories ON memories.id = best ORDER BY score DESC, best DESC"
                ),
                params![scopes, limit, query],
                found_from_row,
            ),
        })
        .await
    }

    async fn memory(&self, id: MemoryId) -> Result<Option<Memory>> {
        self.read(move |db| read_memory(db, id)).await
    }

    async fn same_memory(&self, scope: &MemoryScope, text: &str) -> Result<Option<Memory>> {
        let (scope, text) = (scope.clone(), text.to_owned());
        self.read(move |db| find_same(db, &scope, &text)).await
    }

    async fn memory_words(&self, words: &[String]) -> Result<WordCounts> {
        let (words, count) = (words.to_vec(), self.changed.memory_count.begin_read());
        self.read(move |db| {
            let containing = words.iter().map(|word| {
                let counted = "SELECT doc FROM memories_words WHERE term = ?1";
                Ok(db.query_row(counted, [word], |row| row.get(0))?.unwrap_or_default())
            });
            let containing = containing.collect::<Result<_>>()?;
            let all = "SELECT count(*) FROM memories WHERE state = 'active'";
            let memories = count.get_or_count(|| db.query_one(all, (), |row| row.get(0)))?;
            Ok(WordCounts { memories, containing })
        })
        .await
    }

    async fn memory_changes(
        &self,
        scopes: &ScopeFilter,
        memory: Option<MemoryId>,
        limit: u32,
    ) -> Result<Vec<MemoryChange>> {
        let scopes = in_json(scopes)?;
        self.read(move |db| {
            db.query_rows(
                &format!(
                    "SELECT {CHANGE} WHERE {IN_SCOPES} AND (?2 IS NULL OR memory = ?2) \
                     ORDER BY memory_changes.id DESC LIMIT ?3"
                ),
                params![scopes, memory.map(|memory| memory.0), limit],
                change_from_row,
            )
        })
        .await
    }

    async fn write_memory(&self, new: &NewMemory, author: &MemoryAuthor) -> Result<WrittenMemory> {
        let (new, author) = (new.clone(), author.clone());
        self.write("write-memory", Durability::Synced, move |tx| write(tx, &new, &author)).await
    }

    async fn forget_memory(&self, id: MemoryId, author: &MemoryAuthor) -> Result<bool> {
        let author = author.clone();
        self.write("forget-memory", Durability::Synced, move |tx| forget_memory(tx, id, &author))
            .await
    }

    async fn undo_memory_change(
        &self,
        change: MemoryChangeId,
        author: &MemoryAuthor,
    ) -> Result<UndoneChange> {
        let author = author.clone();
        self.write("undo-memory-change", Durability::Synced, move |tx| {
            undo_change(tx, change, &author)
        })
        .await
    }
}

/// Writes a new memory for a call. The trust is that of the call's request; the author is the person
/// who wrote the last message of the root turn.
pub(crate) fn remember_text(
    tx: &Tx<'_>,
    call: CallId,
    scope: &MemoryScope,
    text: &str,
) -> Result<()> {
    let id = tx.insert(
        &format!(
            "WITH RECURSIVE {ANCESTORS}, asked AS (\
                 SELECT id, channel || ':' || account || ':' || sender AS person FROM inbound \
                 WHERE turn IN (SELECT turn FROM line) ORDER BY id DESC LIMIT 1) \
             INSERT INTO memories \
                 (scope, text, words, trust, session, turn, message, said_by, written_at) \
             SELECT ?3, ?4, ?5, (SELECT trust FROM steps WHERE turn = ?1 AND number = ?2), \
                 (SELECT session FROM turns WHERE id = ?1), ?1, (SELECT id FROM asked), \
                 (SELECT person FROM asked), ?6"
        ),
        params![call.turn.0, call.step, scope.to_string(), text, index_text(text), tx.now.0],
    )?;
    let Some(written) = read_memory(tx.db, MemoryId(id.unwrap_or_default()))? else {
        return Ok(());
    };
    let after = MemoryText { text: written.text, trust: written.trust };
    let change = NewChange { kind: MemoryChangeKind::Written, before: None, after: Some(after) };
    add_change(tx, written.id, &MemoryAuthor::Call(call), &change).map(drop)
}

/// Writes a memory of a person, unless its scope has one with the same words.
pub(crate) fn write(tx: &Tx<'_>, new: &NewMemory, author: &MemoryAuthor) -> Result<WrittenMemory> {
    let NewMemory { scope, text, trust, session, said_by } = new;
    if let Some(memory) = find_same(tx.db, scope, text)? {
        return Ok(WrittenMemory { memory, is_new: false });
    }
    let id = tx.insert(
        "INSERT INTO memories (scope, text, words, trust, session, said_by, written_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            scope.to_string(),
            text,
            index_text(text),
            trust.as_str(),
            session.as_ref().map(SessionId::as_str),
            said_by.as_ref().map(ToString::to_string),
            tx.now.0,
        ],
    )?;
    let id = MemoryId(id.unwrap_or_default());
    let after = MemoryText { text: text.clone(), trust: *trust };
    let change = NewChange { kind: MemoryChangeKind::Written, before: None, after: Some(after) };
    add_change(tx, id, author, &change)?;
    let gone = || StoreError::Internal(format!("{id} was written and is missing"));
    Ok(WrittenMemory { memory: read_memory(tx.db, id)?.ok_or_else(gone)?, is_new: true })
}

/// Gives an active memory another text. Its trust stays: the author may have left parts of it as
/// they were.
pub(crate) fn rewrite_memory(
    tx: &Tx<'_>,
    memory: &Memory,
    text: &str,
    author: &MemoryAuthor,
) -> Result<MemoryChangeId> {
    let (id, before) = (memory.id, text_of(memory));
    let after = MemoryText { text: text.to_owned(), trust: memory.trust };
    set_text(tx, id, Some(&after))?;
    let kind = MemoryChangeKind::Written;
    add_change(tx, id, author, &NewChange { kind, before: Some(before), after: Some(after) })
}

pub(crate) fn forget_active(
    tx: &Tx<'_>,
    memory: &Memory,
    author: &MemoryAuthor,
) -> Result<MemoryChangeId> {
    set_text(tx, memory.id, None)?;
    let (kind, before) = (MemoryChangeKind::Forgotten, Some(text_of(memory)));
    add_change(tx, memory.id, author, &NewChange { kind, before, after: None })
}

fn text_of(memory: &Memory) -> MemoryText {
    MemoryText { text: memory.text.clone(), trust: memory.trust }
}

/// Forgets a memory. Returns `false` if it is not active.
pub(crate) fn forget_memory(tx: &Tx<'_>, id: MemoryId, author: &MemoryAuthor) -> Result<bool> {
    let Some(memory) = read_memory(tx.db, id)?.filter(|memory| !memory.forgotten) else {
        return Ok(false);
    };
    forget_active(tx, &memory, author)?;
    Ok(true)
}

/// Undoes the last change of a memory.
fn undo_change(tx: &Tx<'_>, id: MemoryChangeId, author: &MemoryAuthor) -> Result<UndoneChange> {
    let found = tx.db.query_row(
        &format!("SELECT {CHANGE} WHERE memory_changes.id = ?1"),
        [id.0],
        change_from_row,
    )?;
    let Some(undone) = found else { return Ok(UndoneChange::Unknown) };
    let last = "SELECT max(id) FROM memory_changes WHERE memory = ?1";
    let last = tx.db.query_one(last, [undone.memory.0], |row| row.get(0).map(MemoryChangeId))?;
    if last != id {
        return Ok(UndoneChange::ChangedSince(last));
    }
    let (kind, before, after) = (MemoryChangeKind::Undone, undone.after, undone.before);
    set_text(tx, undone.memory, after.as_ref())?;
    add_change(tx, undone.memory, author, &NewChange { kind, before, after })?;
    let memory = read_memory(tx.db, undone.memory)?;
    Ok(memory.map_or(UndoneChange::Unknown, |memory| UndoneChange::Done(Box::new(memory))))
}

/// Gives a memory a text; `None` forgets the memory.
pub(crate) fn set_text(tx: &Tx<'_>, id: MemoryId, text: Option<&MemoryText>) -> Result<()> {
    match text {
        None => tx.update_one(
            id,
            "UPDATE memories SET state = 'forgotten', revision = revision + 1 WHERE id = ?1",
            [id.0],
        ),
        Some(MemoryText { text, trust }) => tx.update_one(
            id,
            "UPDATE memories SET state = 'active', revision = revision + 1, text = ?2, words = ?3, \
                 trust = ?4 WHERE id = ?1",
            params![id.0, text, index_text(text), trust.as_str()],
        ),
    }
}

pub(crate) struct NewChange {
    pub(crate) kind: MemoryChangeKind,
    pub(crate) before: Option<MemoryText>,
    pub(crate) after: Option<MemoryText>,
}

/// Adds a change, and returns its number.
pub(crate) fn add_change(
    tx: &Tx<'_>,
    memory: MemoryId,
    author: &MemoryAuthor,
    change: &NewChange,
) -> Result<MemoryChangeId> {
    tx.changed.memories.set(true);
    let NewChange { kind, before, after } = change;
    let (before, after) = (before.as_ref(), after.as_ref());
    let id = tx.insert(
        "INSERT INTO memory_changes \
             (memory, at, author, kind, text_before, trust_before, text_after, trust_after) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            memory.0,
            tx.now.0,
            author.to_string(),
            kind.as_str(),
            before.map(|before| &before.text),
            before.map(|before| before.trust.as_str()),
            after.map(|after| &after.text),
            after.map(|after| after.trust.as_str()),
        ],
    )?;
    tx.changed.memories.set(true);
    Ok(MemoryChangeId(id.unwrap_or_default()))
}

pub(crate) fn in_json(scopes: &ScopeFilter) -> Result<Option<String>> {
    match scopes {
        ScopeFilter::All => Ok(None),
        ScopeFilter::Only(scopes) => to_json(scopes).map(Some),
    }
}

/// Returns the active memory of a scope with the same words.
fn find_same(db: Db<'_>, scope: &MemoryScope, text: &str) -> Result<Option<Memory>> {
    db.query_row(
        &format!(
            "SELECT {MEMORY} FROM memories WHERE scope = ?1 AND state = 'active' \
                 AND substr(words, 1, 100) = substr(?2, 1, 100) AND words = ?2 \
             ORDER BY id LIMIT 1"
        ),
        [scope.to_string(), index_text(text)],
        memory_from_row,
    )
}

pub(crate) fn read_memory(db: Db<'_>, id: MemoryId) -> Result<Option<Memory>> {
    db.query_row(&format!("SELECT {MEMORY} FROM memories WHERE id = ?1"), [id.0], memory_from_row)
}

pub(crate) fn memory_from_row(row: &Row<'_>) -> RowResult<Memory> {
    let state: String = row.get("state")?;
    Ok(Memory {
        id: MemoryId(row.get("id")?),
        scope: parse_column(row, "scope")?,
        text: row.get("text")?,
        trust: rows::trust_column(row, "trust")?,
        source: MemorySource {
            session: parsed_if_any(row, "session")?,
            turn: row.get::<_, Option<i64>>("turn")?.map(TurnId),
            message: row.get::<_, Option<i64>>("message")?.map(MessageId),
            said_by: parsed_if_any::<PersonId>(row, "said_by")?,
            written_at: Timestamp(row.get("written_at")?),
        },
        revision: row.get("revision")?,
        forgotten: state == "forgotten",
    })
}

fn found_from_row(row: &Row<'_>) -> RowResult<FoundMemory> {
    Ok(FoundMemory { memory: memory_from_row(row)?, score: row.get("score")?, similarity: None })
}

/// Columns and tables that [`change_from_row`] reads.
const CHANGE: &str = "memory_changes.id, memory, memories.scope, at, author, kind, text_before, \
    trust_before, text_after, trust_after \
    FROM memory_changes JOIN memories ON memories.id = memory";

fn change_from_row(row: &Row<'_>) -> RowResult<MemoryChange> {
    Ok(MemoryChange {
        id: MemoryChangeId(row.get("id")?),
        memory: MemoryId(row.get("memory")?),
        scope: parse_column(row, "scope")?,
        at: Timestamp(row.get("at")?),
        author: parse_column(row, "author")?,
        kind: word_column(row, "kind", &MemoryChangeKind::ALL, MemoryChangeKind::as_str)?,
        before: text_from_row(row, "text_before", "trust_before")?,
        after: text_from_row(row, "text_after", "trust_after")?,
    })
}

fn text_from_row(row: &Row<'_>, text: &str, trust: &str) -> RowResult<Option<MemoryText>> {
    let Some(text) = row.get::<_, Option<String>>(text)? else { return Ok(None) };
    let trust: Trust = rows::trust_column(row, trust)?;
    Ok(Some(MemoryText { text, trust }))
}
