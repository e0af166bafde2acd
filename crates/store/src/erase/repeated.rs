//! Replaces texts of a person's messages where the agent repeats them to other people of a shared
//! conversation.

use aho_corasick::{AhoCorasick, MatchKind};
use avocet_protocol::store::StoreError;
use serde_json::Value;

use super::sweep::{ERASED_TEXT, json_escaped};
use crate::tx::{Result, Tx};

/// Characters of the shortest line whose repetitions are searched. Shorter ones may be anyone's words.
const SHORTEST: usize = 24;
/// Lines that are searched, from the newest message on.
const MOST_LINES: usize = 50_000;

/// The columns of what the agent wrote, with the column of the turn, and with `true` for JSON.
const WRITTEN_BY_AGENT: [(&str, &str, &str, bool); 11] = [
    ("turns", "id", "notice", false),
    ("turns", "id", "prompt", false),
    ("turns", "id", "label", false),
    ("steps", "turn", "text", false),
    ("steps", "turn", "reasoning", true),
    ("steps", "turn", "written", false),
    ("calls", "turn", "arguments", true),
    ("calls", "turn", "exact", true),
    ("calls", "turn", "result", true),
    ("waits", "turn", "card", true),
    ("outbox", "turn", "content", true),
];

/// The turns of other people in the conversations that the person shares.
const SHARED_TURNS: &str = "WITH RECURSIVE tree (id) AS ( \
         SELECT id FROM turns WHERE session IN \
             (SELECT session FROM inbound WHERE id IN (SELECT id FROM blanked_messages)) \
         UNION SELECT turns.id FROM tree JOIN turns ON turns.parent = tree.id) \
     SELECT id FROM tree WHERE id NOT IN (SELECT id FROM blanked_turns)";

/// The lines of the person's messages in shared conversations.
#[derive(Debug, Default)]
pub(super) struct RepeatedTexts {
    lines: Option<AhoCorasick>,
    lines_in_json: Option<AhoCorasick>,
}

impl RepeatedTexts {
    /// Reads the lines. Call it before the messages are replaced.
    pub(super) fn read(tx: &Tx<'_>) -> Result<Self> {
        let texts = tx.db.query_rows(
            "SELECT json_extract(content, '$.text') AS text FROM inbound \
             WHERE id IN (SELECT id FROM blanked_messages) AND text IS NOT NULL ORDER BY id DESC",
            (),
            |row| row.get::<_, String>(0),
        )?;
        let lines = texts.iter().flat_map(|text| text.lines()).map(without_mention);
        let is_long = |line: &&str| line.chars().count() >= SHORTEST;
        let mut lines: Vec<&str> = lines.filter(is_long).take(MOST_LINES).collect();
        lines.sort_unstable();
        lines.dedup();
        let escaped: Vec<String> = lines.iter().map(|line| json_escaped(line)).collect();
        Ok(Self { lines: make_automaton(&lines)?, lines_in_json: make_automaton(&escaped)? })
    }

    /// Returns the sequence numbers of the audit rows about other people's turns that repeat a line.
    pub(super) fn find_audit_rows(&self, tx: &Tx<'_>) -> Result<Vec<i64>> {
        let Some(lines) = &self.lines_in_json else { return Ok(Vec::new()) };
        let rows = tx.db.query_rows(
            &format!("SELECT sequence, summary FROM audit WHERE turn IN ({SHARED_TURNS})"),
            (),
            |row| {
                let summary: String = row.get(1)?;
                Ok(if lines.is_match(&summary) { Some(row.get(0)?) } else { None })
            },
        )?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// Replaces the lines in what the agent wrote to other people. Returns the number of changed values.
    pub(super) fn replace_in_answers(&self, tx: &Tx<'_>) -> Result<u64> {
        let (Some(lines), Some(lines_in_json)) = (&self.lines, &self.lines_in_json) else {
            return Ok(0);
        };
        let mut changed = 0;
        for (table, turn, column, is_json) in WRITTEN_BY_AGENT {
            let needles = if is_json { lines_in_json } else { lines };
            let of_turns = format!("{turn} IN ({SHARED_TURNS})");
            let found = tx.db.query_rows(
                &format!("SELECT DISTINCT {column} FROM {table} WHERE {of_turns} AND {column} IS NOT NULL"),
                (),
                |row| {
                    let text: String = row.get(0)?;
                    Ok(needles.is_match(&text).then_some(text))
                },
            )?;
            for old in found.into_iter().flatten() {
                let new = match serde_json::from_str::<Value>(&old) {
                    Ok(mut value) if is_json => {
                        replace_in_strings(&mut value, lines);
                        value.to_string()
                    }
                    Ok(_) | Err(_) => replace_lines(&old, lines),
                };
                let sql =
                    format!("UPDATE {table} SET {column} = ?2 WHERE {column} = ?1 AND {of_turns}");
                changed += tx.change_rows(&sql, [old, new])? as u64;
            }
        }
        Ok(changed)
    }
}

/// Removes the name of the bot from the beginning of a line.
fn without_mention(line: &str) -> &str {
    let line = line.trim();
    match line.split_once(' ') {
        Some((first, rest)) if first.starts_with('@') => rest.trim_start(),
        _ => line,
    }
}

/// `None` without lines.
fn make_automaton(lines: &[impl AsRef<[u8]>]) -> Result<Option<AhoCorasick>> {
    if lines.is_empty() {
        return Ok(None);
    }
    let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(lines);
    automaton.map(Some).map_err(|error| StoreError::Internal(error.to_string()))
}

fn replace_lines(text: &str, lines: &AhoCorasick) -> String {
    let mut replaced = String::with_capacity(text.len());
    lines.replace_all_with(text, &mut replaced, |_, _, to| {
        to.push_str(ERASED_TEXT);
        true
    });
    replaced
}

/// Replaces the lines in all strings of a value; keys stay.
fn replace_in_strings(value: &mut Value, lines: &AhoCorasick) {
    match value {
        Value::String(text) => *text = replace_lines(text, lines),
        Value::Array(items) => items.iter_mut().for_each(|item| replace_in_strings(item, lines)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|field| replace_in_strings(field, lines));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
