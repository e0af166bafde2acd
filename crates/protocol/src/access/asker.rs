//! The author of the request that a turn works on.

use crate::access::PersonId;
use crate::chat::{ChatAddress, ChatKind, SessionId};

/// The author of the request that a turn works on, and its chat. A child turn and a scheduled run
/// work for the person who asked for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    /// The chat of the request.
    pub address: ChatAddress,
    /// Private or group.
    pub chat: ChatKind,
    /// The author of the request.
    pub person: PersonId,
    /// The session of the chat: its own, or the one that the chat is linked to.
    pub session: SessionId,
    /// The person of the session's own chat; `None` unless this chat is linked to the session.
    pub linked: Option<PersonId>,
}
