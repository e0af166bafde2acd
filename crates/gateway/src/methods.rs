//! The methods of the socket: their parameters, their results, and the port behind each.

use avocet_protocol::{
    AttachmentKind, ChatAddress, Choice, Content, DedupeKey, DeliveryId, Inbound, LogEvent,
    MessageId, OrderHold, Outbound, PublishError, Sender, SenderId, SessionId, StyleRange, TurnId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::client_files::{PublishedFile, attachments};
use crate::clients::Welcome;
use crate::parts::GatewayParts;
use crate::scope::ChatScope;
use crate::table::{METHODS, MethodGroup, SocketMethod, Touches};
use crate::values::{or_empty, read, to_value, unavailable};
use crate::wire::RpcError;
use crate::{
    agents, approvals, ask_json, config_file, consolidate, dead_letters, deletion, events, jobs,
    lists, mcp, memories, people, publish, schedules, search, session_options, table, tasks, wait,
    web,
};

/// The channel whose allow-list holds users of the socket.
const TERMINAL: &str = "terminal";

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
    /// Files. A client that is attached to the chat keeps them until the daemon reads them with
    /// `file.read`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<PublishedFile>,
}

/// The result of [`Ask`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// `wait`: waits until the message has its outcome. The result is a
/// [`MessageStatus`](avocet_protocol::MessageStatus).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// The message.
    pub message: MessageId,
    /// The most seconds to wait; the result then has no outcome. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

/// `attach`: makes the client a listener of the chat. It gets `event` notifications with a
/// [`TurnEvent`](avocet_protocol::TurnEvent), and `deliver` requests with a [`DeliveryChunk`], which it answers when it has
/// shown them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attached {
    /// The chat.
    pub chat: ChatAddress,
    /// `true` to get the model's thoughts as well, for display.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub thoughts: bool,
}

/// `deliver`: a message for the chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryChunk {
    /// The row of the outbox.
    pub id: DeliveryId,
    /// The same for each delivery of this chunk, and for no other chunk. At most 20 ASCII letters
    /// and digits.
    #[serde(default)]
    pub nonce: String,
    /// The turn that wrote the message; `None` if another process sent it.
    pub turn: Option<TurnId>,
    /// The chat.
    pub chat: ChatAddress,
    /// The text: plain on a channel that a program serves, otherwise Markdown.
    pub text: String,
    /// The styles of plain text. Offsets are bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub styles: Vec<StyleRange>,
    /// In a group, the key of the message that this one replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<DedupeKey>,
    /// Files, on a channel that a program serves. The program reads their bytes with `file.get`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<SentFile>,
    /// Buttons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// `true` if the chunk may have arrived before.
    pub repeat: bool,
}

/// A file of a [`DeliveryChunk`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentFile {
    /// The way in which a platform would show it.
    pub kind: AttachmentKind,
    /// Its name, without directories.
    pub name: String,
    /// The media type (RFC 6838), if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The size in bytes.
    pub bytes: u64,
}

/// `status`: a [`DaemonStatus`](avocet_protocol::DaemonStatus).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShowStatus {
    /// The session whose model to report; `None` for the model of the default agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
}

/// `doctor`: the daemon checks what it depends on. The result is a
/// [`Checkup`](avocet_protocol::Checkup).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Doctor {
    /// `true` to skip requests to providers and platforms.
    pub offline: bool,
}

/// Answers a request of a caller, after a check of the caller's rights.
///
/// # Errors
/// [`RpcError`] names the fault and its correction.
pub async fn answer(
    parts: &GatewayParts,
    caller: &Caller,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    answer_in_order(parts, caller, method, params, &OrderHold::default()).await
}

/// Answers a request of a publisher whose later messages `hold` keeps back.
///
/// # Errors
/// As for [`answer`].
pub(crate) async fn answer_in_order(
    parts: &GatewayParts,
    caller: &Caller,
    method: &str,
    params: Value,
    hold: &OrderHold,
) -> Result<Value, RpcError> {
    let method = permitted(parts, caller, method, &params).await?;
    match method.touches {
        Touches::Rows(list) if !caller.chats.are_all() => {
            ChatScope { parts, caller }.own_rows(method, list, params).await
        }
        _ => run(parts, caller, method, params, hold).await,
    }
}

