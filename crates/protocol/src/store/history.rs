//! The port of the search in past conversations.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::Result;
use crate::access::Trust;
use crate::chat::{Inbound, SessionId};
use crate::clock::Timestamp;
use crate::ids::TurnId;

/// Full-text search over the turns in the log, including those before `/new`.
#[async_trait]
pub trait History: fmt::Debug + Send + Sync {
    /// Returns the texts that match any word of the query, best first. Updates the
    /// index first, so that other operations of the log need not.
    ///
    /// Of these texts, only those are returned that the requester has seen:
    ///
    /// - those of the session of the request;
    /// - if all messages of the request are private and from one sender, also those of all turns
    ///   whose messages are private and from that sender.
    ///
    /// The turn of the request itself is left out.
    async fn search_history(&self, query: &HistoryQuery) -> Result<Vec<HistoryHit>>;

    /// Works as [`Self::search_history`] for an operator: in all conversations, or in those of the
    /// filter. Turns that have not ended are left out.
    async fn search_all_history(&self, query: &WideHistoryQuery) -> Result<Vec<HistoryHit>>;
}

/// A question about past conversations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryQuery {
    /// The turn that asks. The scope is that of its root turn.
    pub turn: TurnId,
    /// The words to look for.
    pub words: String,
    /// Only texts before this time.
    pub before: Option<Timestamp>,
    /// Maximum number of texts.
    pub limit: usize,
}

/// A question about the past conversations of all people.
#[derive(Debug, Clone)]
pub struct WideHistoryQuery {
    /// The words to look for.
    pub words: String,
    /// Maximum number of texts.
    pub limit: usize,
    /// The conversations to search; `None` for all.
    pub sessions: Option<SessionFilter>,
}

/// Selects conversations.
#[derive(Clone)]
pub struct SessionFilter(pub Arc<dyn Fn(&SessionId) -> bool + Send + Sync>);

impl fmt::Debug for SessionFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionFilter")
    }
}

/// A text of a past conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryHit {
    /// The conversation.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The time of writing.
    pub at: Timestamp,
    /// The author.
    pub author: HistoryAuthor,
    /// The whole text.
    pub text: String,
    /// Upper limit of the trust level of the text. The level of a message also depends on the role
    /// of its sender.
    pub trust: Trust,
}

/// The author of a text in a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum HistoryAuthor {
    /// A person, by the message.
    Person(Box<Inbound>),
    /// The model.
    Agent,
    /// The daemon, which explains in a notice why there is no answer.
    Notice,
}
