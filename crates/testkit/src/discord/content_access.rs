//! The access of the bot to the content of messages.

/// The intent and permission to read the content of messages in guilds (Message Content Intent,
/// gateway reference).
pub(super) const MESSAGE_CONTENT: u64 = 1 << 15;

/// The bot's access to the content of messages in guilds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentAccess {
    Granted,
    /// Of other messages than those to and from the bot, the content is empty.
    Denied,
}
