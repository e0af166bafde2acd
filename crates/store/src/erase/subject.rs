//! Selects the rows of a person, a conversation or a memory, as temporary tables of the copy:
//!
//! ```text
//! erased_sessions   conversations that go as a whole
//! erased_turns      their turns, with those of sub-agents
//! blanked_turns     turns of shared conversations that answered a message of the person
//! blanked_messages  messages of the person in shared conversations
//! erased_memories   memories
//! names             names of the person, as other people's messages quote them
//! ```

use avocet_protocol::access::PersonId;
use avocet_protocol::chat::SessionId;
use avocet_protocol::store::MemoryScope;

use super::{EraseError, EraseSubject};
use crate::rows::parse_column;
use crate::rows::turns::OPEN_TURN;
use crate::tx::{Db, Result, Tx};

/// The numbers and names by which files of erased rows are found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErasedIds {
    /// Messages whose files go.
    pub messages: Vec<i64>,
    /// Turns whose files go.
    pub turns: Vec<i64>,
    /// References of uploaded files that other messages still need.
    pub kept_uploads: Vec<String>,
    /// Scopes that lose a memory.
    pub scopes: Vec<String>,
    /// Paths of files that the agent wrote in the erased turns, as its calls name them. The files stay.
    pub written_files: Vec<String>,
}

const TABLES: [&str; 6] = [
    "CREATE TEMP TABLE erased_sessions (id TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TEMP TABLE erased_turns (id INTEGER PRIMARY KEY)",
    "CREATE TEMP TABLE blanked_turns (id INTEGER PRIMARY KEY)",
    "CREATE TEMP TABLE blanked_messages (id INTEGER PRIMARY KEY)",
    "CREATE TEMP TABLE erased_memories (id INTEGER PRIMARY KEY)",
    "CREATE TEMP TABLE names (name TEXT PRIMARY KEY) WITHOUT ROWID",
];

/// Messages and the like of a person.
pub(crate) const BY_PERSON: &str = "channel = ?1 AND account = ?2 AND sender = ?3";

pub(crate) fn person_key(person: &PersonId) -> [&str; 3] {
    [person.channel.as_str(), person.account.as_str(), person.sender.as_str()]
}

/// Fills the temporary tables.
pub(super) fn select_rows(tx: &Tx<'_>, subject: &EraseSubject) -> Result<(), EraseError> {
    for table in TABLES {
        tx.change_rows(table, ())?;
    }
    match subject {
        EraseSubject::Memory(memory) => {
            tx.change_rows(
                "INSERT INTO erased_memories SELECT id FROM memories WHERE id = ?1",
                [memory.0],
            )?;
        }
        EraseSubject::Session(session) => select_session(tx, session)?,
        EraseSubject::Person(person) => select_person(tx, person)?,
    }
    Ok(())
}

fn select_session(tx: &Tx<'_>, session: &SessionId) -> Result<(), EraseError> {
    let is_of_task: bool = tx.db.query_one(
        "SELECT EXISTS (SELECT 1 FROM turns WHERE session = ?1 AND parent IS NOT NULL)",
        [session.as_str()],
        |row| row.get(0),
    )?;
    if is_of_task {
        return Err(EraseError::OfTask);
    }
    tx.change_rows(
        "INSERT INTO erased_sessions SELECT id FROM sessions WHERE id = ?1",
        [session.as_str()],
    )?;
    select_turns(tx)?;
    tx.change_rows(
        "INSERT OR IGNORE INTO erased_memories SELECT id FROM memories WHERE scope = ?1",
        [MemoryScope::Chat(session.clone()).to_string()],
    )?;
    select_memories(tx)
}

fn select_person(tx: &Tx<'_>, person: &PersonId) -> Result<(), EraseError> {
    let key = person_key(person);
    // The conversations of the person's messages, and of private chats without a message.
    tx.change_rows(
        &format!(
            "INSERT INTO erased_sessions SELECT session FROM inbound WHERE {BY_PERSON} \
             UNION SELECT id FROM sessions WHERE id IN ( \
                 SELECT channel || ':' || account || ':' || chat FROM private_chats WHERE {BY_PERSON})"
        ),
        key,
    )?;
    tx.change_rows(
        &format!(
            "DELETE FROM erased_sessions WHERE EXISTS (SELECT 1 FROM inbound \
             WHERE session = erased_sessions.id AND NOT ({BY_PERSON}))"
        ),
        key,
    )?;
    tx.change_rows(
        &format!(
            "INSERT INTO blanked_messages SELECT id FROM inbound WHERE {BY_PERSON} \
             AND session NOT IN (SELECT id FROM erased_sessions)"
        ),
        key,
    )?;
    select_turns(tx)?;
    check_shared_turns(tx)?;
    tx.change_rows(
        &format!(
            "INSERT OR IGNORE INTO names SELECT name FROM ( \
                 SELECT sender_name AS name FROM inbound WHERE {BY_PERSON} \
                 UNION SELECT name FROM people WHERE {BY_PERSON} \
                 UNION SELECT name FROM pairings WHERE {BY_PERSON} UNION SELECT ?3) \
             WHERE name <> ''"
        ),
        key,
    )?;
    let id = person.to_string();
    tx.change_rows(
        "INSERT OR IGNORE INTO erased_memories SELECT id FROM memories \
         WHERE scope = ?1 OR said_by = ?2 OR turn IN (SELECT id FROM blanked_turns) \
             OR message IN (SELECT id FROM blanked_messages) \
             OR scope IN (SELECT 'chat ' || id FROM erased_sessions)",
        [MemoryScope::Person(person.clone()).to_string(), id],
    )?;
    select_memories(tx)
}

