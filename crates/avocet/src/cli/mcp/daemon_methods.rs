//! The methods of the daemon over its socket, for an MCP server in this process.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_gateway::{
    AttachParams, Client, ClientError, EventBatch, Hello, Incoming, Subscribe, Subscribed,
};
use avocet_mcp_server::{Extensions, McpCaller, McpHost, MethodError, SessionFeed, SocketMethods};
use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Clock;
use avocet_protocol::ignore_result;
use avocet_protocol::store::EventSeq;
use avocet_supervise::Group;
use avocet_text::Secret;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// The most events that wait for a call.
const BEHIND: usize = 64;
/// The time for the deliveries of an answer after its call has ended.
const AFTER_THE_ANSWER: Duration = Duration::from_secs(30);

/// A daemon behind its socket. Connects again after a restart of the daemon.
pub(super) struct DaemonMethods {
    socket: PathBuf,
    hello: Hello,
    clock: Arc<dyn Clock>,
    group: Group,
    client: Mutex<Option<Arc<Client>>>,
}

impl fmt::Debug for DaemonMethods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DaemonMethods").field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl DaemonMethods {
    pub(super) fn new(socket: PathBuf, hello: Hello, clock: Arc<dyn Clock>, group: Group) -> Self {
        Self { socket, hello, clock, group, client: Mutex::default() }
    }

    /// Checks that the daemon accepts the client.
    pub(super) async fn check(&self) -> Result<(), ClientError> {
        let client = self.connect().await?;
        *self.client.lock().await = Some(Arc::new(client));
        Ok(())
    }

    async fn connect(&self) -> Result<Client, ClientError> {
        let connected = Client::connect(&self.socket, &self.group).await;
        let client = connected.map_err(|_| ClientError::Lost)?;
        let Hello { client: name, token, .. } = &self.hello;
        if name.is_some() {
            let token = token.as_ref().map(Secret::expose);
            let hello = json!({ "client": name, "token": token });
            client.call_with_json::<Hello>(hello).await?;
        }
        Ok(client)
    }

    /// Returns the connection for short calls, and makes a new one if it is lost.
    async fn client(&self) -> Result<Arc<Client>, ClientError> {
        let mut client = self.client.lock().await;
        if let Some(open) = client.as_ref().filter(|open| !open.incoming().is_disconnected()) {
            return Ok(open.clone());
        }
        let new = Arc::new(self.connect().await?);
        *client = Some(new.clone());
        Ok(new)
    }

    fn error(&self, error: ClientError) -> MethodError {
        match error {
            ClientError::Refused(refusal) => MethodError::Refused(refusal),
            ClientError::Unreadable(_) => MethodError::Lost(error.to_string()),
            ClientError::Lost => MethodError::Lost(format!(
                "the connection to the daemon at {} was lost; start it again with `avocet run`",
                self.socket.display()
            )),
        }
    }

    async fn subscribe_session(
        &self,
        session: &SessionId,
        from: Option<EventSeq>,
        delivers: bool,
    ) -> Result<(Client, EventSeq), ClientError> {
        let client = self.connect().await?;
        if delivers {
            client.call::<AttachParams>(&AttachParams::to_chat(session.address())).await?;
        }
        let subscribe = Subscribe { session: Some(session.clone()), from, ..Subscribe::default() };
        let subscribed: Subscribed = client.call::<Subscribe>(&subscribe).await?;
        Ok((client, subscribed.from))
    }
}

#[async_trait]
impl SocketMethods for DaemonMethods {
    async fn call_by_name(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<Value, MethodError> {
        let called = async { self.client().await?.call_by_name(method, params).await };
        called.await.map_err(|error| self.error(error))
    }

    async fn follow(
        &self,
        session: &SessionId,
        from: Option<EventSeq>,
        delivers: bool,
    ) -> Result<SessionFeed, MethodError> {
        let subscribed = self.subscribe_session(session, from, delivers).await;
        let (client, from) = subscribed.map_err(|error| self.error(error))?;
        let (sender, events) = flume::bounded(BEHIND);
        let (ended, clock) = (CancellationToken::new(), self.clock.clone());
        let end = ended.clone().drop_guard();
        let stopped = self.group.cancel_token();
        self.group.spawn("mcp-events", async move {
            let left = async {
                ended.cancelled().await;
                if delivers {
                    clock.sleep(AFTER_THE_ANSWER).await;
                }
            };
            tokio::select! {
                () = pass_on(&client, &sender) => {}
                () = left => {}
                () = stopped.cancelled() => {}
            }
        });
        Ok(SessionFeed { events, from, end })
    }
}

/// Passes events on, and confirms deliveries.
async fn pass_on(client: &Client, events: &flume::Sender<Value>) {
    while let Ok(incoming) = client.incoming().recv_async().await {
        match incoming {
            Incoming::Deliver { shown, .. } => shown.confirm().await,
            Incoming::Event(_) | Incoming::Editor(_) | Incoming::Output(_) => {}
            Incoming::Events { batch: EventBatch { events: batch, .. }, confirmation } => {
                for event in batch {
                    ignore_result(
                        events.send_async(json!(event)).await,
                        "after the end of the call only deliveries count",
                    );
                }
                confirmation.confirm().await;
            }
        }
    }
}

/// All requests on stdin are of one client.
#[derive(Debug)]
pub(super) struct StdioHost(pub(super) Arc<DaemonMethods>);

impl McpHost for StdioHost {
    fn caller(&self, _: &Extensions) -> Option<McpCaller> {
        Some(McpCaller { methods: self.0.clone(), token_name: None })
    }
}
