//! Removes the selected rows, and replaces texts of rows that stay.

use avocet_protocol::access::PersonId;
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::{MemoryAuthor, MemoryScope};

use rusqlite::Params;

use super::repeated::RepeatedTexts;
use super::subject::{BY_PERSON, person_key};
use super::sweep::ERASED_TEXT;
use super::{EraseError, EraseSubject, ErasedCounts, sweep};
use crate::audit::{ErasableText, erase_texts};
use crate::retention::{REMOVED, remove_turn};
use crate::tx::{Result, Tx};

/// Stands for the content of a message that stays.
const ERASED_CONTENT: &str = r#"{"text":"[erased]"}"#;

/// Removes and replaces everything that was selected.
pub(super) fn remove_rows(tx: &Tx<'_>, subject: &EraseSubject) -> Result<ErasedCounts, EraseError> {
    let person = match subject {
        EraseSubject::Person(person) => Some(person),
        EraseSubject::Session(_) | EraseSubject::Memory(_) => None,
    };
    let texts = sweep::memory_texts(tx)?;
    let repeated = RepeatedTexts::read(tx)?;
    let mut counts = ErasedCounts {
        audit: erase_audit_texts(tx, person, &texts, &repeated)?,
        sessions: count(tx, "SELECT count(*) FROM erased_sessions")?,
        turns: count(tx, "SELECT count(*) FROM erased_turns")?,
        messages: count(
            tx,
            "SELECT count(*) FROM inbound WHERE session IN (SELECT id FROM erased_sessions)",
        )?,
        memories: count(tx, "SELECT count(*) FROM erased_memories")?,
        ..ErasedCounts::default()
    };
    remove_memories(tx)?;
    if let Some(person) = person {
        counts.replaced = blank_messages(tx)?;
        blank_turns(tx)?;
        counts.access = remove_access(tx, person)?;
    }
    (counts.schedules, counts.rules) = remove_orders(tx, person)?;
    remove_turns(tx)?;
    remove_sessions(tx)?;
    counts.repeated = sweep::replace_texts(tx, &texts)?
        + sweep::remove_quotes(tx)?
        + repeated.replace_in_answers(tx)?;
    rebuild_indices(tx)?;
    Ok(counts)
}

fn count(tx: &Tx<'_>, sql: &str) -> Result<u64> {
    tx.db.query_one(sql, (), |row| row.get(0))
}

/// Runs statements without parameters. Returns the number of changed rows.
fn change_all(tx: &Tx<'_>, statements: &[&str]) -> Result<u64> {
    let mut changed = 0;
    for statement in statements {
        changed += tx.change_rows(statement, ())? as u64;
    }
    Ok(changed)
}

/// Erases texts of audit rows, before the rows that they belong to are gone.
fn erase_audit_texts(
    tx: &Tx<'_>,
    person: Option<&PersonId>,
    texts: &[String],
    repeated: &RepeatedTexts,
) -> Result<u64, EraseError> {
    use ErasableText::{Actor, Digest, Session, Summary, Tool};
    let before = count(tx, ERASED_ROWS)?;
    erase_texts(
        tx,
        "session IN (SELECT id FROM erased_sessions)",
        (),
        &[Session, Digest, Summary],
    )?;
    let of_turns = "turn IN (SELECT id FROM erased_turns UNION SELECT id FROM blanked_turns)";
    erase_texts(tx, of_turns, (), &[Digest, Summary])?;
    // A refused call may have any name that the model made up.
    erase_texts(tx, &format!("kind = 'refused' AND {of_turns}"), (), &[Tool])?;
    if let Some(person) = person {
        let id = person.to_string();
        erase_texts(tx, "actor = ?1", [&id], &[Actor])?;
        erase_texts(tx, "instr(summary, ?1) > 0", [&id], &[Summary])?;
        let chats = format!(
            "summary IN (SELECT channel || ':' || account || ':' || chat FROM private_chats \
             WHERE {BY_PERSON}) OR summary IN (SELECT id FROM erased_sessions)"
        );
        erase_texts(tx, &chats, person_key(person), &[Summary])?;
    }
    erase_texts(
        tx,
        "call IN (SELECT substr(author, 6) FROM memory_changes WHERE author LIKE 'call %' \
             AND memory IN (SELECT id FROM erased_memories))",
        (),
        &[Digest, Summary],
    )?;
    for text in texts {
        erase_texts(tx, "instr(summary, ?1) > 0", [sweep::audit_needle(text)], &[Digest, Summary])?;
    }
    for sequence in repeated.find_audit_rows(tx)? {
        erase_texts(tx, "sequence = ?1", [sequence], &[Digest, Summary])?;
    }
    Ok(count(tx, ERASED_ROWS)? - before)
}

