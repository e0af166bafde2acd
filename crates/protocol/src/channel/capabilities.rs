//! The abilities of a channel's platform.

use std::time::Duration;

/// The abilities of a platform. They stay the same as long as the channel lives, so that callers may
/// ask for them at any time; an ability that depends on the chat is a method of [`crate::channel::Channel`].
///
/// The default is a platform that shows complete replies only, and changes nothing that it has
/// shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChannelCapabilities {
    /// The shortest time between two edits of a preview, which is a message that grows while the
    /// model writes. `None` if the channel shows only complete replies.
    pub preview_interval: Option<Duration>,
    /// `true` if a sent message can be replaced. A question then becomes its outcome.
    pub can_edit: bool,
    /// `true` if a block of code that takes several messages is sent as a file instead.
    pub sends_code_as_files: bool,
    /// `true` if the platform has polls ([`crate::chat::Content::poll`]). Other chats get the answers as a
    /// numbered list.
    pub has_polls: bool,
    /// `true` if the platform keeps a copy of each file that it was sent. The recording of an answer
    /// is then deleted from the workspace.
    pub keeps_files: bool,
    /// `true` if the platform loses button presses while the daemon is down. The person believes
    /// that the press worked, so open questions are asked again at the next start.
    pub forgets_presses: bool,
    /// The action that follows a send of unknown outcome.
    pub on_unknown: OnUnknown,
}

/// The action that follows a send of unknown outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnUnknown {
    /// The chunk is sent again once, visibly marked. If that outcome is unknown too, the chunk is
    /// unconfirmed.
    #[default]
    RepeatMarked,
    /// The chunk can be sent again, because the platform recognises it, or because it is an edit.
    RepeatSafe,
}
