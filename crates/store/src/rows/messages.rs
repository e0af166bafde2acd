//! Rows of `inbound`.

use avocet_protocol::chat::{
    ChatAddress, ChatKind, Content, Inbound, InboundKind, LoggedInbound, NewInbound, Outcome,
    Sender, SessionId,
};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{
    AccountName, ChannelName, ChatId, MessageId, SenderId, TopicId, TurnId,
};
use rusqlite::types::ValueRef;
use rusqlite::{Row, params};

use super::{
    RowResult, at, json_column, parse_column, parsed_if_any, repeated_column, text_bytes,
    word_column,
};
use crate::tx::{Db, Result, Tx};

/// `inbound.after_step` of a message that answered a question of its turn and ends with it.
pub(crate) const ANSWERED: i64 = -1;

/// Condition for messages of session ?1 that may be answered now.
pub(crate) const NEXT: &str = "session = ?1 AND state = 'queued' AND turn IS NULL \
    AND kind = 'text' AND id < coalesce((SELECT min(id) FROM inbound WHERE session = ?1 \
        AND state = 'queued' AND turn IS NULL AND kind = 'command'), 9223372036854775807)";

/// Columns that [`MessageReader`] reads.
pub(crate) const INBOUND: &str = "SELECT id, session, channel, account, chat, topic, chat_kind, \
    key, sender, sender_name, is_bot, kind, content, removed, received_at, written_at, \
    corrects, edited_at, trust, turn, after_step, is_copied FROM inbound";

/// Returns `true` if a copy of a message that [`INBOUND`] reads was queued.
pub(crate) fn is_copied(row: &Row<'_>) -> RowResult<bool> {
    row.get(at!(INBOUND, "is_copied"))
}

/// Returns the bytes of the content of a message that [`INBOUND`] reads.
pub(crate) fn content_bytes(row: &Row<'_>) -> RowResult<usize> {
    text_bytes(row, at!(INBOUND, "content"))
}

/// Reads a message from the columns of [`INBOUND`].
pub(crate) fn inbound_from_row(row: &Row<'_>) -> RowResult<LoggedInbound> {
    MessageReader::default().read_message(row)
}

/// Reads messages of a conversation, which have most of their ids in common.
#[derive(Default)]
pub(crate) struct MessageReader {
    session: Option<SessionId>,
    channel: Option<ChannelName>,
    account: Option<AccountName>,
    chat: Option<ChatId>,
    topic: Option<TopicId>,
    sender: Option<SenderId>,
}

impl MessageReader {
    /// Reads a message from the columns of [`INBOUND`].
    pub(crate) fn read_message(&mut self, row: &Row<'_>) -> RowResult<LoggedInbound> {
        let address = ChatAddress {
            channel: repeated_column(row, at!(INBOUND, "channel"), &mut self.channel)?,
            account: repeated_column(row, at!(INBOUND, "account"), &mut self.account)?,
            chat: repeated_column(row, at!(INBOUND, "chat"), &mut self.chat)?,
            topic: match row.get_ref(at!(INBOUND, "topic"))? {
                ValueRef::Null => None,
                _ => Some(repeated_column(row, at!(INBOUND, "topic"), &mut self.topic)?),
            },
        };
        Ok(LoggedInbound {
            id: MessageId(row.get(at!(INBOUND, "id"))?),
            received_at: Timestamp(row.get(at!(INBOUND, "received_at"))?),
            message: NewInbound {
                session: repeated_column(row, at!(INBOUND, "session"), &mut self.session)?,
                kind: word_column(row, at!(INBOUND, "kind"), &KINDS, kind_word)?,
                inbound: Inbound {
                    address,
                    sender: Sender {
                        id: repeated_column(row, at!(INBOUND, "sender"), &mut self.sender)?,
                        name: row.get(at!(INBOUND, "sender_name"))?,
                        is_bot: row.get(at!(INBOUND, "is_bot"))?,
                    },
                    key: parse_column(row, at!(INBOUND, "key"))?,
                    content: json_column::<Content>(row, at!(INBOUND, "content"))?,
                    chat: word_column(
                        row,
                        at!(INBOUND, "chat_kind"),
                        &ChatKind::ALL,
                        ChatKind::as_str,
                    )?,
                    written_at: row
                        .get::<_, Option<i64>>(at!(INBOUND, "written_at"))?
                        .map(Timestamp),
                    corrects: parsed_if_any(row, at!(INBOUND, "corrects"))?,
                    from_platform: false,
                    by_owner: false,
                    edited_at: row.get::<_, Option<i64>>(at!(INBOUND, "edited_at"))?.map(Timestamp),
                },
                removed: row.get(at!(INBOUND, "removed"))?,
                trust: super::trust_column(row, at!(INBOUND, "trust"))?,
            },
        })
    }
}

pub(crate) fn kind(row: &Row<'_>) -> RowResult<InboundKind> {
    word_column(row, "kind", &KINDS, kind_word)
}

const KINDS: [InboundKind; 2] = [InboundKind::Text, InboundKind::Command];

pub(crate) fn kind_word(kind: InboundKind) -> &'static str {
    match kind {
        InboundKind::Text => "text",
        InboundKind::Command => "command",
    }
}

/// Returns the messages that steered a turn after one of its steps.
pub(crate) fn steering_messages(db: Db<'_>, turn: TurnId, step: u32) -> Result<Vec<LoggedInbound>> {
    db.query_rows(
        &format!("{INBOUND} WHERE turn = ?1 AND after_step = ?2 ORDER BY id"),
        params![turn.0, step],
        inbound_from_row,
    )
}

/// Returns `true` if the turn works for this author, who may then answer its questions.
pub(crate) fn has_asked(tx: &Tx<'_>, turn: TurnId, inbound: &Inbound) -> Result<bool> {
    let Inbound { address, sender, .. } = inbound;
    let asked = tx.db.query_row(
        "SELECT 1 FROM inbound WHERE turn = ?1 AND channel = ?2 AND account = ?3 AND sender = ?4",
        params![turn.0, address.channel.as_str(), address.account.as_str(), sender.id.as_str()],
        |_| Ok(()),
    )?;
    Ok(asked.is_some())
}

pub(crate) fn end_message(tx: &Tx<'_>, id: MessageId, outcome: Outcome) -> Result<()> {
    let state = if outcome == Outcome::Dropped { "dead" } else { "done" };
    tx.update_one(
        id,
        "UPDATE inbound SET state = ?2, outcome = ?3 WHERE id = ?1 AND state <> 'done' \
             AND state <> 'dead'",
        params![id.0, state, outcome.as_str()],
    )
}
