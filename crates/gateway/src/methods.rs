//! The methods: what goes in, what comes out, which port does it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::{
    Approvals, Attach, ChannelName, ChatAddress, Choice, Clock, Content, DedupeKey, Deliveries,
    DeliveryId, Doorkeeper, Inbound, MessageId, MessageStatus, Outbound, Publish, PublishError,
    Query, Report, Sender, SenderId, SessionId, StoreError, Timestamp, TurnEvent, TurnEvents,
    TurnId, UsageBy,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::wire::RpcError;
use crate::{approvals, people};

/// What the gateway gives other processes access to.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "each field is the port of its type")]
pub struct Parts {
    pub publish: Arc<dyn Publish>,
    pub door: Arc<dyn Doorkeeper>,
    pub query: Arc<dyn Query>,
    pub report: Arc<dyn Report>,
    pub events: Arc<dyn TurnEvents>,
    pub deliveries: Arc<dyn Deliveries>,
    pub approvals: Arc<dyn Approvals>,
    pub clock: Arc<dyn Clock>,
    /// The channels that clients can attach to, by name.
    pub attach: BTreeMap<ChannelName, Arc<dyn Attach>>,
}

/// `ask`: let the agent answer. Answered after the commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The conversation; the reply goes to its chat.
    pub session: SessionId,
    /// What is asked.
    pub text: String,
    /// What makes it the same message when it is sent again; made up if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<DedupeKey>,
}

/// What [`Ask`] is answered with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The number of the message.
    pub message: MessageId,
    /// Whether it had come before.
    pub duplicate: bool,
}

/// `send`: deliver this. Answered after the commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// Where.
    pub chat: ChatAddress,
    /// What is said.
    pub text: String,
    /// What makes it the same message when it is sent again; made up if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<DedupeKey>,
}

/// What [`Send`] is answered with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// The number of its first chunk.
    pub delivery: DeliveryId,
    /// Whether it had come before.
    pub duplicate: bool,
}

/// `wait`: answered when the message has its outcome, with a [`MessageStatus`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// Which message.
    pub message: MessageId,
}

/// `attach`: from now on the client is a listener of the chat. It gets `event` notifications with a
/// [`TurnEvent`], and `deliver` requests with a [`Chunk`], which it answers when it has shown them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attached {
    /// Which chat.
    pub chat: ChatAddress,
}

/// `deliver`: something is said in the chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// The row of the outbox.
    pub id: DeliveryId,
    /// The turn that said it; none for what another process sent.
    pub turn: Option<TurnId>,
    /// Where it is said.
    pub chat: ChatAddress,
    /// What is said, in Markdown.
    pub text: String,
    /// Buttons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// Sent again although it may have arrived before.
    pub repeat: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct List {
    limit: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { limit: 50 }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Show {
    session: SessionId,
    #[serde(default = "some_turns")]
    turns: u32,
}

/// `usage`: what models have cost, with a list of `UsageRow`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Usage {
    by: UsageBy,
    since: Timestamp,
}

impl Default for Usage {
    fn default() -> Self {
        Self { by: UsageBy::default(), since: Timestamp(0) }
    }
}

fn some_turns() -> u32 {
    50
}

/// How long a missed end may stay unseen.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The methods that there are beside [`people::METHODS`].
const METHODS: [&str; 8] =
    ["ask", "attach", "send", "sessions.list", "sessions.show", "status", "usage", "wait"];

/// Answers a request of a process with this id.
pub(crate) async fn answer(
    parts: &Parts,
    peer: &SenderId,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    match method {
        "ask" => ask(parts, peer, read(method, params)?).await,
        "send" => send(parts, read(method, params)?).await,
        "wait" => wait(parts, read(method, params)?).await,
        "status" => to_value(parts.report.report().await),
        "sessions.list" => {
            let List { limit } =
                if params.is_null() { List::default() } else { read(method, params)? };
            to_value(parts.query.sessions(limit).await)
        }
        "sessions.show" => {
            let Show { session, turns } = read(method, params)?;
            let transcript = parts.query.transcript(&session, turns).await;
            to_value(transcript)
        }
        "usage" => {
            let Usage { by, since } =
                if params.is_null() { Usage::default() } else { read(method, params)? };
            to_value(parts.query.usage(by, since).await)
        }
        other if approvals::METHODS.contains(&other) => {
            let answer = approvals::answer_about_approvals(parts.approvals.as_ref(), other, params);
            answer.await.unwrap_or_else(|| Err(unknown(other)))
        }
        other => match people::answer_at_the_door(parts.door.as_ref(), other, params).await {
            Some(answer) => answer,
            None => Err(unknown(other)),
        },
    }
}

