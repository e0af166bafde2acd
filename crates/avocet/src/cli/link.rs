//! The terminal's link to a daemon over the socket. Reconnects after a break.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use avocet_gateway::{
    Ask, AttachParams, ChunkConfirmation, Client, ClientError, ClientMethod, Incoming, ListUsage,
    ShowSession, ShowStatus, Wait,
};
use avocet_protocol::chat::{ChatAddress, SessionId};
use avocet_protocol::clock::{Clock, Timestamp};
use avocet_protocol::ids::{DedupeKey, DeliveryId, MessageId};
use avocet_protocol::store::{MessageStatus, UsageBy, UsageRow};
use avocet_protocol::turn::TurnRecord;
use avocet_supervise::{Backoff, Group};
use avocet_terminal::{ChatFigures, DaemonNotice, LinkError, SaidChunk, TerminalLink};

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// Remarks that wait to be shown. Further ones are dropped.
const REMARKS: usize = 16;
/// The time for the answer to a request whose result is only shown.
const LOOK_UP_TIMEOUT: Duration = Duration::from_secs(5);

/// A link to the daemon behind a socket.
pub(crate) struct DaemonLink {
    socket: PathBuf,
    session: SessionId,
    clock: Arc<dyn Clock>,
    opened_at: Timestamp,
    group: Group,
    client: tokio::sync::Mutex<Arc<Client>>,
    /// `true` from the discovery of a loss until the next connection is made.
    is_lost: AtomicBool,
    /// Remarks about the connection. They come before anything from the next connection.
    remarks: (flume::Sender<String>, flume::Receiver<String>),
    /// Lines that the program logs meanwhile.
    log: flume::Receiver<String>,
    unanswered: Mutex<HashMap<DeliveryId, ChunkConfirmation>>,
}

impl fmt::Debug for DaemonLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DaemonLink").field("session", &self.session).finish_non_exhaustive()
    }
}

impl DaemonLink {
    /// Attaches a connected client to the session's chat.
    pub(crate) async fn attach(
        socket: PathBuf,
        session: SessionId,
        client: Client,
        log: flume::Receiver<String>,
        clock: Arc<dyn Clock>,
        group: Group,
    ) -> Result<Self, ClientError> {
        attach(&client, session.address()).await?;
        Ok(Self {
            socket,
            session,
            opened_at: clock.now(),
            clock,
            group,
            client: tokio::sync::Mutex::new(Arc::new(client)),
            is_lost: AtomicBool::new(false),
            remarks: flume::bounded(REMARKS),
            log,
            unanswered: Mutex::default(),
        })
    }

    /// Returns the connection. If it is lost, remarks it, waits for the daemon to come back and
    /// makes a new one. Another call continues if this one is cancelled meanwhile.
    async fn client(&self) -> Arc<Client> {
        let mut client = self.client.lock().await;
        if client.incoming().is_disconnected() {
            if !self.is_lost.swap(true, Ordering::Relaxed) {
                self.add_remark("The connection to the daemon was lost. Reconnecting.");
            }
            *client = Arc::new(self.reconnect().await);
            self.is_lost.store(false, Ordering::Relaxed);
            self.add_remark("The daemon is back.");
        }
        client.clone()
    }

    async fn reconnect(&self) -> Client {
        let mut waits = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        loop {
            self.clock.sleep(waits.next_wait()).await;
            if let Ok(client) = Client::connect(&self.socket, &self.group).await
                && attach(&client, self.session.address()).await.is_ok()
            {
                return client;
            }
        }
    }

    /// Makes a request, and repeats it if the connection broke before the answer.
    async fn call<M: ClientMethod>(&self, params: &M::Params) -> Result<M::Answer, LinkError> {
        loop {
            match self.client().await.call::<M>(params).await {
                Err(ClientError::Lost) => {}
                Err(ClientError::Refused(refusal)) => return Err(LinkError(refusal.to_string())),
                Err(error) => return Err(LinkError(error.to_string())),
                Ok(answer) => return Ok(answer),
            }
        }
    }

