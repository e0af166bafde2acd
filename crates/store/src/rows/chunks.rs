//! Rows of `outbox`: a message has one row for each chunk.

use avocet_protocol::chat::{ChatAddress, Content, Planned};
use avocet_protocol::ids::{DedupeKey, TurnId};
use rusqlite::params;

use super::to_json;
use crate::tx::{Result, Tx};

/// The condition on `outbox` that a chunk is to be delivered. It is the same as that of the index
/// `outbox_open`, and no list, for which SQLite would build a temporary table.
pub(crate) const OPEN_CHUNK: &str =
    "(outbox.state = 'pending' OR outbox.state = 'sending' OR outbox.state = 'unknown')";

/// The condition on `outbox` that a row belongs to the delivery queue: it is no preview, or it
/// removes the message of one.
pub(crate) const DELIVERABLE: &str = "(outbox.source <> 'preview' OR outbox.edits = outbox.id)";

/// The assignments that queue an abandoned chunk again.
pub(crate) const QUEUE_AGAIN: &str = "repeat = max(repeat, state = 'unconfirmed'), state = 'pending', \
     not_before = 0, attempts = 0, error = NULL, failing_since = NULL, dropped_at = NULL";

/// Returns the condition that two rows are chunks of the same message.
pub(crate) fn same_message(one: &str, other: &str) -> String {
    format!(
        "({one}.channel, {one}.account, {one}.chat) = ({other}.channel, {other}.account, {other}.chat) \
             AND {one}.turn IS {other}.turn AND {one}.key IS {other}.key \
             AND {one}.ordinal = {other}.ordinal \
             AND ({one}.turn IS NOT NULL OR {one}.key IS NOT NULL OR {one}.id = {other}.id)"
    )
}

/// The origin of an outgoing message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutboxSource {
    /// The end of a turn, or a command.
    Reply,
    /// The message tool.
    Tool,
    /// The prompt of a waiting turn.
    Prompt,
    /// The daemon, about a dropped, abandoned or unconfirmed message.
    Notice,
    /// Another process.
    Process,
    /// An open turn: the reply as far as it is written.
    Preview,
}

impl OutboxSource {
    pub(crate) fn as_word(self) -> &'static str {
        match self {
            Self::Reply => "reply",
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Notice => "notice",
            Self::Process => "process",
            Self::Preview => "preview",
        }
    }
}

/// Appends a message to the outbox, one row for each chunk.
pub(crate) fn insert_planned(
    tx: &Tx<'_>,
    message: &Planned,
    turn: Option<TurnId>,
    source: OutboxSource,
) -> Result<()> {
    let ordinal = next_ordinal(tx, turn)?;
    insert_chunks(tx, message, 0, &ChunkPosition { turn, ordinal, chunk: 0, key: None, source })
}

/// Appends a message of the daemon itself.
pub(crate) fn insert_notice(tx: &Tx<'_>, notice: &Planned) -> Result<()> {
    insert_planned(tx, notice, None, OutboxSource::Notice)
}

/// Returns the ordinal after all messages of a turn.
pub(crate) fn next_ordinal(tx: &Tx<'_>, turn: Option<TurnId>) -> Result<i64> {
    tx.db.query_one(
        "SELECT coalesce(max(ordinal) + 1, 0) FROM outbox WHERE turn = ?1",
        [turn.map(|turn| turn.0)],
        |row| row.get(0),
    )
}

/// Appends the chunks of a message from index `first` on.
pub(crate) fn insert_chunks(
    tx: &Tx<'_>,
    message: &Planned,
    first: usize,
    position: &ChunkPosition<'_>,
) -> Result<()> {
    for (chunk, content) in message.chunks.iter().enumerate().skip(first) {
        insert_chunk(tx, &message.address, content, &ChunkPosition { chunk, ..*position })?;
    }
    Ok(())
}

/// The message to which a chunk belongs, and its position there.
pub(crate) struct ChunkPosition<'a> {
    pub(crate) turn: Option<TurnId>,
    pub(crate) ordinal: i64,
    pub(crate) chunk: usize,
    pub(crate) key: Option<&'a DedupeKey>,
    pub(crate) source: OutboxSource,
}

/// Returns `None` if the chat has used the key before.
///
/// The nonce is random instead of derived from the row number: a new, restored or copied database
/// uses numbers again that a platform may remember.
pub(crate) fn insert_chunk(
    tx: &Tx<'_>,
    address: &ChatAddress,
    content: &Content,
    position: &ChunkPosition<'_>,
) -> Result<Option<i64>> {
    tx.insert(
        "INSERT INTO outbox (id, channel, account, chat, topic, turn, ordinal, chunk, key, source, \
             content, state, created_at, nonce) \
         VALUES ((SELECT id FROM next_outbox), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'pending', \
             ?11, lower(hex(randomblob(8)))) \
         ON CONFLICT (channel, account, chat, key, chunk) WHERE key IS NOT NULL DO NOTHING",
        params![
            address.channel.as_str(),
            address.account.as_str(),
            address.chat.as_str(),
            address.topic.as_ref().map(avocet_protocol::ids::TopicId::as_str),
            position.turn.map(|turn| turn.0),
            position.ordinal,
            position.chunk,
            position.key.map(DedupeKey::as_str),
            position.source.as_word(),
            to_json(content)?,
            tx.now.0,
        ],
    )
}
