//! Replaces repetitions of erased texts in rows that stay.

use avocet_protocol::chat::Quote;
use serde_json::Value;

use crate::tx::{Result, Tx};

/// Stands for a text in a row that stays.
pub(super) const ERASED_TEXT: &str = "[erased]";
/// Bytes of the shortest text whose repetitions are searched. Shorter ones are parts of other texts.
const SHORTEST: usize = 8;
/// Characters of a text that identify it in an audit summary, which is cut.
const AUDIT_CHARACTERS: usize = 60;

/// The columns that may repeat a text, with `true` for JSON.
const REPEATING: [(&str, &str, bool); 26] = [
    ("turns", "prompt", false),
    ("turns", "notice", false),
    ("turns", "recalled", true),
    ("turns", "label", false),
    ("turns", "failure", true),
    ("sessions", "summary", false),
    ("sessions", "title", false),
    ("inbound", "content", true),
    ("inbound", "reply", false),
    ("steps", "text", false),
    ("steps", "reasoning", true),
    ("steps", "written", false),
    ("calls", "arguments", true),
    ("calls", "evidence", true),
    ("calls", "exact", true),
    ("calls", "result", true),
    ("kept_results", "body", true),
    ("waits", "may_grant", true),
    ("waits", "card", true),
    ("outbox", "content", true),
    ("outbox", "error", false),
    ("undelivered", "what", false),
    ("undelivered", "why", false),
    ("reports", "text", false),
    ("consolidations", "error", false),
    ("failed_requests", "failure", true),
];

/// Returns the texts that the selected memories have and had.
pub(super) fn memory_texts(tx: &Tx<'_>) -> Result<Vec<String>> {
    let texts = tx.db.query_rows(
        "SELECT text FROM memories WHERE id IN (SELECT id FROM erased_memories) \
         UNION SELECT text_before FROM memory_changes \
             WHERE memory IN (SELECT id FROM erased_memories) AND text_before IS NOT NULL \
         UNION SELECT text_after FROM memory_changes \
             WHERE memory IN (SELECT id FROM erased_memories) AND text_after IS NOT NULL",
        (),
        |row| row.get::<_, String>(0),
    )?;
    Ok(texts.into_iter().filter(|text| text.len() >= SHORTEST).collect())
}

/// Returns the beginning of a text as an audit summary contains it.
pub(super) fn audit_needle(text: &str) -> String {
    let start: String = text.chars().take(AUDIT_CHARACTERS).collect();
    json_escaped(&start)
}

pub(super) fn json_escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Replaces these texts in all rows that stay. Returns the number of changed values.
pub(super) fn replace_texts(tx: &Tx<'_>, texts: &[String]) -> Result<u64> {
    let mut changed = 0;
    for text in texts {
        for (table, column, is_json) in REPEATING {
            changed += if is_json {
                change_json(tx, table, column, &json_escaped(text), |value| {
                    replace_in_json(value, text);
                })?
            } else {
                let sql = format!(
                    "UPDATE {table} SET {column} = replace({column}, ?1, ?2) \
                     WHERE instr({column}, ?1) > 0"
                );
                tx.change_rows(&sql, [text.as_str(), ERASED_TEXT])? as u64
            };
        }
    }
    Ok(changed)
}

/// Removes what other people's messages quote of the person: quotes, and earlier messages of a group.
pub(super) fn remove_quotes(tx: &Tx<'_>) -> Result<u64> {
    let names = tx.db.query_rows("SELECT name FROM names", (), |row| row.get::<_, String>(0))?;
    let mut changed = 0;
    for name in &names {
        let needle = format!("\"from\":{}", Value::from(name.as_str()));
        changed += change_json(tx, "inbound", "content", &needle, |content| {
            remove_quotes_of(content, name);
        })?;
    }
    Ok(changed)
}

fn remove_quotes_of(content: &mut Value, name: &str) {
    let is_of = |quote: &Value| {
        serde_json::from_value::<Quote>(quote.clone())
            .is_ok_and(|quote| quote.from.as_deref() == Some(name))
    };
    let Some(content) = content.as_object_mut() else { return };
    if content.get("quote").is_some_and(is_of) {
        content.remove("quote");
    }
    if content.get("forwarded_from").and_then(Value::as_str) == Some(name) {
        content.remove("forwarded_from");
        content.insert("text".to_owned(), ERASED_TEXT.into());
    }
    for list in ["earlier", "forwarded", "quotes", "untrusted"] {
        if let Some(Value::Array(quotes)) = content.get_mut(list) {
            quotes.retain(|quote| !is_of(quote));
        }
    }
}

/// Changes the JSON values of a column that contain a text. Returns their number.
fn change_json(
    tx: &Tx<'_>,
    table: &str,
    column: &str,
    needle: &str,
    change: impl Fn(&mut Value),
) -> Result<u64> {
    let found = tx.db.query_rows(
        &format!("SELECT DISTINCT {column} FROM {table} WHERE instr({column}, ?1) > 0"),
        [needle],
        |row| row.get::<_, String>(0),
    )?;
    let mut changed = 0;
    for old in found {
        let Ok(mut value) = serde_json::from_str::<Value>(&old) else { continue };
        change(&mut value);
        let sql = format!("UPDATE {table} SET {column} = ?2 WHERE {column} = ?1");
        changed += tx.change_rows(&sql, [old, value.to_string()])? as u64;
    }
    Ok(changed)
}

/// Replaces a text in all strings of a value; keys stay.
fn replace_in_json(value: &mut Value, text: &str) {
    match value {
        Value::String(string) => *string = string.replace(text, ERASED_TEXT),
        Value::Array(items) => items.iter_mut().for_each(|item| replace_in_json(item, text)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|field| replace_in_json(field, text));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