/// Checks that the caller may call a method with these parameters.
///
/// # Errors
/// [`RpcError`] names the missing right and the setting that gives it.
pub async fn check_rights(
    parts: &GatewayParts,
    caller: &Caller,
    method: &str,
    params: &Value,
) -> Result<(), RpcError> {
    permitted(parts, caller, method, params).await.map(drop)
}

/// Finds a method, and checks that the caller may call it with these parameters.
pub(crate) async fn permitted(
    parts: &GatewayParts,
    caller: &Caller,
    name: &str,
    params: &Value,
) -> Result<&'static SocketMethod, RpcError> {
    let method = table::find(name).ok_or_else(|| unknown_method(name))?;
    caller.check_method(method)?;
    ChatScope { parts, caller }.check(method, params).await?;
    Ok(method)
}

/// Answers a request whose rights were checked.
pub(crate) async fn run(
    parts: &GatewayParts,
    caller: &Caller,
    method: &SocketMethod,
    params: Value,
    hold: &OrderHold,
) -> Result<Value, RpcError> {
    let (name, redactor) = (method.name, parts.redactor.as_ref());
    let answer = match method.group {
        MethodGroup::Basic => Some(basic(caller, name)),
        MethodGroup::Connection => Some(Err(only_on_socket(name))),
        MethodGroup::Messages => Some(about_messages(parts, caller, name, params, hold).await),
        MethodGroup::Publish => Some(publish::answer(parts, caller, name, params, hold).await),
        MethodGroup::Lists => Some(lists::answer(parts, name, params).await),
        MethodGroup::Search => {
            Some(search::answer(ChatScope { parts, caller }, name, params).await)
        }
        MethodGroup::Options => {
            let options = parts.options.as_ref();
            Some(session_options::answer_about_options(options, &caller.sender, name, params).await)
        }
        MethodGroup::Agents => Some(Ok(agents::list(parts))),
        MethodGroup::Approvals => {
            let approvals = parts.approvals.as_ref();
            approvals::answer_about_approvals(approvals, redactor, name, params).await
        }
        MethodGroup::Config => Some(config_file::answer(parts.config.as_ref(), name, params).await),
        MethodGroup::Mcp => {
            let mcp = parts.mcp.as_ref();
            Some(mcp::answer_about_mcp(mcp, caller, redactor, name, params).await)
        }
        MethodGroup::Memories => {
            let (memories, mirror) = (parts.memories.as_ref(), parts.mirror.as_deref());
            memories::answer_about_memories(memories, mirror, redactor, name, params).await
        }
        MethodGroup::AskJson => {
            ask_json::answer_in_json(parts.ask_json.as_ref(), name, params).await
        }
        MethodGroup::Consolidation => {
            let consolidate = parts.consolidate.as_ref();
            consolidate::answer_about_consolidation(consolidate, name, params).await
        }
        MethodGroup::Jobs => {
            let jobs = parts.jobs.as_ref();
            jobs::answer_about_jobs(jobs, redactor, &caller.sender, name, params).await
        }
        MethodGroup::Tasks => {
            tasks::answer_about_tasks(parts.tasks.as_ref(), redactor, name, params).await
        }
        MethodGroup::DeadLetters => {
            let letters = parts.dead_letters.as_ref();
            dead_letters::answer_about_dead_letters(letters, redactor, name, params).await
        }
        MethodGroup::Deletion => {
            deletion::answer_about_deletion(parts.deletion.as_ref(), name, params).await
        }
        MethodGroup::Events => {
            let (log, scope) = (parts.event_log.as_ref(), ChatScope { parts, caller });
            let sees = |event: &LogEvent| scope.owns_event(event);
            events::answer_for(log, redactor, &sees, name, params).await
        }
        MethodGroup::Schedules => {
            schedules::answer_about_schedules(parts.schedules.as_ref(), name, params).await
        }
        MethodGroup::People => {
            people::answer_about_people(parts.access.as_ref(), name, params).await
        }
        MethodGroup::Web => {
            Some(web::answer_about_console(parts.web.as_ref(), caller, name, params).await)
        }
    };
    answer.unwrap_or_else(|| Err(unknown_method(name)))
}

fn basic(caller: &Caller, method: &str) -> Result<Value, RpcError> {
    match method {
        "hello" => to_value(Ok(Welcome::of(caller))),
        // Any answer proves that the connection has a place.
        _ => Ok(Value::Null),
    }
}

