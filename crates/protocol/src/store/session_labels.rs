//! The port through which people name, pin and archive conversations.

use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Result;
use crate::chat::SessionId;

/// Changes the labels of conversations: how lists show them.
#[async_trait]
pub trait SessionLabels: fmt::Debug + Send + Sync {
    /// Changes the labels of a session in one transaction. `false` if the session does not exist.
    /// Durable when this returns.
    async fn change_labels(&self, change: &ChangeSession) -> Result<bool>;
}

/// `sessions.change`: names, pins or archives a conversation. The result is null. What is left out
/// stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeSession {
    /// The session.
    pub session: SessionId,
    /// The title: one line of at most 80 characters. An empty text removes it, and the first message
    /// is the title again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `true` to list the session as pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_pinned: Option<bool>,
    /// `true` to archive the session. The next message ends that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_archived: Option<bool>,
}

/// The sessions of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SessionGroup {
    /// Neither pinned nor archived.
    Other,
    /// Pinned, and not archived.
    Pinned,
    /// Archived.
    Archived,
}

impl SessionGroup {
    /// In the order of declaration.
    pub const ALL: [Self; 3] = [Self::Other, Self::Pinned, Self::Archived];

    /// The word in the method.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Pinned => "pinned",
            Self::Archived => "archived",
        }
    }
}