    /// Asks for something that is only shown. Returns `None` at once while the connection is lost, and
    /// after [`LOOK_UP_TIMEOUT`] without an answer.
    async fn look_up<M: ClientMethod>(&self, params: &M::Params) -> Option<M::Answer> {
        let method = M::NAME;
        let client = self.client.try_lock().ok()?.clone();
        let answer = tokio::select! {
            answer = client.call::<M>(params) => answer,
            () = self.clock.sleep(LOOK_UP_TIMEOUT) => {
                tracing::debug!(method, "the daemon does not answer in time");
                return None;
            }
        };
        answer.inspect_err(|error| tracing::debug!(%error, method, "nothing to show")).ok()
    }

    fn add_remark(&self, text: &str) {
        self.remarks.0.try_send(text.to_owned()).unwrap_or_default();
    }

    fn notice_of(&self, incoming: Incoming) -> Option<DaemonNotice> {
        Some(match incoming {
            Incoming::Event(event) => DaemonNotice::Event(event),
            // The link subscribes to nothing.
            Incoming::Events { .. } | Incoming::Editor(_) | Incoming::Output(_) => return None,
            Incoming::Deliver { chunk, shown } => {
                let mut open = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
                open.insert(chunk.id, shown);
                DaemonNotice::Said(SaidChunk {
                    id: chunk.id,
                    turn: chunk.turn,
                    text: chunk.text,
                    choices: chunk.choices,
                    repeat: chunk.repeat,
                })
            }
        })
    }
}

async fn attach(client: &Client, chat: ChatAddress) -> Result<(), ClientError> {
    client.call::<AttachParams>(&AttachParams::to_chat(chat)).await.map(drop)
}

/// Creates a unique key.
pub(crate) fn new_key() -> Result<DedupeKey, LinkError> {
    let key = DedupeKey::parse(&uuid::Uuid::new_v4().to_string());
    key.map_err(|error| LinkError(error.to_string()))
}

#[async_trait]
impl TerminalLink for DaemonLink {
    async fn say(&self, text: &str) -> Result<MessageId, LinkError> {
        let (session, text) = (self.session.clone(), text.to_owned());
        let ask = Ask { session, text, key: Some(new_key()?), attachments: Vec::new() };
        self.call::<Ask>(&ask).await.map(|asked| asked.message)
    }

    async fn outcome(&self, message: MessageId) -> Result<MessageStatus, LinkError> {
        self.call::<Wait>(&Wait { message, seconds: None }).await
    }

    async fn hear(&self) -> DaemonNotice {
        loop {
            let client = self.client().await;
            if let Ok(text) = self.remarks.1.try_recv() {
                return DaemonNotice::Remark(text);
            }
            // An error is the end of the connection.
            if let Ok(incoming) = client.incoming().recv_async().await
                && let Some(notice) = self.notice_of(incoming)
            {
                return notice;
            }
        }
    }

    async fn remark(&self) -> String {
        tokio::select! {
            biased;
            Ok(text) = self.remarks.1.recv_async() => text,
            Ok(text) = self.log.recv_async() => text,
            else => std::future::pending().await,
        }
    }

    fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    async fn shown(&self, chunk: DeliveryId) {
        let open = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner).remove(&chunk);
        if let Some(shown) = open {
            shown.confirm().await;
        }
    }

    async fn last_turn(&self) -> Option<TurnRecord> {
        let show = ShowSession { session: self.session.clone(), turns: 1, before: None };
        self.look_up::<ShowSession>(&show).await?.pop()
    }

    async fn figures(&self) -> ChatFigures {
        let since = self.opened_at;
        let list = ListUsage { by: UsageBy::Session, since, ..ListUsage::default() };
        let show = ShowStatus { session: Some(self.session.clone()) };
        let (rows, status) =
            tokio::join!(self.look_up::<ListUsage>(&list), self.look_up::<ShowStatus>(&show),);
        let ours = |row: &UsageRow| row.of == self.session.as_str();
        let used = rows.into_iter().flatten().find(ours).map(|row| row.total);
        ChatFigures { model: status.map(|status| status.model), used }
    }
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
