//! The port to the daemon: methods of the socket, called with the rights of one client.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use avocet_gateway::{RpcError, SocketMethod};
use avocet_protocol::chat::SessionId;
use avocet_protocol::store::EventSeq;
use rmcp::model::Extensions;
use serde_json::Value;
use tokio_util::sync::DropGuard;

/// The reason why a method has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MethodError {
    /// The daemon's reason.
    #[error(transparent)]
    Refused(#[from] RpcError),
    /// The daemon cannot be reached; the outcome of the method is unknown.
    #[error("{0}")]
    Lost(String),
}

/// The events of one session, as in the event log. Dropping the feed ends it.
#[derive(Debug)]
pub struct SessionFeed {
    /// The events as JSON, in order. Disconnected when the daemon is lost.
    pub events: flume::Receiver<Value>,
    /// The last event before the feed.
    pub from: EventSeq,
    /// Ends the tasks behind the feed.
    pub end: DropGuard,
}

/// The methods of the socket, with the rights of one client.
#[async_trait]
pub trait SocketMethods: fmt::Debug + Send + Sync {
    /// Calls a method. `wait` may be dropped; other methods run to their end.
    ///
    /// # Errors
    /// [`MethodError`] with the reason of the daemon, or if the daemon is lost.
    async fn call_by_name(&self, method: &'static str, params: Value)
    -> Result<Value, MethodError>;

    /// Follows the events of a session behind `from`, or from now on. With `delivers`, confirms the
    /// messages to the session's chat, because the client of this server reads them in the result of
    /// its call.
    ///
    /// # Errors
    /// [`MethodError`] as in [`Self::call_by_name`].
    async fn follow(
        &self,
        session: &SessionId,
        from: Option<EventSeq>,
        delivers: bool,
    ) -> Result<SessionFeed, MethodError>;
}

impl dyn SocketMethods + '_ {
    /// Calls a method. `wait` may be dropped; other methods run to their end.
    ///
    /// # Errors
    /// [`MethodError`] with the reason of the daemon, or if the daemon is lost.
    pub async fn call<M: SocketMethod>(&self, params: Value) -> Result<Value, MethodError> {
        self.call_by_name(M::NAME, params).await
    }
}

/// The client of a request.
#[derive(Debug, Clone)]
pub struct McpCaller {
    /// The methods, with the rights of the client.
    pub methods: Arc<dyn SocketMethods>,
    /// The name of its token; `None` if the transport has no tokens.
    pub token_name: Option<String>,
}

/// The transport's part that knows the client of each request.
pub trait McpHost: fmt::Debug + Send + Sync {
    /// Returns the client of a request with these extensions; `None` if it is unknown.
    fn caller(&self, extensions: &Extensions) -> Option<McpCaller>;
}
