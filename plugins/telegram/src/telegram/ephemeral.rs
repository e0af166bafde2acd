//! Answers in a group that only the author of a command sees (Bot API 10.2, "Ephemeral messages";
//! 10.3 names the receiver in `ephemeral_message_parameters`). teloxide does not know them.
//!
//! ```text
//! the command          its answer
//! visible              to its author, if the bot is an administrator; else to everyone
//! ephemeral            to its author; if that fails, a note asks for the command again
//! on an older server   to everyone: it ignores the fields
//! ```
//!
//! The platform makes a command ephemeral that is registered so. Such a message has the number 0 and a
//! second number. Its key has this number and the author, so that a later run can answer it, too. The
//! authors of visible commands are only in memory.

use avocet_channel_kit::{ANSWER_NOT_SHOWN, Converted, is_personal_command};
use avocet_protocol::LruMap;
use avocet_protocol::chat::notices::{self, readers};
use avocet_protocol::chat::{ChatAddress, ChatKind, Content};
use avocet_protocol::ids::{DedupeKey, IdError};
use parking_lot::Mutex;
use serde::Serialize;
use teloxide::payloads::{SendMessage, SendMessageSetters};
use teloxide::requests::Payload;
use teloxide::types::{ChatId, LinkPreviewOptions, Message, MessageEntity, ThreadId};

use crate::Telegram;
use crate::api::MessageReceipt;
use crate::commands::split_command;
use crate::compose::no_preview;
use crate::fault::BotApiError;
use crate::numbers::read_integer;
use crate::raw_chat::Fields;
use crate::telegram::attempt::Attempt;

/// Visible commands whose author is remembered.
const MAX_COMMANDS: usize = 1000;
/// Chats that are remembered because they refused an ephemeral answer to a visible command.
const MAX_CHATS: usize = 1000;

/// The authors of commands, and the chats that show their answers to everyone.
#[derive(Debug, Default)]
pub(crate) struct EphemeralAnswers {
    authors: Mutex<LruMap<(ChatAddress, DedupeKey), i64, MAX_COMMANDS>>,
    open_chats: Mutex<LruMap<ChatAddress, (), MAX_CHATS>>,
}

/// The reader of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reader {
    user: i64,
    /// The number of an ephemeral command.
    command: Option<i64>,
}

/// `sendMessage` with the fields of an ephemeral message.
#[derive(Debug, Clone, Serialize)]
struct SendEphemeral<'t> {
    chat_id: ChatId,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_thread_id: Option<ThreadId>,
    text: &'t str,
    entities: &'t [MessageEntity],
    link_preview_options: LinkPreviewOptions,
    /// The form of Bot API 10.2.
    receiver_user_id: i64,
    /// The form of Bot API 10.3.
    ephemeral_message_parameters: EphemeralReceiver,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_parameters: Option<EphemeralReply>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct EphemeralReceiver {
    receiver_user_id: i64,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct EphemeralReply {
    ephemeral_message_id: i64,
}

impl Payload for SendEphemeral<'_> {
    type Output = Message;
    const NAME: &'static str = "SendMessage";
}

/// Returns the key of a message that only its author and the bot see; `None` for other messages.
pub(crate) fn key_of_ephemeral(message: &Fields) -> Option<Result<DedupeKey, IdError>> {
    let number = read_integer(message.get("ephemeral_message_id")?)?;
    let author = read_integer(&message.get("from")?["id"])?;
    Some(DedupeKey::parse(&format!("e{number}.{author}")))
}

/// Reads the key of an ephemeral command.
fn read_ephemeral(key: &DedupeKey) -> Option<Reader> {
    let (number, user) = key.as_str().strip_prefix('e')?.split_once('.')?;
    Some(Reader { user: user.parse().ok()?, command: Some(number.parse().ok()?) })
}

impl EphemeralAnswers {
    /// Notes the author of a command in a group, before its commit: the reply can come at once.
    pub(crate) fn note_command(&self, message: &Converted) {
        let Converted::Inbound(message) = message else { return };
        let Some((name, argument)) = split_command(&message.content.text) else { return };
        if message.chat != ChatKind::Group
            || message.content.pressed.is_some()
            || !is_personal_command(name, !argument.is_empty())
        {
            return;
        }
        if let Ok(user) = message.sender.id.as_str().parse::<i64>()
            && user > 0
        {
            let place = (message.address.clone(), message.key.clone());
            self.authors.lock().put(place, user);
        }
    }

    fn reader_of(&self, chat: &ChatAddress, key: &DedupeKey) -> Option<Reader> {
        read_ephemeral(key).or_else(|| {
            let user = *self.authors.lock().peek(&(chat.clone(), key.clone()))?;
            Some(Reader { user, command: None })
        })
    }

    /// Lets each chunk of an answer refer to its ephemeral command.
    pub(crate) fn keep_reference(reply: &Content, chunks: &mut [Content]) {
        if let Some(key) = reply.reply_to.as_ref().filter(|key| read_ephemeral(key).is_some()) {
            chunks.iter_mut().for_each(|chunk| chunk.reply_to = Some(key.clone()));
        }
    }
}

impl Telegram {
    /// Sends an answer to the author of its command only. Returns `None` if the answer is for everyone:
    /// it answers no such command, has buttons, or may not be ephemeral here.
    pub(crate) async fn send_ephemeral(
        &self,
        attempt: &Attempt<'_>,
    ) -> Option<Result<MessageReceipt, BotApiError>> {
        let Attempt { delivery, place, text, entities, .. } = attempt;
        let (chat, content) = (&delivery.address, &delivery.content);
        let Reader { user, command } =
            self.ephemeral.reader_of(chat, content.reply_to.as_ref()?)?;
        let is_visible = command.is_none();
        if !content.choices.is_empty()
            || (is_visible && self.ephemeral.open_chats.lock().contains(&chat.whole_chat()))
        {
            return None;
        }
        let request = SendEphemeral {
            chat_id: place.chat,
            message_thread_id: attempt.topic(),
            text: &text.text,
            entities,
            link_preview_options: no_preview(),
            receiver_user_id: user,
            ephemeral_message_parameters: EphemeralReceiver { receiver_user_id: user },
            reply_parameters: command.map(|number| EphemeralReply { ephemeral_message_id: number }),
        };
        match self.api.send(request).await {
            Err(fault) if fault.has_code(400) && !fault.contains("entit") => {
                tracing::debug!(%chat, error = %fault, "an answer cannot be shown to one person");
                self.pace.leave_again();
                if is_visible {
                    self.ephemeral.open_chats.lock().put(chat.whole_chat(), ());
                    return None;
                }
                Some(self.note_unshown(attempt).await)
            }
            sent => Some(sent),
        }
    }

    /// Sends a note to the group instead of an answer that only one person may see.
    async fn note_unshown(&self, attempt: &Attempt<'_>) -> Result<MessageReceipt, BotApiError> {
        let Content { text, .. } =
            notices::LateAnswer.for_reader(readers::EVERYBODY, ANSWER_NOT_SHOWN);
        let mut note =
            SendMessage::new(attempt.place.chat, text).link_preview_options(no_preview());
        if let Some(topic) = attempt.topic() {
            note = note.message_thread_id(topic);
        }
        self.api.send(note).await
    }
}
