//! The edits of people in the Markdown files of the memory. The texts that a person was shown are
//! found in `memory_changes`, so that the files themselves hold no state.

use std::collections::BTreeSet;

use async_trait::async_trait;
use avocet_protocol::access::Trust;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{MemoryChangeId, MemoryId};
use avocet_protocol::store::{
    ChangedScopes, EditedFile, FileEntry, Memory, MemoryAuthor, MemoryFiles, MemoryScope,
    NewMemory, ScopeMemories, ShownChange, ShownMemory, TakenEdit, TakenEditKind, conflict_text,
    visible_text,
};
use rusqlite::params;

use crate::memories::{MEMORY, forget_memory, memory_from_row, read_memory, rewrite_memory, write};
use crate::rows::parse_column;
use crate::tx::{Db, Result, Tx};
use crate::{Durability, SqliteStore};

#[async_trait]
impl MemoryFiles for SqliteStore {
    async fn changed_scopes(&self, after: MemoryChangeId) -> Result<ChangedScopes> {
        self.read(move |db| {
            let last = "SELECT coalesce(max(id), 0) FROM memory_changes";
            let last = db.query_one(last, (), |row| row.get(0).map(MemoryChangeId))?;
            let changed = "SELECT DISTINCT scope FROM memory_changes \
                JOIN memories ON memories.id = memory WHERE memory_changes.id > ?1 ORDER BY scope";
            let scopes = db.query_rows(changed, [after.0], |row| parse_column(row, "scope"))?;
            Ok(ChangedScopes { scopes, last })
        })
        .await
    }

    async fn memories_of(&self, scope: &MemoryScope) -> Result<ScopeMemories> {
        let scope = scope.to_string();
        self.read(move |db| {
            // The number is read first: a newer memory does no harm, but a missing one would count as
            // removed by the person.
            let last = "SELECT memory_changes.id, at FROM memory_changes \
                JOIN memories ON memories.id = memory WHERE memories.scope = ?1 \
                ORDER BY memory_changes.id DESC LIMIT 1";
            let last = db.query_row(last, [&scope], |row| {
                Ok(ShownChange { id: MemoryChangeId(row.get(0)?), at: Timestamp(row.get(1)?) })
            })?;
            let active = format!(
                "SELECT {MEMORY} FROM memories WHERE scope = ?1 AND state = 'active' ORDER BY id"
            );
            let memories = db.query_rows(&active, [&scope], memory_from_row)?;
            Ok(ScopeMemories { memories, last: last.unwrap_or(ShownChange::NONE) })
        })
        .await
    }

    async fn take_in(&self, file: &EditedFile) -> Result<Vec<TakenEdit>> {
        let file = file.clone();
        self.write("take-in-memories", Durability::Synced, move |tx| {
            FileEdits::from_file(&file).take_in(tx)
        })
        .await
    }

    async fn memories_changed(&self) {
        self.changed.memories.notified().await;
    }
}

/// The comparison of a file with the log.
struct FileEdits<'f> {
    file: &'f EditedFile,
    author: MemoryAuthor,
    /// The memories of the scope that the file has shown so far.
    shown: BTreeSet<MemoryId>,
    taken: Vec<TakenEdit>,
}

impl<'f> FileEdits<'f> {
    fn from_file(file: &'f EditedFile) -> Self {
        let author = MemoryAuthor::File(file.digest.clone());
        Self { file, author, shown: BTreeSet::new(), taken: Vec::new() }
    }

    fn take_in(mut self, tx: &Tx<'_>) -> Result<Vec<TakenEdit>> {
        let shown_to = self.shown_to(tx.db)?;
        if let Some(shown_to) = shown_to
            && self.was_taken_in(tx.db, shown_to)?
        {
            return Ok(Vec::new());
        }
        for entry in &self.file.entries {
            self.take_entry(tx, entry)?;
        }
        if let Some(shown_to) = shown_to {
            self.take_removals(tx, shown_to)?;
        }
        Ok(self.taken)
    }

    /// Returns the last change that the person was shown, if the log still has it.
    fn shown_to(&self, db: Db<'_>) -> Result<Option<MemoryChangeId>> {
        let Some(ShownChange { id, at }) = self.file.shown_to else { return Ok(None) };
        if id == ShownChange::NONE.id {
            return Ok(Some(id));
        }
        let same = "SELECT 1 FROM memory_changes WHERE id = ?1 AND at = ?2";
        Ok(db.query_row(same, [id.0, at.0], |_| Ok(()))?.map(|()| id))
    }