async fn about_messages(
    parts: &GatewayParts,
    caller: &Caller,
    method: &str,
    params: Value,
    hold: &OrderHold,
) -> Result<Value, RpcError> {
    match method {
        "ask" => ask(parts, &caller.sender, read(method, params)?, hold).await,
        "send" => send(parts, read(method, params)?, hold).await,
        "wait" => wait::answer_with_outcome(parts, read(method, params)?).await,
        "status" => status(parts, read(method, or_empty(params))?).await,
        _ => {
            let Doctor { offline } = read(method, or_empty(params))?;
            to_value(Ok(parts.report.checkup(offline).await))
        }
    }
}

fn only_on_socket(method: &str) -> RpcError {
    let message = format!("{method} works on a connection of the socket only");
    RpcError::new(RpcError::METHOD, message)
}

pub(crate) fn unknown_method(method: &str) -> RpcError {
    let known: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
    let message = format!("there is no method {method:?}; there are {}", known.join(", "));
    RpcError::new(RpcError::METHOD, message)
}

async fn ask(
    parts: &GatewayParts,
    peer: &SenderId,
    ask: Ask,
    hold: &OrderHold,
) -> Result<Value, RpcError> {
    let chat = ask.session.address();
    check_files(parts, &chat, &ask.attachments).await?;
    let attachments = attachments("ask", &chat, ask.attachments)?;
    let inbound = Inbound::new(
        chat,
        Sender::new(peer.clone()),
        ask.key.map_or_else(new_key, Ok)?,
        Content { attachments, ..Content::text(ask.text) },
    );
    let accepted = parts.publish.publish_in_order(inbound, None, hold).await;
    let accepted = accepted.map_err(|error| match error {
        // A user of this machine cannot stand in the list of a platform.
        PublishError::NotAllowed { channel, sender }
            if channel != TERMINAL && sender.starts_with("uid:") =>
        {
            let message = format!(
                "ask: {sender} is not a person on {channel}; write to the people of the chat with \
                    `send`, or ask in another conversation"
            );
            RpcError::new(RpcError::NOT_ALLOWED, message)
        }
        error => refusal(&error),
    })?;
    let duplicate = accepted.what == avocet_protocol::AcceptedAs::Duplicate;
    Ok(json!(AskResult { message: accepted.id, duplicate }))
}

async fn status(parts: &GatewayParts, show: ShowStatus) -> Result<Value, RpcError> {
    let mut status = parts.report.report().await.map_err(unavailable)?;
    if let Some(session) = show.session {
        status.model = parts.report.model_of(&session).await.map_err(unavailable)?;
    }
    to_value(Ok(status))
}

/// Refuses files that the chat's channel will not find.
async fn check_files(
    parts: &GatewayParts,
    chat: &ChatAddress,
    files: &[PublishedFile],
) -> Result<(), RpcError> {
    if parts.uploads.serves(chat) {
        for PublishedFile { reference, .. } in files {
            if !parts.uploads.has(reference).await {
                let message = format!(
                    "ask: there is no upload {reference:?}; uploads are removed after a week \
                     without use: send the file again with POST /v1/files"
                );
                return Err(RpcError::new(RpcError::PARAMS, message));
            }
        }
        return Ok(());
    }
    let account = (chat.channel.clone(), chat.account.clone());
    if !files.is_empty() && !parts.attach.contains_key(&account) {
        let message = format!("ask: {chat} takes no files, because no client can attach to it");
        return Err(RpcError::new(RpcError::PARAMS, message));
    }
    Ok(())
}

async fn send(parts: &GatewayParts, send: Send, hold: &OrderHold) -> Result<Value, RpcError> {
    let message = Outbound { address: send.chat, content: Content::text(send.text) };
    let key = send.key.map_or_else(new_key, Ok)?;
    let sent = parts.publish.send_in_order(message, key, hold).await;
    let sent = sent.map_err(|error| refusal(&error))?;
    Ok(json!(SendResult { delivery: sent.id, duplicate: sent.duplicate }))
}

pub(crate) fn new_key() -> Result<DedupeKey, RpcError> {
    DedupeKey::parse(&uuid::Uuid::new_v4().to_string())
        .map_err(|error| RpcError::new(RpcError::PARAMS, error.to_string()))
}

/// Returns the error of a method whose message was not accepted.
#[must_use]
pub fn refusal(error: &PublishError) -> RpcError {
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
