//! The terminal's link to a daemon over the socket. Reconnects after a break.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use avocet_gateway::{
    Ask, AttachParams, BranchSession, ChangeSession, ChunkConfirmation, Client, ClientError,
    ClientMethod, Incoming, ListSessions, ListUsage, MOST_ROWS, ShowSession, ShowStatus, Wait,
};
use avocet_protocol::chat::{ChatAddress, SessionId};
use avocet_protocol::clock::{Clock, Timestamp};
use avocet_protocol::ids::{DedupeKey, DeliveryId, MessageId, TurnId};
use avocet_protocol::ignore_result;
use avocet_protocol::store::{MessageStatus, SessionSummary, UsageBy, UsageRow};
use avocet_protocol::turn::{Origin, TurnRecord};
use avocet_supervise::{Backoff, Group};
use avocet_terminal::{
    ChatFigures, ConversationEntry, DaemonNotice, EarlierMessage, LinkError, SaidChunk,
    TerminalLink,
};
use parking_lot::Mutex;

use crate::cli::named_pictures::{
    IllustratedText, NamedPicture, PictureRoots, read_pictures, read_workspace_picture,
};
use crate::cli::values::session_id;
use crate::output::format_age;

/// The beginning of the ids of this account's sessions.
const TERMINAL: &str = "terminal:local:";
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// Remarks that wait to be shown. Further ones are dropped.
const REMARKS: usize = 16;
/// Turns whose messages can be said differently.
const EARLIER: u32 = 100;
/// The time for the answer to a request whose result is only shown.
const LOOK_UP_TIMEOUT: Duration = Duration::from_secs(5);

/// A link to the daemon behind a socket.
pub(crate) struct DaemonLink {
    socket: PathBuf,
    session: Mutex<SessionId>,
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
    picture_roots: PictureRoots,
    /// The pictures of messages without an outcome. The daemon reads them from this program.
    pictures: Mutex<HashMap<MessageId, Vec<NamedPicture>>>,
}