const ERASED_ROWS: &str = "SELECT count(*) FROM audit WHERE seals IS NOT NULL";

fn remove_memories(tx: &Tx<'_>) -> Result<()> {
    change_all(
        tx,
        &[
            "DELETE FROM consolidations WHERE scope IN \
                (SELECT scope FROM memories WHERE id IN (SELECT id FROM erased_memories)) \
                AND scope <> 'everyone'",
            "DELETE FROM memory_vectors WHERE memory IN (SELECT id FROM erased_memories)",
            "DELETE FROM events WHERE kind LIKE 'memory.%' AND row IN \
                (SELECT id FROM memory_changes WHERE memory IN (SELECT id FROM erased_memories))",
            "DELETE FROM memory_changes WHERE memory IN (SELECT id FROM erased_memories)",
            "DELETE FROM memories WHERE id IN (SELECT id FROM erased_memories)",
        ],
    )?;
    Ok(())
}

/// Replaces the person's messages in shared conversations. A platform's key stays, because it absorbs
/// a redelivery of the message.
fn blank_messages(tx: &Tx<'_>) -> Result<u64> {
    let replaced = tx.change_rows(
        "UPDATE inbound SET content = ?1, sender = 'erased', sender_name = NULL, reply = NULL, \
             corrects = NULL, removed = 0, key = iif(digest IS NULL, key, 'erased ' || id), \
             digest = NULL, \
             outcome = iif(state = 'queued', 'dropped', outcome), \
             state = iif(state = 'queued', 'done', state) \
         WHERE id IN (SELECT id FROM blanked_messages)",
        [ERASED_CONTENT],
    )?;
    Ok(replaced as u64)
}

/// Replaces everything that the agent wrote in turns that answered the person in shared
/// conversations.
fn blank_turns(tx: &Tx<'_>) -> Result<()> {
    let calls = tx.db.query_rows(
        "SELECT 't' || turn || 's' || step || 'c' || ordinal FROM calls \
         WHERE turn IN (SELECT id FROM blanked_turns)",
        (),
        |row| row.get::<_, String>(0),
    )?;
    for call in calls {
        tx.change_rows("DELETE FROM kept_results WHERE handle = ?1", [call])?;
    }
    for (statement, text) in [
        (
            "UPDATE turns SET prompt = iif(prompt IS NULL, NULL, ?1), \
                 notice = iif(notice IS NULL, NULL, ?1), recalled = NULL, label = NULL, \
                 failure = NULL WHERE id IN (SELECT id FROM blanked_turns)",
            ERASED_TEXT,
        ),
        (
            "UPDATE steps SET text = iif(text = '', '', ?1), reasoning = NULL, written = NULL \
             WHERE turn IN (SELECT id FROM blanked_turns)",
            ERASED_TEXT,
        ),
        (
            "UPDATE calls SET arguments = json_object('object', json_object()), evidence = NULL, exact = NULL, \
                 allowed = NULL, \
                 result = iif(result IS NULL, NULL, ?1) \
             WHERE turn IN (SELECT id FROM blanked_turns)",
            REMOVED,
        ),
        (
            "UPDATE outbox SET content = ?1, error = NULL, digest = NULL \
             WHERE turn IN (SELECT id FROM blanked_turns) OR edits IN \
                 (SELECT id FROM outbox WHERE turn IN (SELECT id FROM blanked_turns))",
            ERASED_CONTENT,
        ),
        ("UPDATE reports SET text = ?1 WHERE turn IN (SELECT id FROM blanked_turns)", ERASED_TEXT),
        (
            "UPDATE undelivered SET what = ?1, why = ?1 \
             WHERE turn IN (SELECT id FROM blanked_turns) \
                 OR said_by IN (SELECT id FROM blanked_turns)",
            ERASED_TEXT,
        ),
    ] {
        tx.change_rows(statement, [text])?;
    }
    change_all(
        tx,
        &[
            "UPDATE waits SET card = NULL, may_grant = NULL, shown = NULL \
                WHERE turn IN (SELECT id FROM blanked_turns)",
            "DELETE FROM failed_requests WHERE turn IN (SELECT id FROM blanked_turns)",
            // A summary may repeat any message before it.
            "UPDATE sessions SET summary = NULL, summary_to = 0, title = NULL WHERE id IN \
                (SELECT session FROM inbound WHERE id IN (SELECT id FROM blanked_messages))",
        ],
    )?;
    Ok(())
}

