//! Attached clients. They get the chunks of a chat, or of all chats of an account, and report the
//! outcome of each. A client of a chat also gets its events, which are for display only.

use std::collections::BTreeMap;
use std::sync::Arc;

use avocet_methods::{AttachParams, AttachResult, Capability};
use avocet_protocol::access::ClientRole;
use avocet_protocol::channel::{Attach, AttachPlatform, ForClient, Handover, SendError};
use avocet_protocol::chat::{Attachment, ChatAddress, Content, LoadedFile, Receipt, SessionId};
use avocet_protocol::clock::or_pending;
use avocet_protocol::ids::{AccountName, ChannelName, PlatformId};
use avocet_protocol::ignore_result;
use avocet_protocol::turn::TurnEvent;
use avocet_supervise::Group;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::channel_program::{HealthReport, as_plain_text, error_outcome};
use crate::client_request::ClientRequest;
use crate::connection::Connection;
use crate::delivery_chunk::{DeliveryChunk, SentFile};
use crate::file_pieces::piece_of;
use crate::messages;
use crate::methods::permitted_params;
use crate::wire::{RpcError, RpcMessage, notification};

/// `typing`: the agent works on an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Typing {
    /// The chat.
    pub(crate) chat: ChatAddress,
}

/// The answer to `deliver`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Delivered {
    /// The platform's name for the message.
    pub(crate) platform_id: Option<PlatformId>,
}

impl Connection {
    /// Answers `attach`.
    pub(crate) async fn attach(
        &self,
        caller: &Caller,
        params: Value,
        group: &Group,
    ) -> Result<Value, RpcError> {
        match permitted_params::<AttachParams>(&self.parts, caller, params).await? {
            AttachParams {
                chat: Some(chat),
                channel: None,
                account: None,
                max_text: None,
                thoughts,
            } => self.attach_to_chat(caller, &chat, thoughts, group),
            AttachParams {
                chat: None,
                channel: Some(channel),
                account: Some(account),
                max_text,
                thoughts: false,
            } => {
                self.check_role(caller, format!("{channel}:{account}"))?;
                self.attach_to_account(channel, account, max_text, group).await
            }
            _ => {
                let message = "attach: give either `chat` with an optional `thoughts`, or `channel` \
                    and `account` with an optional `max_text`";
                Err(RpcError::new(RpcError::PARAMS, message))
            }
        }
    }

    fn attach_to_chat(
        &self,
        caller: &Caller,
        chat: &ChatAddress,
        with_thoughts: bool,
        group: &Group,
    ) -> Result<Value, RpcError> {
        let session = self.session_of(chat)?;
        let channel = self.channel(&chat.channel, &chat.account, chat)?;
        let mut kind = ClientKind::Person;
        if channel.platform().is_some() {
            self.check_role(caller, chat)?;
            kind = ClientKind::Platform;
        }
        self.take_attached_place()?;
        let items = channel.attach(chat);
        // The platform of a channel sends what it gets to people.
        let events = &self.parts.events;
        let events = match kind {
            ClientKind::Person if with_thoughts => events.subscribe_with_thoughts(&session),
            ClientKind::Person | ClientKind::Platform => events.subscribe(&session),
        };
        let connection = self.clone();
        group.spawn("attached", async move { connection.follow(kind, items, Some(events)).await });
        self.parts.deliveries.wake(chat);
        Ok(json!(AttachResult::default()))
    }

    /// Returns the session of a chat, which may be linked to another one.
    pub(crate) fn session_of(&self, chat: &ChatAddress) -> Result<SessionId, RpcError> {
        let linked = self.parts.access.links().into_iter().find(|link| link.chat == *chat);
        let session = linked.map_or_else(|| SessionId::from_address(chat), |link| Ok(link.session));
        session.map_err(|error| RpcError::new(RpcError::PARAMS, error.to_string()))
    }

