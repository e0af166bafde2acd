//! Drafts of answers, which a platform shows while they are written.

use std::time::Duration;

/// The reason why a draft was not shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DraftError {
    /// The chat shows no drafts, so a growing answer needs a message.
    #[error("the platform shows no drafts in this chat")]
    Unsupported,
    /// The rate limits of the platform have no room for a draft before this time has passed.
    #[error("the platform has no room for drafts for {0:?}")]
    Later(Duration),
    /// The request failed. A later one can succeed.
    #[error("{0}")]
    Failed(String),
}
