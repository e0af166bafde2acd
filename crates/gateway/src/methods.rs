//! The methods of the socket: their parameters, their results, and the port behind each.

use std::time::Duration;

use avocet_protocol::{
    ChatAddress, Choice, Content, DedupeKey, DeliveryId, Inbound, MessageId, MessageStatus,
    Outbound, PublishError, Sender, SenderId, SessionId, TurnEvent, TurnId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::parts::GatewayParts;
use crate::values::{fitting, or_empty, read, to_value, unavailable};
use crate::wire::RpcError;
use crate::{
    approvals, ask_json, consolidate, dead_letters, deletion, events, jobs, lists, memories,
    people, schedules, tasks,
};

/// `ask`: sends a message to the agent. The result comes after the commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The conversation; the reply goes to its chat.
    pub session: SessionId,
    /// The text of the message.
    pub text: String,
    /// Identifies repetitions of the same message. Default: a random key. A key that was used for
    /// another text, or another topic of the chat, is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<DedupeKey>,
}

/// The result of [`Ask`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskResult {
    /// The number of the message.
    pub message: MessageId,
    /// `true` if the message is a repetition.
    pub duplicate: bool,
}

/// `send`: delivers a text to a chat. The result comes after the commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// The chat.
    pub chat: ChatAddress,
    /// The text.
    pub text: String,
    /// The key, as in [`Ask`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<DedupeKey>,
}

/// The result of [`Send`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendResult {
    /// The number of the text's first chunk.
    pub delivery: DeliveryId,
    /// `true` if the text is a repetition.
    pub duplicate: bool,
}

/// `wait`: waits until the message has its outcome. The result is a [`MessageStatus`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// The message.
    pub message: MessageId,
}

/// `attach`: makes the client a listener of the chat. It gets `event` notifications with a
/// [`TurnEvent`], and `deliver` requests with a [`DeliveryChunk`], which it answers when it has
/// shown them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attached {
    /// The chat.
    pub chat: ChatAddress,
}

/// `deliver`: a message for the chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryChunk {
    /// The row of the outbox.
    pub id: DeliveryId,
    /// The turn that wrote the message; `None` if another process sent it.
    pub turn: Option<TurnId>,
    /// The chat.
    pub chat: ChatAddress,
    /// The text, in Markdown.
    pub text: String,
    /// Buttons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// `true` if the chunk may have arrived before.
    pub repeat: bool,
}

/// `doctor`: the daemon checks what it depends on. The result is a
/// [`Checkup`](avocet_protocol::Checkup).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Doctor {
    /// `true` to skip requests to providers and platforms.
    pub offline: bool,
}

/// The interval at which `wait` reads the log again, in case it missed the event.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The methods beside those of the neighbouring modules.
const METHODS: [&str; 8] =
    ["ask", "attach", "doctor", "ping", "send", "status", "subscribe", "wait"];

/// Answers a request of the process with this id.
pub(crate) async fn answer(
    parts: &GatewayParts,
    peer: &SenderId,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    match method {
        "ask" => ask(parts, peer, read(method, params)?).await,
        "send" => send(parts, read(method, params)?).await,
        "wait" => wait(parts, read(method, params)?).await,
        // Any answer proves that the connection has a place.
        "ping" => Ok(Value::Null),
        "status" => to_value(parts.report.report().await),
        "doctor" => {
            let Doctor { offline } = read(method, or_empty(params))?;
            to_value(Ok(parts.report.checkup(offline).await))
        }
        other if lists::METHODS.contains(&other) => lists::answer(parts, other, params).await,
        other if approvals::METHODS.contains(&other) => {
            let (approvals, redactor) = (parts.approvals.as_ref(), parts.redactor.as_ref());
            let answer = approvals::answer_about_approvals(approvals, redactor, other, params);
            answer.await.unwrap_or_else(|| Err(unknown(other)))
        }
        other if memories::METHODS.contains(&other) => {
            let (memories, mirror) = (parts.memories.as_ref(), parts.mirror.as_deref());
            let answer = memories::answer_about_memories(memories, mirror, other, params);
            answer.await.unwrap_or_else(|| Err(unknown(other)))
        }
        other if ask_json::METHODS.contains(&other) => {
            let answer = ask_json::answer_in_json(parts.ask_json.as_ref(), other, params).await;
            answer.unwrap_or_else(|| Err(unknown(other)))
        }
        other if consolidate::METHODS.contains(&other) => {
            let consolidate = parts.consolidate.as_ref();
            let answer = consolidate::answer_about_consolidation(consolidate, other, params);
            answer.await.unwrap_or_else(|| Err(unknown(other)))
        }
        other if jobs::METHODS.contains(&other) => {
            let (jobs, redactor) = (parts.jobs.as_ref(), parts.redactor.as_ref());
            let answer = jobs::answer_about_jobs(jobs, redactor, peer, other, params);
            answer.await.unwrap_or_else(|| Err(unknown(other)))
        }
        other if tasks::METHODS.contains(&other) => {
            let (tasks, redactor) = (parts.tasks.as_ref(), parts.redactor.as_ref());
            let answer = tasks::answer_about_tasks(tasks, redactor, other, params);
            answer.await.unwrap_or_else(|| Err(unknown(other)))
        }
        other if dead_letters::METHODS.contains(&other) => {
            let (letters, redactor) = (parts.dead_letters.as_ref(), parts.redactor.as_ref());
            let answer = dead_letters::answer_about_dead_letters(letters, redactor, other, params);
            answer.await.unwrap_or_else(|| Err(unknown(other)))
        }
        other if deletion::METHODS.contains(&other) => {
            let answer = deletion::answer_about_deletion(parts.deletion.as_ref(), other, params);
            answer.await.unwrap_or_else(|| Err(unknown(other)))
        }
        other if events::METHODS.contains(&other) => {
            let (log, redactor) = (parts.event_log.as_ref(), parts.redactor.as_ref());
            let answer = events::answer_about_events(log, redactor, other, params);
            answer.await.unwrap_or_else(|| Err(unknown(other)))
        }
        other if schedules::METHODS.contains(&other) => {
            let answer = schedules::answer_about_schedules(parts.schedules.as_ref(), other, params);
            answer.await.unwrap_or_else(|| Err(unknown(other)))
        }
        other => match people::answer_about_people(parts.access.as_ref(), other, params).await {
            Some(answer) => answer,
            None => Err(unknown(other)),
        },
    }
}