    /// Lets the client serve all chats of an account. The result has the cursors of the account, so
    /// that the client knows which messages were committed.
    async fn attach_to_account(
        &self,
        name: ChannelName,
        account: AccountName,
        max_text: Option<usize>,
        group: &Group,
    ) -> Result<Value, RpcError> {
        let of = format!("{name}:{account}");
        let channel = self.channel(&name, &account, &of)?.clone();
        let platform = platform(Some(channel.as_ref()), &of)?;
        if let Some(chars) = max_text {
            let wrong = |why| RpcError::new(RpcError::PARAMS, format!("attach: `max_text`: {why}"));
            platform.set_max_text(chars).map_err(wrong)?;
        }
        let cursors = self.parts.publish.cursors(&name, &account).await;
        let cursors = cursors.map_err(|error| messages::refusal(&error))?;
        let cursors: BTreeMap<String, String> =
            cursors.into_iter().map(|cursor| (cursor.scope, cursor.position)).collect();
        if self.is_serving(&name, &account) {
            return Ok(json!(AttachResult { cursors: Some(cursors) }));
        }
        self.take_attached_place()?;
        let items = platform.attach_all();
        self.serves(&name, &account);
        let connection = self.clone();
        let kind = ClientKind::Platform;
        group.spawn("attached", async move { connection.follow(kind, items, None).await });
        self.parts.deliveries.wake_account(&name, &account);
        Ok(json!(AttachResult { cursors: Some(cursors) }))
    }

    fn check_role(&self, caller: &Caller, of: impl std::fmt::Display) -> Result<(), RpcError> {
        let (least, role) = (ClientRole::Channel, caller.role);
        if role >= least {
            return Ok(());
        }
        let reason = format!("attach to {of} needs the role {least}, and its role is {role}");
        Err(caller.refusal(&reason, "role"))
    }

    fn take_attached_place(&self) -> Result<(), RpcError> {
        self.place.mark_attached().map_err(|why| RpcError::new(RpcError::UNAVAILABLE, why))
    }

    fn channel(
        &self,
        channel: &ChannelName,
        account: &AccountName,
        of: impl std::fmt::Display,
    ) -> Result<&Arc<dyn Attach>, RpcError> {
        let found = self.parts.attach.get(&(channel.clone(), account.clone()));
        found.ok_or_else(|| {
            let known = self.parts.attach.keys().map(|(name, account)| format!("{name}:{account}"));
            let known: Vec<String> = known.collect();
            let message = format!(
                "no client can attach to {of}; the accounts with clients are {}",
                known.join(", ")
            );
            RpcError::new(RpcError::NOT_FOUND, message)
        })
    }

    /// Passes on the items and events of a chat until the connection ends.
    async fn follow(
        self,
        kind: ClientKind,
        items: flume::Receiver<ForClient>,
        events: Option<flume::Receiver<TurnEvent>>,
    ) {
        loop {
            tokio::select! {
                biased;
                () = self.ended.cancelled() => return,
                event = or_pending(events.as_ref().map(flume::Receiver::recv_async)) => {
                    let Ok(event) = event else { return };
                    self.display("event", &event);
                }
                item = items.recv_async() => match item {
                    Ok(ForClient::Chunk(handover)) => self.hand_over(kind, *handover).await,
                    Ok(ForClient::Piece(request)) => self.read_piece(request).await,
                    Ok(ForClient::Typing(chat)) if self.has_capability(Capability::Typing) => {
                        self.display("typing", &Typing { chat });
                    }
                    Ok(ForClient::Typing(_)) => {}
                    Err(_) => return,
                }
            }
        }
    }

    /// Sends a notification for display only.
    fn display(&self, method: &str, params: &impl Serialize) {
        ignore_result(
            self.lines.try_send(notification(method, params)),
            "a slow client misses some",
        );
    }

