//! The method by which a program that is a channel brings in the messages of people.

use avocet_protocol::{
    AcceptedAs, AccountName, ChannelName, ChatAddress, ChatKind, Content, Cursor, DedupeKey,
    Inbound, OrderHold, PublishError, Sender, SenderId, Timestamp,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::attached::platform;
use crate::caller::Caller;
use crate::client_files::{PublishedFile, attachments};
use crate::methods::{AskResult, refusal};
use crate::parts::GatewayParts;
use crate::values::read;
use crate::wire::RpcError;

/// Beginnings of the ids of processes of this system. A platform cannot speak for them.
const OF_PROCESSES: [&str; 5] = ["client:", "hook:", "http:", "program:", "uid:"];

/// `publish`: a message of a person on the program's platform. The result, an [`AskResult`], comes
/// after the commit. If the bus refuses the message, the cursor moves, too.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishParams {
    /// The chat of the message, which gets the reply.
    pub chat: ChatAddress,
    /// The kind of chat. Default: `private`.
    #[serde(default)]
    pub chat_kind: ChatKind,
    /// The person, by the platform's own id.
    pub sender: SenderId,
    /// The name for display.
    #[serde(default)]
    pub sender_name: Option<String>,
    /// `true` if the platform reports the author as a program.
    #[serde(default)]
    pub is_bot: bool,
    /// Identifies repetitions of the message; unique within the chat.
    pub key: DedupeKey,
    /// The text; it may be missing if there are attachments.
    #[serde(default)]
    pub text: String,
    /// Files, which the daemon reads from the program with `file.read`.
    #[serde(default)]
    pub attachments: Vec<PublishedFile>,
    /// The time of writing in milliseconds since 1970; `None` for now.
    #[serde(default)]
    pub written_at: Option<Timestamp>,
    /// The key of the message that this one corrects.
    #[serde(default)]
    pub corrects: Option<DedupeKey>,
    /// The position in the platform's messages. It is stored in the same transaction.
    #[serde(default)]
    pub cursor: Option<PublishedCursor>,
}

/// A position in the messages of the platform.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PublishedCursor {
    /// The range that the position belongs to. Default: empty, the whole account.
    pub scope: String,
    /// The position, in the program's own format.
    pub position: String,
}

/// `cursor.move`: moves the position in the platform's messages without a message. The result, which
/// is empty, comes after the commit.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveCursor {
    /// The channel.
    pub channel: ChannelName,
    /// The account.
    pub account: AccountName,
    /// The new position.
    pub cursor: PublishedCursor,
}

/// Answers `publish` and `cursor.move`.
pub(crate) async fn answer(
    parts: &GatewayParts,
    caller: &Caller,
    method: &str,
    params: Value,
    hold: &OrderHold,
) -> Result<Value, RpcError> {
    match method {
        "publish" => publish(parts, caller, params, hold).await,
        _ => move_cursor(parts, read(method, params)?).await,
    }
}

async fn move_cursor(parts: &GatewayParts, params: MoveCursor) -> Result<Value, RpcError> {
    let MoveCursor { channel, account, cursor: PublishedCursor { scope, position } } = params;
    let served = parts.attach.get(&(channel.clone(), account.clone()));
    platform(served.map(AsRef::as_ref), &format!("{channel}:{account}"))?;
    let moved = parts.publish.move_cursor(&channel, &account, Cursor { scope, position }).await;
    moved.map_err(|error| refusal(&error))?;
    Ok(json!({}))
}

/// Answers `publish`.
async fn publish(
    parts: &GatewayParts,
    caller: &Caller,
    params: Value,
    hold: &OrderHold,
) -> Result<Value, RpcError> {
    let params: PublishParams = read("publish", params)?;
    check(parts, &params)?;
    check_cursor(caller, &params)?;
    let PublishParams { chat, chat_kind, sender, sender_name, is_bot, key, text, .. } = params;
    let PublishedCursor { scope, position } = params.cursor.unwrap_or_default();
    let cursor = (!position.is_empty()).then_some(Cursor { scope, position });
    let (channel, account) = (chat.channel.clone(), chat.account.clone());
    let attachments = attachments("publish", &chat, params.attachments)?;
    let content = Content { attachments, ..Content::text(text) };
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
            Ok(json!(AskResult { message: accepted.id, duplicate }))
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