impl fmt::Debug for DaemonLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DaemonLink").field("session", &self.session()).finish_non_exhaustive()
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
        picture_roots: PictureRoots,
    ) -> Result<Self, ClientError> {
        attach(&client, session.address()).await?;
        Ok(Self {
            socket,
            session: Mutex::new(session),
            opened_at: clock.now(),
            clock,
            group,
            client: tokio::sync::Mutex::new(Arc::new(client)),
            is_lost: AtomicBool::new(false),
            remarks: flume::bounded(REMARKS),
            log,
            unanswered: Mutex::default(),
            picture_roots,
            pictures: Mutex::default(),
        })
    }

    fn session(&self) -> SessionId {
        self.session.lock().clone()
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
            let pictures = self.pictures.lock();
            pictures.values().for_each(|pictures| keep_pictures(&client, pictures));
            drop(pictures);
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
                && attach(&client, self.session().address()).await.is_ok()
            {
                return client;
            }
        }
    }

    /// Makes a request, and repeats it if the connection broke before the answer.
    async fn call<M: ClientMethod>(&self, params: &M::Params) -> Result<M::Answer, LinkError> {
        self.call_with_pictures::<M>(params, &[]).await
    }

    /// Works as [`Self::call`] for a message with pictures.
    async fn call_with_pictures<M: ClientMethod>(
        &self,
        params: &M::Params,
        pictures: &[NamedPicture],
    ) -> Result<M::Answer, LinkError> {
        loop {
            let client = self.client().await;
            keep_pictures(&client, pictures);
            match client.call::<M>(params).await {
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
        ignore_result(
            self.remarks.0.try_send(text.to_owned()),
            "a full queue shows enough remarks already",
        );
    }

    fn notice_of(&self, incoming: Incoming) -> Option<DaemonNotice> {
        Some(match incoming {
            Incoming::Event(event) => DaemonNotice::Event(event),
            // The link subscribes to nothing.
            Incoming::Events { .. } | Incoming::Editor(_) | Incoming::Output(_) => return None,
            Incoming::Deliver { chunk, shown } => {
                let mut open = self.unanswered.lock();
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

fn keep_pictures(client: &Client, pictures: &[NamedPicture]) {
    for NamedPicture { published, bytes } in pictures {
        client.keep_file(published.reference.clone(), bytes.clone());
    }
}

/// Returns the conversations that a terminal can open, without the open one.
pub(crate) fn other_conversations(
    rows: Vec<SessionSummary>,
    open: &SessionId,
    now: Timestamp,
) -> Vec<ConversationEntry> {
    let entry = |row: SessionSummary| {
        let name = row.session.as_str().strip_prefix(TERMINAL)?.to_owned();
        let turns = if row.turns == 1 { "turn" } else { "turns" };
        let title = row.title.map(|title| format!(": {title}")).unwrap_or_default();
        let age = format_age(row.used_at, now);
        Some(ConversationEntry { name, summary: format!("{age}, {} {turns}{title}", row.turns) })
    };
    rows.into_iter().filter(|row| row.session != *open).filter_map(entry).collect()
}

/// Returns what a person has typed to begin a turn; `None` for other turns.
fn earlier_message(turn: &TurnRecord) -> Option<EarlierMessage> {
    let Origin::Messages(messages) = &turn.origin else { return None };
    let own = messages.iter().map(|message| &message.message.inbound);
    let own = own.filter(|inbound| !inbound.sender.is_bot && !inbound.content.text.is_empty());
    let texts: Vec<&str> = own.map(|inbound| inbound.content.text.as_str()).collect();
    (!texts.is_empty()).then(|| EarlierMessage { turn: turn.id, text: texts.join("\n") })
}

/// Returns the name of a branch that no session has: `me-2` for `me`, `me-3` for `me-2`.
fn new_name(session: &SessionId, is_taken: impl Fn(&str) -> bool) -> String {
    let name = session.as_str();
    let is_number = |end: &str| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit());
    let branched = name.rsplit_once('-').filter(|(base, end)| is_number(end) && is_taken(base));
    let base = branched.map_or(name, |(base, _)| base);
    let mut names = (2u32..).map(|number| format!("{base}-{number}"));
    names.find(|name| !is_taken(name)).unwrap_or_default()
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
        let IllustratedText { text, pictures, remarks } =
            read_pictures(text, &self.picture_roots).await;
        remarks.iter().for_each(|remark| self.add_remark(remark));
        let attachments = pictures.iter().map(|picture| picture.published.clone()).collect();
        let (session, key) = (self.session(), Some(new_key()?));
        let ask = Ask { key, attachments, ..Ask::new(session, text) };
        let message = self.call_with_pictures::<Ask>(&ask, &pictures).await?.message;
        if !pictures.is_empty() {
            let mut kept = self.pictures.lock();
            kept.insert(message, pictures);
        }
        Ok(message)
    }

    async fn outcome(&self, message: MessageId) -> Result<MessageStatus, LinkError> {
        let status = self.call::<Wait>(&Wait { message, seconds: None }).await;
        let kept = self.pictures.lock().remove(&message);
        if let Some(pictures) = kept {
            let client = self.client().await;
            let references = pictures.iter().map(|picture| &picture.published.reference);
            references.for_each(|reference| client.forget_file(reference));
        }
        status
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
        let open = self.unanswered.lock().remove(&chunk);
        if let Some(shown) = open {
            shown.confirm().await;
        }
    }

    async fn last_turn(&self) -> Option<TurnRecord> {
        let show = ShowSession { session: self.session(), turns: 1, before: None };
        self.look_up::<ShowSession>(&show).await?.pop()
    }

    async fn conversations(&self) -> Result<Vec<ConversationEntry>, LinkError> {
        let rows = self.call::<ListSessions>(&ListSessions::default()).await?;
        Ok(other_conversations(rows, &self.session(), self.clock.now()))
    }

    /// Connects anew, because a connection serves one chat.
    async fn open_conversation(&self, name: &str) -> Result<(), LinkError> {
        let session = session_id(name).map_err(|error| LinkError(error.to_string()))?;
        let mut client = self.client.lock().await;
        let next = Client::connect(&self.socket, &self.group).await;
        let next = next.map_err(|error| LinkError(error.to_string()))?;
        let attached = attach(&next, session.address()).await;
        attached.map_err(|error| LinkError(error.to_string()))?;
        *client = Arc::new(next);
        *self.session.lock() = session;
        self.unanswered.lock().clear();
        Ok(())
    }

    async fn earlier_messages(&self) -> Result<Vec<EarlierMessage>, LinkError> {
        let show = ShowSession { session: self.session(), turns: EARLIER, before: None };
        let turns = self.call::<ShowSession>(&show).await?;
        Ok(turns.iter().rev().filter_map(earlier_message).collect())
    }

    async fn branch_before(&self, turn: TurnId) -> Result<String, LinkError> {
        let session = self.session();
        let list = ListSessions { limit: MOST_ROWS, ..ListSessions::default() };
        let rows = self.call::<ListSessions>(&list).await?;
        let name = new_name(&session, |name| rows.iter().any(|row| row.session.as_str() == name));
        let into = SessionId::parse(&name).map_err(|error| LinkError(error.to_string()))?;
        let branch = BranchSession { session, into, through: None, before: Some(turn) };
        self.call::<BranchSession>(&branch).await?;
        Ok(name.strip_prefix(TERMINAL).unwrap_or(&name).to_owned())
    }

    async fn set_title(&self, title: &str) -> Result<(), LinkError> {
        let title = Some(title.to_owned());
        let session = self.session();
        self.call::<ChangeSession>(&ChangeSession {
            session,
            title,
            is_pinned: None,
            is_archived: None,
        })
        .await
    }

    async fn picture(&self, path: &str) -> Option<Vec<u8>> {
        read_workspace_picture(&self.picture_roots, path).await
    }

    async fn figures(&self) -> ChatFigures {
        let since = self.opened_at;
        let list = ListUsage { by: UsageBy::Session, since, ..ListUsage::default() };
        let session = self.session();
        let show = ShowStatus { session: Some(session.clone()) };
        let (rows, status) =
            tokio::join!(self.look_up::<ListUsage>(&list), self.look_up::<ShowStatus>(&show),);
        let ours = |row: &UsageRow| row.of == session.as_str();
        let used = rows.into_iter().flatten().find(ours).map(|row| row.total);
        ChatFigures { model: status.map(|status| status.model), used }
    }
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