    async fn hand_over(&self, kind: ClientKind, Handover { delivery, receipt }: Handover) {
        let id = format!("{}-{}", delivery.id, uuid::Uuid::new_v4());
        let content = match kind {
            ClientKind::Platform => {
                as_plain_text(&delivery.content, |one| self.has_capability(one))
            }
            ClientKind::Person => {
                let text = delivery.content.as_text();
                Content { text, attachments: Vec::new(), ..delivery.content.clone() }
            }
        };
        let Content { text, styles, reply_to, attachments, choices, .. } = content;
        let chunk = DeliveryChunk {
            id: delivery.id,
            nonce: delivery.nonce.clone(),
            turn: delivery.turn,
            chat: delivery.address.clone(),
            text,
            styles: styles.unwrap_or_default(),
            reply_to,
            attachments: sent_files(&attachments, &delivery.files),
            choices,
            repeat: delivery.repeat,
        };
        let open = ClientRequest::Chunk { receipt, files: delivery.files };
        self.request(id, "deliver", json!(chunk), open).await;
    }

    /// Takes a notification. All but `health` are ignored.
    pub(crate) fn notice(&self, method: &str, params: Value) {
        let Some(report) = HealthReport::parse(method, params) else { return };
        for account in self.served.lock().iter() {
            let platform = self.parts.attach.get(account).and_then(|channel| channel.platform());
            let (Some(platform), (channel, account)) = (platform, account) else { continue };
            report.log(channel, account);
            platform.report(report.health());
        }
    }

    /// Sends the client a request.
    pub(crate) async fn request(
        &self,
        id: String,
        method: &str,
        params: Value,
        open: ClientRequest,
    ) {
        self.open.lock().insert(id.clone(), open);
        let (id, method) = (Value::String(id), method.to_owned());
        self.write(RpcMessage::Request { id, method, params }.to_line()).await;
    }

    /// Takes the client's answer to a request.
    pub(crate) fn receive(&self, id: &Value, result: Result<Value, RpcError>) {
        let id = id.as_str().unwrap_or_default();
        let open = self.open.lock().remove(id);
        const TOO_LATE: &str = "the daemon may have stopped waiting";
        match open {
            Some(ClientRequest::Chunk { receipt, .. }) => {
                if let Some(outcome) = outcome(result) {
                    ignore_result(receipt.send(outcome), TOO_LATE);
                }
            }
            Some(ClientRequest::Piece(piece)) => {
                ignore_result(piece.send(piece_of(result)), TOO_LATE);
            }
            Some(ClientRequest::Editor(answer)) => answer.take_result(result),
            Some(ClientRequest::Events(answer)) => {
                ignore_result(answer.send(result.is_ok()), TOO_LATE);
            }
            None => {}
        }
    }
}

/// The kind of an attached client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientKind {
    /// It shows text to a person; files are lines of the text.
    Person,
    /// It is the platform of a channel, and sends files.
    Platform,
}

/// Describes the attachments whose bytes can be read.
fn sent_files(attachments: &[Attachment], files: &[LoadedFile]) -> Vec<SentFile> {
    let described = attachments.iter().zip(files).map(|(attachment, file)| SentFile {
        kind: attachment.kind,
        name: file.name.clone(),
        media_type: attachment.media_type.clone(),
        bytes: file.bytes.len() as u64,
    });
    described.collect()
}

/// The part of a channel for programs that are its platform.
pub(crate) fn platform<'a>(
    channel: Option<&'a dyn Attach>,
    of: &str,
) -> Result<&'a dyn AttachPlatform, RpcError> {
    channel.and_then(Attach::platform).ok_or_else(|| {
        let message = format!(
            "{of} is not served by a program; configure a channel that is: [channels.external.NAME]"
        );
        RpcError::new(RpcError::NOT_FOUND, message)
    })
}

/// The outcome that a client reports; `None` if it is unknown.
fn outcome(result: Result<Value, RpcError>) -> Option<Result<Receipt, SendError>> {
    match result {
        Ok(result) => {
            // The message is shown, even if its name cannot be read.
            let delivered = Delivered::deserialize(&result).unwrap_or_default();
            Some(Ok(Receipt { platform_id: delivered.platform_id }))
        }
        Err(error) => error_outcome(error).map(Err),
    }
}
