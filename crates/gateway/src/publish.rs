//! The methods by which a program that is a channel brings in the messages of people, and takes them
//! back.

use avocet_methods::{
    AskResult, EmptyAnswer, MoveCursor, PublishParams, PublishedCursor, SocketMethod,
    WithdrawMessage,
};
use avocet_protocol::bus::PublishError;
use avocet_protocol::chat::{ChatAddress, Content, Cursor, Inbound, Sender};
use avocet_protocol::store::AcceptedAs;

use crate::attached::platform;
use crate::caller::Caller;
use crate::client_files::attachments;
use crate::messages::refusal;
use crate::parts::GatewayParts;
use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::untrusted_parts::read_parts;
use crate::wire::RpcError;

/// Beginnings of the ids of processes of this system. A platform cannot speak for them.
const OF_PROCESSES: [&str; 6] = ["client:", "hook:", "http:", "mcp:", "program:", "uid:"];

impl RunMethod for MoveCursor {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, params: Self) -> Answered<Self> {
        let Self { channel, account, cursor: PublishedCursor { scope, position } } = params;
        let parts = call.parts;
        let served = parts.attach.get(&(channel.clone(), account.clone()));
        platform(served.map(AsRef::as_ref), &format!("{channel}:{account}"))?;
        let moved = parts.publish.move_cursor(&channel, &account, Cursor { scope, position }).await;
        moved.map_err(|error| refusal(&error))?;
        Reply::with_whole(&EmptyAnswer {})
    }
}

impl RunMethod for WithdrawMessage {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, params: Self) -> Answered<Self> {
        let (Self { chat, key }, parts) = (params, call.parts);
        let served = parts.attach.get(&(chat.channel.clone(), chat.account.clone()));
        platform(served.map(AsRef::as_ref), &format!("{}:{}", chat.channel, chat.account))?;
        let withdrawn = parts.publish.withdraw_message(&chat, &key).await;
        withdrawn.map_err(|error| refusal(&error))?;
        Reply::with_whole(&EmptyAnswer {})
    }
}

impl RunMethod for PublishParams {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, params: Self) -> Answered<Self> {
        let MethodCall { parts, caller, hold } = call;
        check(parts, &params)?;
        check_cursor(caller, &params)?;
        let PublishParams { chat, chat_kind, sender, sender_name, is_bot, key, text, .. } = params;
        let PublishedCursor { scope, position } = params.cursor.unwrap_or_default();
        let cursor = (!position.is_empty()).then_some(Cursor { scope, position });
        let (channel, account) = (chat.channel.clone(), chat.account.clone());
        let attachments = attachments(Self::NAME, &chat, params.attachments)?;
        let content = Content {
            attachments,
            forwarded: read_parts(Self::NAME, "forwarded", params.forwarded)?,
            quotes: read_parts(Self::NAME, "quotes", params.quotes)?,
            untrusted: read_parts(Self::NAME, "untrusted", params.untrusted)?,
            ..Content::text(text)
        };
        let sender = Sender { name: sender_name, is_bot, ..Sender::new(sender) };
        let inbound = Inbound {
            chat: chat_kind,
            written_at: params.written_at,
            corrects: params.corrects,
            from_platform: true,
            ..Inbound::new(chat, sender, key, content)
        };
        match parts.publish.publish_in_order(inbound, cursor.clone(), hold).await {
            Ok(accepted) => {
                let duplicate = accepted.what == AcceptedAs::Duplicate;
                Reply::with_whole(&AskResult { message: accepted.id, duplicate })
            }
            // The program publishes it again.
            Err(error @ (PublishError::Stopping | PublishError::Log(_))) => Err(refusal(&error)),
            Err(error) => {
                // A message with a used key has moved its cursor, and later ones may have followed.
                let cursor = cursor.filter(|_| !matches!(error, PublishError::KeyTaken { .. }));
                let ignored = parts.publish.ignore(&channel, &account, error.counted_as(), cursor);
                ignored.await.map_err(|error| refusal(&error))?;
                Err(refusal(&error))
            }
        }
    }
}

/// Refuses a cursor of a caller that reaches only some of the account's chats: the messages of the
/// other chats depend on the cursor, too.
fn check_cursor(caller: &Caller, params: &PublishParams) -> Result<(), RpcError> {
    let ChatAddress { channel, account, .. } = &params.chat;
    if params.cursor.is_none() || caller.chats.reach_account(channel.as_str(), account.as_str()) {
        return Ok(());
    }
    let reason = format!("a cursor is for all chats of {channel}:{account}; leave it out");
    Err(caller.refusal(&reason, "chats"))
}

/// Refuses a chat that no program serves, and a person with the id of a process.
fn check(parts: &GatewayParts, params: &PublishParams) -> Result<(), RpcError> {
    let PublishParams { chat, sender, .. } = params;
    let (channel, account) = (&chat.channel, &chat.account);
    let served = parts.attach.get(&(channel.clone(), account.clone()));
    platform(served.map(AsRef::as_ref), &format!("{channel}:{account}"))?;
    if OF_PROCESSES.iter().any(|start| sender.as_str().starts_with(start)) {
        let message = format!(
            "publish: the sender {sender} is a process of this system; people have ids without the \
             beginnings {}",
            OF_PROCESSES.join(", ")
        );
        return Err(RpcError::new(RpcError::PARAMS, message));
    }
    Ok(())
}
