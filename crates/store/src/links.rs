//! The sessions of linked chats.

use avocet_protocol::chat::{ChatAddress, SessionId};
use avocet_protocol::store::StoreError;

use crate::rows::{chat_key, parse_column};
use crate::tx::{Result, Tx};

/// Returns the session that the chat uses: its own, or another one by a link.
pub(crate) fn session_of_chat(tx: &Tx<'_>, chat: &ChatAddress) -> Result<SessionId> {
    let linked = tx.db.query_row(
        "SELECT session FROM links WHERE channel = ?1 AND account = ?2 AND chat = ?3",
        chat_key(chat),
        |row| parse_column(row, "session"),
    )?;
    let own =
        || SessionId::from_address(chat).map_err(|error| StoreError::Internal(error.to_string()));
    linked.map_or_else(own, Ok)
}
