//! Long-term memory, read side: full-text search over the notes.

use async_trait::async_trait;
use avocet_protocol::{Note, Notes, Timestamp};
use rusqlite::{Row, params};

use crate::SqliteStore;
use crate::rows;
use crate::tx::Result;

#[async_trait]
impl Notes for SqliteStore {
    async fn search(&self, query: &str, limit: u32) -> Result<Vec<Note>> {
        let query = match_expression(query);
        self.read(move |db| match query {
            None => db.rows(
                "SELECT id, written_at, text, trust FROM notes ORDER BY id DESC LIMIT ?1",
                [limit],
                note,
            ),
            Some(query) => db.rows(
                "SELECT notes.id, notes.written_at, notes.text, notes.trust \
                 FROM notes_index JOIN notes ON notes.id = notes_index.rowid \
                 WHERE notes_index MATCH ?1 ORDER BY bm25(notes_index), notes.id DESC LIMIT ?2",
                params![query, limit],
                note,
            ),
        })
        .await
    }
}

fn note(row: &Row<'_>) -> rusqlite::Result<Note> {
    Ok(Note {
        id: row.get("id")?,
        written_at: Timestamp(row.get("written_at")?),
        text: row.get("text")?,
        trust: rows::trust(row, "trust")?,
    })
}

/// Returns an FTS5 query that matches any of these words or longer words that begin with them.
/// `None` if the query contains no word.
fn match_expression(query: &str) -> Option<String> {
    let words: Vec<String> = query
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| format!("\"{word}\"*"))
        .collect();
    (!words.is_empty()).then(|| words.join(" OR "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn match_expression_quotes_every_word_of_the_query() {
        assert_eq!(match_expression("the key").as_deref(), Some("\"the\"* OR \"key\"*"));
        assert_eq!(
            match_expression("a\" OR NEAR(").as_deref(),
            Some("\"a\"* OR \"OR\"* OR \"NEAR\"*")
        );
        assert_eq!(match_expression("  -- \" *"), None);
    }
}