fn unknown(method: &str) -> RpcError {
    let lists = lists::METHODS.into_iter().chain(approvals::METHODS).chain(people::METHODS);
    let others = memories::METHODS.into_iter().chain(jobs::METHODS).chain(tasks::METHODS);
    let others = lists.chain(others).chain(schedules::METHODS).chain(consolidate::METHODS);
    let others = others.chain(ask_json::METHODS).chain(dead_letters::METHODS);
    let others = others.chain(deletion::METHODS).chain(events::METHODS);
    let mut known: Vec<&str> = METHODS.into_iter().chain(others).collect();
    known.sort_unstable();
    let message = format!("there is no method {method:?}; there are {}", known.join(", "));
    RpcError::new(RpcError::METHOD, message)
}

async fn ask(parts: &GatewayParts, peer: &SenderId, ask: Ask) -> Result<Value, RpcError> {
    let inbound = Inbound::new(
        ask.session.address(),
        Sender::new(peer.clone()),
        ask.key.map_or_else(new_key, Ok)?,
        Content::text(ask.text),
    );
    let accepted = parts.publish.publish(inbound, None).await.map_err(|error| refusal(&error))?;
    let duplicate = accepted.what == avocet_protocol::AcceptedAs::Duplicate;
    Ok(json!(AskResult { message: accepted.id, duplicate }))
}

async fn send(parts: &GatewayParts, send: Send) -> Result<Value, RpcError> {
    let message = Outbound { address: send.chat, content: Content::text(send.text) };
    let key = send.key.map_or_else(new_key, Ok)?;
    let sent = parts.publish.send(message, key).await.map_err(|error| refusal(&error))?;
    Ok(json!(SendResult { delivery: sent.id, duplicate: sent.duplicate }))
}

async fn wait(parts: &GatewayParts, Wait { message }: Wait) -> Result<Value, RpcError> {
    let find = async || {
        let found = parts.query.message(message).await.map_err(unavailable)?;
        found.ok_or_else(|| {
            RpcError::new(RpcError::NOT_FOUND, format!("there is no message {message}"))
        })
    };
    // Subscribe before the first look, so that an outcome between the two is seen.
    let events = parts.events.subscribe(&find().await?.session);
    loop {
        let status: MessageStatus = find().await?;
        if status.outcome.is_some() {
            return Ok(fitting(json!(status)));
        }
        // A slow reader may miss events.
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

pub(crate) fn new_key() -> Result<DedupeKey, RpcError> {
    DedupeKey::parse(&uuid::Uuid::new_v4().to_string())
        .map_err(|error| RpcError::new(RpcError::PARAMS, error.to_string()))
}

pub(crate) fn refusal(error: &PublishError) -> RpcError {
    let code = match error {
        PublishError::NotAllowed { .. } => RpcError::NOT_ALLOWED,
        PublishError::Destination(_) => RpcError::NOT_FOUND,
        PublishError::KeyTaken { .. } => RpcError::CONFLICT,
        PublishError::Empty
        | PublishError::Job(_)
        | PublishError::TooLong { .. }
        | PublishError::NoCorrection(_)
        | PublishError::BotTooOften { .. }
        | PublishError::Id(_) => RpcError::PARAMS,
        PublishError::Stopping | PublishError::Log(_) => RpcError::UNAVAILABLE,
    };
    RpcError::new(code, error.to_string())
}