    /// Returns `true` if the log has edits of the same file content. The process may have died before
    /// it could replace the file.
    fn was_taken_in(&self, db: Db<'_>, shown_to: MemoryChangeId) -> Result<bool> {
        let edit = "SELECT 1 FROM memory_changes WHERE id > ?1 AND author = ?2 LIMIT 1";
        let edit = db.query_row(edit, params![shown_to.0, self.author.to_string()], |_| Ok(()))?;
        Ok(edit.is_some())
    }

    fn take_entry(&mut self, tx: &Tx<'_>, entry: &FileEntry) -> Result<()> {
        let FileEntry { shown, text } = entry;
        let Some(ShownMemory { id, revision, trust }) = *shown else {
            return self.add_memory(tx, text, Trust::Full, TakenEditKind::Added);
        };
        let Some(memory) = read_memory(tx.db, id)? else {
            return self.add_memory(tx, text, trust, TakenEditKind::Added);
        };
        let trust = trust.min(memory.trust);
        if memory.scope != self.file.scope {
            // An entry that was moved here from the file of another scope.
            return self.add_memory(tx, text, trust, TakenEditKind::Added);
        }
        let is_first = self.shown.insert(id);
        if is_first && memory.revision == revision && !memory.forgotten {
            return self.rewrite_memory(tx, &memory, text);
        }
        let since = shown_since(tx.db, id, revision)?;
        if since.contains(text) {
            return Ok(());
        }
        if is_first && !memory.forgotten && since.first() == Some(&visible_text(&memory.text)) {
            // A change was undone: the log has the text that the person was shown.
            return self.rewrite_memory(tx, &memory, text);
        }
        if !is_first {
            return self.add_memory(tx, text, trust, TakenEditKind::Added);
        }
        self.add_memory(tx, &conflict_text(id, text), trust, TakenEditKind::Conflict(id))
    }

    fn rewrite_memory(&mut self, tx: &Tx<'_>, memory: &Memory, text: &str) -> Result<()> {
        if visible_text(&memory.text) == text {
            return Ok(());
        }
        let id = memory.id;
        rewrite_memory(tx, memory, text, &self.author)?;
        self.note_edit(id, TakenEditKind::Changed);
        Ok(())
    }

    fn add_memory(
        &mut self,
        tx: &Tx<'_>,
        text: &str,
        trust: Trust,
        kind: TakenEditKind,
    ) -> Result<()> {
        let (scope, text) = (self.file.scope.clone(), text.to_owned());
        let new = NewMemory { scope, text, trust, session: None, said_by: None };
        let written = write(tx, &new, &self.author)?;
        if written.is_new {
            self.note_edit(written.memory.id, kind);
        }
        Ok(())
    }

    /// Forgets the memories that the person was shown and whose entries are missing. A memory that
    /// was changed meanwhile is kept.
    fn take_removals(&mut self, tx: &Tx<'_>, shown_to: MemoryChangeId) -> Result<()> {
        let active = tx.db.query_rows(
            "SELECT id, \
                 (SELECT text_after IS NOT NULL FROM memory_changes \
                     WHERE memory = memories.id AND id <= ?2 ORDER BY id DESC LIMIT 1) AS was_shown, \
                 (SELECT max(id) FROM memory_changes WHERE memory = memories.id) > ?2 AS is_newer \
             FROM memories WHERE scope = ?1 AND state = 'active' ORDER BY id",
            params![self.file.scope.to_string(), shown_to.0],
            |row| {
                let was_shown: Option<bool> = row.get("was_shown")?;
                Ok((MemoryId(row.get("id")?), was_shown == Some(true), row.get("is_newer")?))
            },
        )?;
        for (id, was_shown, is_newer) in active {
            if !was_shown || self.shown.contains(&id) {
                continue;
            }
            if is_newer {
                self.note_edit(id, TakenEditKind::Kept);
            } else if forget_memory(tx, id, &self.author)? {
                self.note_edit(id, TakenEditKind::Forgotten);
            }
        }
        Ok(())
    }

    fn note_edit(&mut self, memory: MemoryId, kind: TakenEditKind) {
        self.taken.push(TakenEdit { memory, kind });
    }
}

/// Returns the texts of a memory from this revision on, as a file shows them.
fn shown_since(db: Db<'_>, id: MemoryId, revision: u32) -> Result<Vec<String>> {
    let texts = "SELECT text_after FROM memory_changes WHERE memory = ?1 ORDER BY id";
    let texts: Vec<Option<String>> = db.query_rows(texts, [id.0], |row| row.get(0))?;
    let before = usize::try_from(revision).unwrap_or_default().saturating_sub(1);
    let since = texts.get(before..).unwrap_or_default();
    Ok(since.iter().flatten().map(|text| visible_text(text)).collect())
}
