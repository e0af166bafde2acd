//! The port of the stop of everything, which an owner begins and ends.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::{Actor, Result};
use crate::chat::{ChatAddress, LoggedInbound, Planned, SessionId};
use crate::clock::Timestamp;
use crate::ids::TurnId;

/// A stop of everything that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopInForce {
    /// Its begin.
    pub at: Timestamp,
    /// The id of the owner, or `host` for the command line.
    pub by: String,
    /// The chat in which the owner wrote; `None` for the command line.
    pub chat: Option<ChatAddress>,
}

/// A turn that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenWork {
    /// The turn.
    pub turn: TurnId,
    /// Its session.
    pub session: SessionId,
    /// The last message that it answers; `None` for the turn of a sub-agent.
    pub asker: Option<LoggedInbound>,
}

/// Stops everything for the operator, and lets it go on.
#[async_trait]
pub trait StopControl: fmt::Debug + Send + Sync {
    /// Begins the stop and ends all work. Returns `false` if it is in force already.
    async fn stop_everything(&self) -> Result<bool>;

    /// Ends the stop. Returns `false` if none is in force.
    async fn resume_everything(&self) -> Result<bool>;
}

/// Stops everything, and lets it go on. While the stop is in force, no turn can be claimed and no
/// schedule is due. Messages are accepted as always and wait.
#[async_trait]
pub trait StopAll: fmt::Debug + Send + Sync {
    /// The stop in force, from memory.
    fn current_stop(&self) -> Arc<Option<StopInForce>>;

    /// Begins the stop. Returns `false` if it is in force already. Durable when this returns. Open
    /// turns go on until [`Self::end_work`].
    async fn stop_all(&self, by: &Actor, chat: Option<&ChatAddress>) -> Result<bool>;

    /// Ends the stop. Returns `false` if none is in force. Durable when this returns.
    async fn resume_all(&self, by: &Actor) -> Result<bool>;

    /// The turns that have not ended, those of sub-agents behind their parents.
    async fn open_work(&self) -> Result<Vec<OpenWork>>;

    /// Ends a turn and its children because of the stop, and sends the notice to its chat unless the
    /// chat has got one. Returns all turns that were ended.
    async fn end_work(&self, turn: TurnId, notice: Option<&Planned>) -> Result<Vec<TurnId>>;

    /// The first waiting message of each chat of a session that has got no notice about the stop.
    async fn untold_messages(&self, session: &SessionId) -> Result<Vec<LoggedInbound>>;

    /// Sends the notice that the messages of its chat wait, unless the chat has got one or the stop
    /// has ended. Returns `true` if it is sent.
    async fn tell_chat(&self, notice: &Planned) -> Result<bool>;
}