fn unknown(method: &str) -> RpcError {
    let mut known: Vec<&str> =
        METHODS.into_iter().chain(approvals::METHODS).chain(people::METHODS).collect();
    known.sort_unstable();
    let message = format!("there is no method {method:?}; there are {}", known.join(", "));
    RpcError::new(RpcError::METHOD, message)
}

pub(crate) fn read<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, RpcError> {
    serde_json::from_value(params)
        .map_err(|error| RpcError::new(RpcError::PARAMS, format!("{method}: {error}")))
}

fn to_value<T: Serialize>(found: Result<T, StoreError>) -> Result<Value, RpcError> {
    let found = found.map_err(|error| log_error(&error))?;
    serde_json::to_value(found)
        .map_err(|error| RpcError::new(RpcError::UNAVAILABLE, error.to_string()))
}

async fn ask(parts: &Parts, peer: &SenderId, ask: Ask) -> Result<Value, RpcError> {
    let inbound = Inbound::new(
        ask.session.address(),
        Sender::new(peer.clone()),
        ask.key.map_or_else(new_key, Ok)?,
        Content::text(ask.text),
    );
    let accepted = parts.publish.publish(inbound, None).await.map_err(|error| refusal(&error))?;
    let duplicate = accepted.what == avocet_protocol::AcceptedAs::Duplicate;
    Ok(json!(Asked { message: accepted.id, duplicate }))
}

async fn send(parts: &Parts, send: Send) -> Result<Value, RpcError> {
    let message = Outbound { address: send.chat, content: Content::text(send.text) };
    let key = send.key.map_or_else(new_key, Ok)?;
    let sent = parts.publish.send(message, key).await.map_err(|error| refusal(&error))?;
    Ok(json!(Sent { delivery: sent.id, duplicate: sent.duplicate }))
}

async fn wait(parts: &Parts, Wait { message }: Wait) -> Result<Value, RpcError> {
    let find = async || {
        let found = parts.query.message(message).await.map_err(|error| log_error(&error))?;
        found.ok_or_else(|| {
            RpcError::new(RpcError::NOT_FOUND, format!("there is no message {message}"))
        })
    };
    // Listening begins before the first look, so that no end falls between the two.
    let events = parts.events.subscribe(&find().await?.session);
    loop {
        let status: MessageStatus = find().await?;
        if status.outcome.is_some() {
            return Ok(json!(status));
        }
        // Who does not keep up with the events may miss the end.
        let look_again = parts.clock.sleep(LOOK_AGAIN);
        tokio::pin!(look_again);
        loop {
            tokio::select! {
                () = &mut look_again => break,
                event = events.recv_async() => match event {
                    Ok(TurnEvent::Ended { .. }) | Err(_) => break,
                    Ok(_) => {}
                },
            }
        }
    }
}

fn new_key() -> Result<DedupeKey, RpcError> {
    DedupeKey::parse(&uuid::Uuid::new_v4().to_string())
        .map_err(|error| RpcError::new(RpcError::PARAMS, error.to_string()))
}

fn refusal(error: &PublishError) -> RpcError {
    let code = match error {
        PublishError::NotAllowed { .. } => RpcError::NOT_ALLOWED,
        PublishError::Destination(_) => RpcError::NOT_FOUND,
        PublishError::Empty
        | PublishError::TooLong { .. }
        | PublishError::NoCorrection(_)
        | PublishError::BotTooOften { .. }
        | PublishError::Id(_) => RpcError::PARAMS,
        PublishError::Stopping | PublishError::Log(_) => RpcError::UNAVAILABLE,
    };
    RpcError::new(code, error.to_string())
}

fn log_error(error: &StoreError) -> RpcError {
    RpcError::new(RpcError::UNAVAILABLE, error.to_string())
}
