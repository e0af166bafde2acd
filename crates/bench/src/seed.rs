//! Old conversations for the log of a stopped daemon, in the form that the daemon would have
//! written.

use std::fmt;
use std::path::Path;

use anyhow::Result;
use avocet_text::index_text;
use rusqlite::{Connection, Transaction};

use crate::fake::REPLY;
use crate::load::QUESTION;
use crate::units::{count, plural};

/// The content of a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seed {
    pub(crate) chats: usize,
    /// Finished and delivered turns of each chat: two messages each.
    pub(crate) turns: usize,
    pub(crate) when: SeedDay,
    /// Each answer has [`LONG_ANSWER_BYTES`] instead of a word.
    pub(crate) has_long_answers: bool,
    /// Memories that everyone reads.
    pub(crate) memories: usize,
}

/// The day of the old turns, and so of their answers in the ledger.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SeedDay {
    #[default]
    Past,
    Today,
}

impl Seed {
    /// Returns the name of a seeded chat; the first is 0.
    pub(crate) fn chat(number: usize) -> String {
        format!("terminal:local:old{number}")
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { chats, turns, when, has_long_answers, memories } = self;
        let day = match when {
            SeedDay::Past => "days ago",
            SeedDay::Today => "today",
        };
        write!(f, "{} with {} messages each, {day}", plural(*chats, "chat"), count(turns * 2))?;
        if *has_long_answers {
            write!(f, ", answers of {} bytes", count(LONG_ANSWER_BYTES))?;
        }
        if *memories > 0 {
            write!(f, ", {} memories", count(*memories))?;
        }
        Ok(())
    }
}

/// Bytes of a long answer.
const LONG_ANSWER_BYTES: usize = 1_000_000;

/// Turns of all chats take turns: number `i` belongs to chat `i % :chats`.
const FILL: &str = "
    PRAGMA synchronous = OFF;
    BEGIN;
    CREATE TEMP TABLE n AS WITH RECURSIVE n (i) AS
        (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :chats * :turns)
        SELECT i + 1 AS i, i % :chats AS chat, 'terminal:local:old' || (i % :chats) AS session,
            :begin + i AS at FROM n;
    INSERT INTO sessions (id, used_at) SELECT session, max(at) FROM n GROUP BY session;
    INSERT INTO turns (id, session, state, started_at, ended_at)
        SELECT i, session, 'done', at, at FROM n;
    INSERT INTO inbound (session, channel, account, chat, key, sender, kind, content, removed,
            state, outcome, turn, received_at)
        SELECT session, 'terminal', 'local', 'old' || chat, hex(randomblob(18)),
            'uid:1000', 'text', '{\"text\":\":question\"}', 0, 'done', 'replied', i, at FROM n;
    INSERT INTO steps (turn, number, text, input_tokens, output_tokens, closed)
        SELECT i, 0, :answer, 12, 3, 1 FROM n;
    INSERT INTO outbox (channel, account, chat, turn, ordinal, chunk, source, content, state,
            attempts, created_at, first_sent_at)
        SELECT 'terminal', 'local', 'old' || chat, i, 0, 0, 'reply', '{\"text\":\":reply\"}',
            'sent', 1, at, at FROM n;
    INSERT INTO usage (at, session, turn, purpose, model, input, cached, cache_written, output)
        SELECT at, session, i, 'answer', 'fake/fake', 12, 0, 0, 3 FROM n;
    DROP TABLE n;
    COMMIT;
    PRAGMA wal_checkpoint(TRUNCATE);
";

/// Writes old turns into the log of a stopped daemon that has had no turn.
pub(crate) fn fill(database: &Path, seed: Seed) -> Result<()> {
    let Seed { chats, turns, when, has_long_answers, memories } = seed;
    let days = match when {
        SeedDay::Past => 3,
        SeedDay::Today => 0,
    };
    let mut connection = Connection::open(database)?;
    let now: i64 = connection.query_row("SELECT unixepoch() * 1000", (), |row| row.get(0))?;
    let of_today = now - now % 86_400_000;
    let begin = of_today - days * 86_400_000;
    let answer = if has_long_answers {
        format!("substr(hex(zeroblob({LONG_ANSWER_BYTES})), 1, {LONG_ANSWER_BYTES})")
    } else {
        format!("'{REPLY}'")
    };
    let values = [
        (":chats", chats.to_string()),
        (":turns", turns.to_string()),
        (":begin", begin.to_string()),
        (":question", QUESTION.to_owned()),
        (":reply", REPLY.to_owned()),
        (":answer", answer),
    ];
    let sql = values.iter().fold(FILL.to_owned(), |sql, (name, value)| sql.replace(name, value));
    connection.execute_batch(&sql)?;
    let transaction = connection.transaction()?;
    fill_memories(&transaction, memories, now)?;
    transaction.commit()?;
    Ok(connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?)
}

/// Writes memories of a person. One in a hundred is about a ferry, and one in three about the harbour.
fn fill_memories(transaction: &Transaction<'_>, memories: usize, now: i64) -> Result<()> {
    let mut memory = transaction.prepare(
        "INSERT INTO memories (scope, text, words, said_by, written_at) \
         VALUES ('everyone', ?1, ?2, 'terminal:local:uid:1000', ?3)",
    )?;
    let mut change = transaction.prepare(
        "INSERT INTO memory_changes (memory, at, author, kind, text_after, trust_after) \
         VALUES (?1, ?2, 'person terminal:local:uid:1000', 'written', ?3, 'full')",
    )?;
    for number in 0..memories {
        let what = if number % 100 == 0 { "ferry" } else { "house" };
        let place = if number % 3 == 0 { "harbour" } else { "street" };
        let text =
            format!("The {what} {number} in the {place} is blue and was painted last summer.");
        memory.execute((&text, index_text(&text), now))?;
        change.execute((transaction.last_insert_rowid(), now, &text))?;
    }
    Ok(())
}
