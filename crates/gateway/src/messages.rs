//! The methods that enter messages, and those about the daemon as a whole.

use avocet_methods::{
    Ask, AskResult, Doctor, Hello, NoParams, Ping, PublishedFile, Send, SendResult, ShowStatus,
    SocketMethod,
};
use avocet_protocol::bus::PublishError;
use avocet_protocol::chat::{ChatAddress, Content, Inbound, Outbound, Sender};
use avocet_protocol::ids::DedupeKey;
use avocet_protocol::store::AcceptedAs;

use crate::client_files::attachments;
use crate::clients::welcome_caller;
use crate::parts::GatewayParts;
use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::untrusted_parts::read_parts;
use crate::values::unavailable;
use crate::wire::RpcError;

/// The channel whose allow-list holds users of the socket.
const TERMINAL: &str = "terminal";

impl RunMethod for Hello {
    type Ports<'a> = MethodCall<'a>;

    /// Shows the rights. On a connection of the socket, `hello` also changes them.
    async fn run(call: Self::Ports<'_>, _: Self) -> Answered<Self> {
        Reply::with_whole(&welcome_caller(call.caller))
    }
}

impl RunMethod for Ping {
    type Ports<'a> = MethodCall<'a>;

    async fn run(_: Self::Ports<'_>, _: NoParams) -> Answered<Self> {
        Reply::with_whole(&())
    }
}

impl RunMethod for Ask {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, ask: Self) -> Answered<Self> {
        let MethodCall { parts, caller, hold } = call;
        let chat = ask.session.address();
        check_files(parts, &chat, &ask.attachments).await?;
        let attachments = attachments(Self::NAME, &chat, ask.attachments)?;
        let untrusted = read_parts(Self::NAME, "untrusted", ask.untrusted)?;
        let inbound = Inbound::new(
            chat,
            Sender::new(caller.sender.clone()),
            ask.key.map_or_else(new_key, Ok)?,
            Content { attachments, untrusted, ..Content::text(ask.text) },
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
        let duplicate = accepted.what == AcceptedAs::Duplicate;
        Reply::with_whole(&AskResult { message: accepted.id, duplicate })
    }
}

impl RunMethod for Send {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, Self { chat, text, key }: Self) -> Answered<Self> {
        let message = Outbound { address: chat, content: Content::text(text) };
        let key = key.map_or_else(new_key, Ok)?;
        let sent = call.parts.publish.send_in_order(message, key, call.hold).await;
        let sent = sent.map_err(|error| refusal(&error))?;
        Reply::with_whole(&SendResult { delivery: sent.id, duplicate: sent.duplicate })
    }
}

impl RunMethod for ShowStatus {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, Self { session }: Self) -> Answered<Self> {
        let report = &call.parts.report;
        let mut status = report.report().await.map_err(unavailable)?;
        if let Some(session) = session {
            status.model = report.model_of(&session).await.map_err(unavailable)?;
        }
        Reply::with_whole(&status)
    }
}

impl RunMethod for Doctor {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, Self { offline }: Self) -> Answered<Self> {
        Reply::with_whole(&call.parts.report.checkup(offline).await)
    }
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
