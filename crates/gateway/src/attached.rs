//! Attached clients. They get the chunks of a chat, or of all chats of an account, and report the
//! outcome of each. A client of a chat also gets its events, which are for display only.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use avocet_protocol::{
    AccountName, Attach, AttachPlatform, ChannelName, ChatAddress, ClientRole, ForClient, Handover,
    PlatformId, Receipt, SendError, SessionId, TurnEvent, or_pending,
};
use avocet_supervise::Group;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::connection::Connection;
use crate::methods::{self, DeliveryChunk};
use crate::values::read;
use crate::wire::{RpcError, RpcMessage, notification};

/// Characters of an error of a client that are kept.
const MOST_ERROR: usize = 500;

/// The parameters of `attach`: a chat, or a channel and an account.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AttachParams {
    chat: Option<ChatAddress>,
    channel: Option<ChannelName>,
    account: Option<AccountName>,
    /// Characters of the longest message of the account's platform.
    max_text: Option<usize>,
}

impl Connection {
    /// Answers `attach`.
    pub(crate) async fn attach(
        &self,
        caller: &Caller,
        params: Value,
        group: &Group,
    ) -> Result<Value, RpcError> {
        methods::permitted(&self.parts, caller, "attach", &params).await?;
        match read("attach", params)? {
            AttachParams { chat: Some(chat), channel: None, account: None, max_text: None } => {
                self.attach_to_chat(caller, &chat, group)
            }
            AttachParams {
                chat: None,
                channel: Some(channel),
                account: Some(account),
                max_text,
            } => {
                self.check_role(caller, &format!("{channel}:{account}"))?;
                self.attach_to_account(channel, account, max_text, group).await
            }
            _ => {
                let message = "attach: give either `chat`, or `channel` and `account` with an \
                    optional `max_text`";
                Err(RpcError::new(RpcError::PARAMS, message))
            }
        }
    }

    fn attach_to_chat(
        &self,
        caller: &Caller,
        chat: &ChatAddress,
        group: &Group,
    ) -> Result<Value, RpcError> {
        let linked = self.parts.access.links().into_iter().find(|link| link.chat == *chat);
        let session = linked
            .map_or_else(|| SessionId::of(chat), |link| Ok(link.session))
            .map_err(|error| RpcError::new(RpcError::PARAMS, error.to_string()))?;
        let channel = self.channel(&chat.channel, &chat.account, chat)?;
        if channel.platform().is_some() {
            self.check_role(caller, chat)?;
        }
        self.take_attached_place()?;
        let items = channel.attach(chat);
        let events = self.parts.events.subscribe(&session);
        let connection = self.clone();
        group.spawn("attached", async move { connection.follow(items, Some(events)).await });
        self.parts.deliveries.wake(chat);
        Ok(json!({}))
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
        let cursors = cursors.map_err(|error| methods::refusal(&error))?;
        let cursors: BTreeMap<String, String> =
            cursors.into_iter().map(|cursor| (cursor.scope, cursor.position)).collect();
        self.take_attached_place()?;
        let items = platform.attach_all();
        let connection = self.clone();
        group.spawn("attached", async move { connection.follow(items, None).await });
        self.parts.deliveries.wake_account(&name, &account);
        Ok(json!({ "cursors": cursors }))
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
        self.place.attach().map_err(|why| RpcError::new(RpcError::UNAVAILABLE, why))
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
                    Ok(ForClient::Chunk(handover)) => self.hand_over(handover).await,
                    Ok(ForClient::Typing(chat)) => self.display("typing", &json!({ "chat": chat })),
                    Err(_) => return,
                }
            }
        }
    }

    /// Sends a notification for display only: a slow client misses some.
    fn display(&self, method: &str, params: &impl serde::Serialize) {
        drop(self.lines.try_send(notification(method, params)));
    }

    async fn hand_over(&self, Handover { delivery, receipt }: Handover) {
        let id = format!("{}-{}", delivery.id, uuid::Uuid::new_v4());
        let chunk = DeliveryChunk {
            id: delivery.id,
            nonce: delivery.nonce,
            turn: delivery.turn,
            chat: delivery.address,
            text: delivery.content.as_text(),
            styles: delivery.content.styles.unwrap_or_default(),
            reply_to: delivery.content.reply_to,
            choices: delivery.content.choices,
            repeat: delivery.repeat,
        };
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), receipt);
        let (id, method) = (Value::String(id), "deliver".to_owned());
        self.write(RpcMessage::Request { id, method, params: json!(chunk) }.to_line()).await;
    }

    /// Takes the client's report about a chunk, or its answer to a batch of events.
    pub(crate) fn receive(&self, id: &Value, result: Result<Value, RpcError>) {
        let id = id.as_str().unwrap_or_default();
        if self.batches.answer(id, result.is_ok()) {
            return;
        }
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        if let (Some(receipt), Some(outcome)) = (open, outcome(result)) {
            // The outbox may have stopped waiting.
            drop(receipt.send(outcome));
        }
    }
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
    let cut = |message: String| message.chars().take(MOST_ERROR).collect();
    match result {
        Ok(result) => {
            let platform_id = result["platform_id"].as_str();
            let platform_id = platform_id.and_then(|id| PlatformId::parse(id).ok());
            Some(Ok(Receipt { platform_id }))
        }
        Err(RpcError { code: RpcError::UNAVAILABLE, message }) => {
            Some(Err(SendError::Failed(cut(message))))
        }
        Err(RpcError { code: RpcError::NOT_ALLOWED, message }) => {
            Some(Err(SendError::Refused(cut(message))))
        }
        Err(_) => None,
    }
}
