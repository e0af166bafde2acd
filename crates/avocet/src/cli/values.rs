//! Parsers of arguments that several commands have.

use avocet_gateway::MOST_ROWS;
use avocet_protocol::chat::{ChatAddress, SessionId};
use avocet_protocol::ids::IdError;

/// Parses the limit on a list's rows.
pub(crate) fn parse_rows(text: &str) -> Result<u32, String> {
    let rows = text.parse().ok().filter(|rows| (1..=MOST_ROWS).contains(rows));
    rows.ok_or_else(|| format!("must be a whole number from 1 to {MOST_ROWS}"))
}

/// Parses a session id, or the bare name of a conversation of the terminal.
pub(crate) fn session_id(text: &str) -> Result<SessionId, IdError> {
    if text.contains(':') { text.parse() } else { format!("terminal:local:{text}").parse() }
}

pub(crate) fn chat_address(text: &str) -> Result<ChatAddress, IdError> {
    session_id(text).map(|session| session.address())
}

/// A session or a chat as a person gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GivenSession {
    pub(crate) session: SessionId,
    /// The word, if it was no full address.
    pub(crate) word: Option<String>,
}

/// Parses as [`session_id`], and remembers a bare name.
pub(crate) fn given_session(text: &str) -> Result<GivenSession, IdError> {
    let word = (!text.contains(':')).then(|| text.to_owned());
    Ok(GivenSession { session: session_id(text)?, word })
}