/// Selects all turns of the selected conversations and messages, with their sub-agents.
fn select_turns(tx: &Tx<'_>) -> Result<(), EraseError> {
    for (table, roots) in [
        ("erased_turns", "SELECT id FROM turns WHERE session IN (SELECT id FROM erased_sessions)"),
        (
            "blanked_turns",
            "SELECT turn FROM inbound WHERE turn IS NOT NULL \
             AND id IN (SELECT id FROM blanked_messages)",
        ),
    ] {
        let select = format!(
            "WITH RECURSIVE tree (id) AS ({roots} UNION \
                 SELECT turns.id FROM tree JOIN turns ON turns.parent = tree.id) \
             INSERT OR IGNORE INTO {table} SELECT id FROM tree"
        );
        tx.change_rows(&select, ())?;
    }
    // Conversations of sub-agents.
    tx.change_rows(
        "INSERT OR IGNORE INTO erased_sessions SELECT session FROM turns \
         WHERE parent IS NOT NULL AND id IN (SELECT id FROM erased_turns)",
        (),
    )?;
    Ok(())
}

fn select_memories(tx: &Tx<'_>) -> Result<(), EraseError> {
    tx.change_rows(
        "INSERT OR IGNORE INTO erased_memories SELECT id FROM memories \
         WHERE session IN (SELECT id FROM erased_sessions) \
             OR turn IN (SELECT id FROM erased_turns)",
        (),
    )?;
    Ok(())
}

/// Fails if a turn of a shared conversation, which stays, is still open.
fn check_shared_turns(tx: &Tx<'_>) -> Result<(), EraseError> {
    let open = tx.db.query_row(
        &format!(
            "SELECT session FROM turns WHERE {OPEN_TURN} AND id IN (SELECT id FROM blanked_turns) \
             LIMIT 1"
        ),
        (),
        |row| parse_column(row, "session"),
    )?;
    open.map_or(Ok(()), |session| Err(EraseError::Busy(session)))
}

/// Reads the numbers and names by which files are found.
pub(super) fn read_ids(db: Db<'_>) -> Result<ErasedIds> {
    let numbers = |sql: &str| db.query_rows(sql, (), |row| row.get::<_, i64>(0));
    let texts = |sql: &str| db.query_rows(sql, (), |row| row.get::<_, String>(0));
    Ok(ErasedIds {
        messages: numbers(
            "SELECT id FROM inbound WHERE session IN (SELECT id FROM erased_sessions) \
                 OR id IN (SELECT id FROM blanked_messages)",
        )?,
        turns: numbers("SELECT id FROM erased_turns UNION SELECT id FROM blanked_turns")?,
        kept_uploads: texts(
            "SELECT DISTINCT json_extract(file.value, '$.source.platform') AS reference \
             FROM inbound, json_each(inbound.content, '$.attachments') AS file \
             WHERE session NOT IN (SELECT id FROM erased_sessions) \
                 AND inbound.id NOT IN (SELECT id FROM blanked_messages) \
                 AND reference IS NOT NULL",
        )?,
        scopes: texts(
            "SELECT DISTINCT scope FROM memories WHERE id IN (SELECT id FROM erased_memories)",
        )?,
        written_files: written_files(db)?,
    })
}

/// Returns the paths that calls of the file tools name. Programs may have written more.
fn written_files(db: Db<'_>) -> Result<Vec<String>> {
    const OF_PATCH: [&str; 2] = ["--- a/", "+++ b/"];
    let texts = |sql: &str| db.query_rows(sql, (), |row| row.get::<_, String>(0));
    let of_turns =
        "ok = 1 AND turn IN (SELECT id FROM erased_turns UNION SELECT id FROM blanked_turns)";
    let mut paths = texts(&format!(
        "SELECT json_extract(arguments, '$.object.path') AS path FROM calls \
         WHERE name IN ('write_file', 'edit_file') AND {of_turns} AND path IS NOT NULL"
    ))?;
    let patches = texts(&format!(
        "SELECT coalesce(json_extract(arguments, '$.object.patch'), '') FROM calls \
         WHERE name = 'apply_patch' AND {of_turns}"
    ))?;
    for line in patches.iter().flat_map(|patch| patch.lines()) {
        let path = OF_PATCH.iter().find_map(|start| line.strip_prefix(start));
        paths.extend(path.map(str::to_owned));
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// Returns the known people whose ids are nearest to an unknown one.
#[must_use]
pub fn near_people(known: &[String], unknown: &PersonId) -> Vec<String> {
    const MOST: usize = 5;
    let (unknown, sender) = (unknown.to_string(), unknown.sender.as_str());
    let near = |id: &&String| {
        let own = id.rsplit(':').next().unwrap_or_default();
        own == sender
            || (own.len() > 2 && sender.contains(own))
            || (sender.len() > 2 && own.contains(sender))
            || id.split(':').next() == unknown.split(':').next()
    };
    known.iter().filter(near).take(MOST).cloned().collect()
}