/// Removes the person from the admitted people, the pairing codes and the links.
fn remove_access(tx: &Tx<'_>, person: &PersonId) -> Result<u64> {
    let key = person_key(person);
    // A key has the code as people read it, with a dash. A card may be older than the kept codes, and
    // names the person in parentheses.
    let cards = format!(
        "SELECT id FROM outbox WHERE key LIKE 'pair %' AND (replace(key, '-', '') IN \
             (SELECT 'pair ' || code FROM pairings WHERE {BY_PERSON}) \
         OR instr(content, '(' || ?1 || ':' || ?2 || ':' || ?3 || ')') > 0 \
         OR instr(content, '(`' || ?1 || ':' || ?2 || ':' || ?3 || '`)') > 0)"
    );
    let chats = format!("SELECT channel, account, chat FROM private_chats WHERE {BY_PERSON}");
    let mut changed = 0;
    // The cards that asked the owners show the name and the first message.
    for statement in [
        format!("DELETE FROM outbox WHERE edits IN ({cards})"),
        format!("DELETE FROM outbox WHERE id IN ({cards})"),
        format!("DELETE FROM stop_told WHERE (channel, account, chat) IN ({chats})"),
    ] {
        tx.change_rows(&statement, key)?;
    }
    for statement in [
        format!("DELETE FROM links WHERE (channel, account, chat) IN ({chats})"),
        format!(
            "DELETE FROM links WHERE session IN \
                 (SELECT channel || ':' || account || ':' || chat FROM ({chats}))"
        ),
        format!("DELETE FROM private_chats WHERE {BY_PERSON}"),
        format!("DELETE FROM pairings WHERE {BY_PERSON}"),
        format!("DELETE FROM people WHERE {BY_PERSON}"),
    ] {
        changed += tx.change_rows(&statement, key)? as u64;
    }
    let (id, unknown) = (person.to_string(), MemoryAuthor::Process.to_string());
    tx.change_rows(
        "UPDATE memory_changes SET author = ?2 WHERE author = ?1",
        [MemoryAuthor::Person(person.clone()).to_string(), unknown],
    )?;
    tx.change_rows("UPDATE rules SET added_by = 'host' WHERE added_by = ?1", [&id])?;
    tx.change_rows("UPDATE rules SET removed_by = 'host' WHERE removed_by = ?1", [&id])?;
    tx.change_rows(
        "UPDATE stop_all SET stopped_by = 'host', stopped_in = NULL WHERE stopped_by = ?1",
        [&id],
    )?;
    Ok(changed)
}

/// Ends schedules, and removes rules for the person or the conversation. Returns their numbers.
fn remove_orders(tx: &Tx<'_>, person: Option<&PersonId>) -> Result<(u64, u64)> {
    let of_chats = "name IS NULL AND channel || ':' || account || ':' || chat \
        || coalesce(':' || topic, '') IN (SELECT id FROM erased_sessions)";
    let mut schedules = remove_schedules(tx, of_chats, ())?;
    let mut rules = tx.change_rows(
        "DELETE FROM rules WHERE scope IN (SELECT 'chat ' || id FROM erased_sessions)",
        (),
    )?;
    if let Some(person) = person {
        schedules += remove_schedules(tx, BY_PERSON, person_key(person))?;
        rules += tx.change_rows(
            "DELETE FROM rules WHERE scope = ?1",
            [MemoryScope::Person(person.clone()).to_string()],
        )?;
    }
    Ok((schedules, rules as u64))
}

