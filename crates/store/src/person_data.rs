//! Everything that the log holds of a person, for `avocet people export`.

use avocet_protocol::access::PersonId;
use avocet_protocol::store::MemoryScope;
use rusqlite::types::ValueRef;
use rusqlite::{Row, params};
use serde_json::{Map, Value};

use crate::SqliteStore;
use crate::erase::{BY_PERSON, ErasedIds, person_key};
use crate::tx::{Db, Result};

/// The rows of a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PersonData {
    /// Rows by the kind of their content, with the columns as they are stored.
    pub sections: Vec<(&'static str, Vec<Map<String, Value>>)>,
    /// The numbers by which files are found.
    pub ids: ErasedIds,
}

impl PersonData {
    /// Returns `true` if the log has nothing of the person.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sections.iter().all(|(_, rows)| rows.is_empty())
    }
}

/// The person's conversations, those of the person alone, and the turns that worked for the person.
const OWN: &str = "WITH RECURSIVE own (id) AS (SELECT DISTINCT session FROM inbound WHERE BY_PERSON), \
    alone (id) AS (SELECT id FROM own WHERE NOT EXISTS (SELECT 1 FROM inbound \
        WHERE session = own.id AND NOT (BY_PERSON))), \
    mine (id) AS (SELECT turn FROM inbound WHERE turn IS NOT NULL AND BY_PERSON \
        UNION SELECT id FROM turns WHERE session IN alone \
        UNION SELECT turns.id FROM mine JOIN turns ON turns.parent = mine.id)";

/// The queries of the sections.
const SECTIONS: [(&str, &str); 12] = [
    ("access", "SELECT name, role, since FROM people WHERE BY_PERSON"),
    (
        "pairings",
        "SELECT code, chat, name, created_at, expires_at, decision, role, message FROM pairings \
         WHERE BY_PERSON ORDER BY created_at",
    ),
    (
        "chats",
        "SELECT private_chats.channel, private_chats.account, private_chats.chat, links.session \
         FROM private_chats LEFT JOIN links USING (channel, account, chat) WHERE BY_PERSON",
    ),
    (
        "messages",
        "SELECT id, session, channel, account, chat, topic, sender_name, kind, content, reply, turn, \
             received_at, written_at, edited_at FROM inbound WHERE BY_PERSON ORDER BY id",
    ),
    (
        "answers",
        "SELECT id, channel, account, chat, topic, turn, source, content, state, created_at \
         FROM outbox WHERE turn IN mine OR channel || ':' || account || ':' || chat IN alone \
         ORDER BY id",
    ),
    (
        "steps",
        "SELECT turn, number, text, written FROM steps WHERE turn IN mine ORDER BY turn, number",
    ),
    (
        "calls",
        "SELECT turn, step, ordinal, name, arguments, state, ok, result FROM calls \
         WHERE turn IN mine ORDER BY turn, step, ordinal",
    ),
    (
        "approvals",
        "SELECT id, turn, step, ordinal, kind, card, asked_at, expires_at, resolved FROM waits \
         WHERE turn IN mine ORDER BY id",
    ),
    (
        "memories",
        "SELECT id, scope, text, trust, state, session, turn, said_by, written_at FROM memories \
         WHERE scope = ?4 OR said_by = ?5 OR session IN alone OR turn IN mine ORDER BY id",
    ),
    (
        "memory_changes",
        "SELECT id, memory, at, author, kind, text_before, text_after FROM memory_changes \
         WHERE memory IN (SELECT id FROM memories \
             WHERE scope = ?4 OR said_by = ?5 OR session IN alone OR turn IN mine) ORDER BY id",
    ),
    (
        "schedules",
        "SELECT id, name, state, reason, channel, account, chat, topic, rule, kind, body, agent, \
             next_at, made_at FROM schedules WHERE BY_PERSON ORDER BY id",
    ),
    (
        "rules",
        "SELECT id, text, scope, added_by, added_at, removed_by, removed_at FROM rules \
         WHERE scope = ?4 OR added_by = ?5 ORDER BY id",
    ),
];

/// The audit rows, which another program verifies.
const AUDIT: &str = "SELECT sequence, at, kind, session, call, actor, tool, summary, outcome \
    FROM audit WHERE actor = ?5 OR session IN alone OR turn IN mine OR instr(summary, ?5) > 0 \
    ORDER BY sequence";

impl SqliteStore {
    /// Collects everything that the log holds of a person.
    ///
    /// # Errors
    /// [`StoreError`](avocet_protocol::store::StoreError) if the log cannot be read.
    pub async fn person_data(&self, person: &PersonId) -> Result<PersonData> {
        let person = person.clone();
        self.read(move |db| read_data(db, &person)).await
    }

    /// Returns the ids of all people in the log.
    ///
    /// # Errors
    /// [`StoreError`](avocet_protocol::store::StoreError) if the log cannot be read.
    pub async fn known_people(&self) -> Result<Vec<String>> {
        self.read(|db| {
            db.query_rows(
                "SELECT DISTINCT channel || ':' || account || ':' || sender FROM ( \
                     SELECT channel, account, sender FROM inbound \
                     UNION SELECT channel, account, sender FROM people \
                     UNION SELECT channel, account, sender FROM pairings \
                     UNION SELECT channel, account, sender FROM schedules) ORDER BY 1",
                (),
                |row| row.get(0),
            )
        })
        .await
    }
}

fn read_data(db: Db<'_>, person: &PersonId) -> Result<PersonData> {
    let mut data = PersonData::default();
    for (name, select) in SECTIONS.into_iter().chain([("audit", AUDIT)]) {
        data.sections.push((name, select_of_person(db, person, select, row_to_json)?));
    }
    let number = |row: &Row<'_>| row.get::<_, i64>(0);
    data.ids.messages =
        select_of_person(db, person, "SELECT id FROM inbound WHERE BY_PERSON", number)?;
    data.ids.turns = select_of_person(db, person, "SELECT id FROM mine", number)?;
    Ok(data)
}

fn select_of_person<T>(
    db: Db<'_>,
    person: &PersonId,
    select: &str,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    let [channel, account, sender] = person_key(person);
    let scope = MemoryScope::Person(person.clone()).to_string();
    // SQLite refuses values for parameters that a statement does not name.
    let all = "?4 IS NOT NULL AND ?5 IS NOT NULL";
    let sql = format!("{OWN}, given (is_so) AS (SELECT {all}) {select}");
    let sql = sql.replace("BY_PERSON", BY_PERSON);
    db.query_rows(&sql, params![channel, account, sender, scope, person.to_string()], read)
}

/// Reads a row with its column names. Columns with JSON are parsed.
fn row_to_json(row: &Row<'_>) -> rusqlite::Result<Map<String, Value>> {
    let mut fields = Map::new();
    for (place, name) in row.as_ref().column_names().enumerate() {
        let value = match row.get_ref(place)? {
            ValueRef::Null => continue,
            ValueRef::Integer(number) => number.into(),
            ValueRef::Real(number) => number.into(),
            ValueRef::Text(text) | ValueRef::Blob(text) => {
                text_to_json(&String::from_utf8_lossy(text))
            }
        };
        fields.insert(name.to_owned(), value);
    }
    Ok(fields)
}

fn text_to_json(text: &str) -> Value {
    match text.as_bytes().first() {
        Some(b'{' | b'[') => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        _ => text.into(),
    }
}