fn remove_schedules(tx: &Tx<'_>, condition: &str, key: impl Params + Clone) -> Result<u64> {
    tx.change_rows(
        &format!(
            "DELETE FROM schedule_runs WHERE schedule IN \
                 (SELECT id FROM schedules WHERE {condition})"
        ),
        key.clone(),
    )?;
    Ok(tx.change_rows(&format!("DELETE FROM schedules WHERE {condition}"), key)? as u64)
}

fn remove_turns(tx: &Tx<'_>) -> Result<()> {
    let roots = tx.db.query_rows(
        "SELECT id FROM turns WHERE parent IS NULL AND id IN (SELECT id FROM erased_turns)",
        (),
        |row| row.get(0).map(TurnId),
    )?;
    // Edits of deliveries have no turn.
    tx.change_rows(
        "DELETE FROM outbox WHERE turn IS NULL AND edits IN (SELECT id FROM outbox \
         WHERE turn IN (SELECT id FROM erased_turns))",
        (),
    )?;
    for turn in roots {
        remove_turn(tx, turn)?;
    }
    Ok(())
}

/// Removes everything of the conversations beside their turns. Costs stay, without their
/// conversation.
fn remove_sessions(tx: &Tx<'_>) -> Result<()> {
    change_all(
        tx,
        &[
            "UPDATE memories SET message = NULL WHERE message IN (SELECT id FROM inbound \
                WHERE session IN (SELECT id FROM erased_sessions))",
            "UPDATE memories SET session = NULL WHERE session IN (SELECT id FROM erased_sessions)",
            "UPDATE usage SET session = NULL WHERE session IN (SELECT id FROM erased_sessions)",
            "DELETE FROM usage_sessions WHERE session IN (SELECT id FROM erased_sessions)",
            "DELETE FROM kept_results WHERE session IN (SELECT id FROM erased_sessions)",
            "DELETE FROM jobs WHERE session IN (SELECT id FROM erased_sessions) \
                OR message IN (SELECT id FROM inbound \
                    WHERE session IN (SELECT id FROM erased_sessions))",
            "DELETE FROM jobs WHERE message IN (SELECT id FROM blanked_messages)",
            "DELETE FROM undelivered WHERE session IN (SELECT id FROM erased_sessions)",
            "DELETE FROM reports WHERE session IN (SELECT id FROM erased_sessions) \
                OR said_from IN (SELECT id FROM erased_sessions)",
            "DELETE FROM grants WHERE session IN (SELECT id FROM erased_sessions)",
            "DELETE FROM links WHERE session IN (SELECT id FROM erased_sessions)",
            "UPDATE sessions SET branch_of = NULL WHERE branch_of IN \
                (SELECT id FROM erased_sessions)",
            "DELETE FROM inbound WHERE session IN (SELECT id FROM erased_sessions)",
            "DELETE FROM outbox WHERE turn IS NULL AND channel || ':' || account || ':' || chat \
                || coalesce(':' || topic, '') IN (SELECT id FROM erased_sessions)",
            "DELETE FROM events WHERE session IN (SELECT id FROM erased_sessions UNION ALL \
                    SELECT short_id FROM sessions WHERE id IN (SELECT id FROM erased_sessions)) \
                OR turn IN (SELECT id FROM erased_turns)",
            "DELETE FROM sessions WHERE id IN (SELECT id FROM erased_sessions)",
        ],
    )?;
    Ok(())
}

/// Empties the full-text indices, and fills that of the memories. The next search fills the other.
fn rebuild_indices(tx: &Tx<'_>) -> Result<()> {
    change_all(
        tx,
        &[
            "INSERT INTO memories_index (memories_index) VALUES ('delete-all')",
            "INSERT INTO memories_index (rowid, words) \
                SELECT id, words FROM memories WHERE state = 'active'",
            "INSERT INTO history_index (history_index) VALUES ('delete-all')",
            "DELETE FROM history_pending",
            "UPDATE history_mark SET turn = 0 WHERE only = 1",
        ],
    )?;
    Ok(())
}
