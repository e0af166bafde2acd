//! Sends chunks to the platform.
//!
//! Each new message carries the nonce of its delivery, which the platform enforces: for some
//! minutes, a request with the same nonce creates nothing and returns the first message. After that
//! time, the channel's history is searched before a message is created.

use std::num::NonZeroU64;
use std::time::Duration;

use avocet_protocol::channel::SendError;
use avocet_protocol::chat::{ChatAddress, Content, Delivery, Receipt};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::PlatformId;
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;
use serenity::builder::{CreateAllowedMentions, CreateMessage, EditMessage};
use serenity::model::channel::{MessageFlags, MessageReference, Nonce};
use serenity::model::id::{ChannelId, MessageId, UserId};

use crate::fault::{RestError, RestRefusal};
use crate::forum::ChunkTarget;
use crate::rest::RestResponse;
use crate::routes::Route;
use crate::sent_message::SentMessage;
use crate::voice_message::OpusRecording;
use crate::{Discord, compose, convert};

/// Age of a message from which its answer notifies the author: people have looked away by then.
const PINGS_AFTER: Duration = Duration::from_mins(2);
const UNKNOWN_MESSAGE: isize = 10_008;
/// Codes of refusals of a reply in a channel with a history that the bot may not read.
const CLOSED_HISTORY: [isize; 2] = [160_002, 160_009];
/// Codes of refusals of each message, whatever its form: no access, a person who accepts none, a
/// forum, and an archived thread (Discord API, "JSON Error Codes").
const ABOUT_CHAT: [isize; 4] = [50_001, 50_007, 50_008, 50_083];

impl Discord {
    /// Sends a chunk as a new message, or as an edit of the message that already shows a part of
    /// it.
    pub(crate) async fn send(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        let text = self.message_text(delivery, delivery.repeat);
        let in_place = delivery.shown_as.is_none() && delivery.files.is_empty();
        if in_place && let Some(receipt) = self.answer_in_place(delivery, &text).await? {
            return Ok(receipt);
        }
        if delivery.shown_as.is_none()
            && let Some(receipt) = self.note_unshown(delivery).await?
        {
            return Ok(receipt);
        }
        let target = self.target(&delivery.address).await?;
        let channel = match self.chunk_target(target, delivery).await? {
            ChunkTarget::Channel(channel) => channel,
            ChunkTarget::NewPost(forum) => {
                return Ok(self.post(forum, delivery).await?.to_receipt());
            }
        };
        if let Some(shown_as) = &delivery.shown_as {
            let id = shown_as.as_str().parse().map_err(|_| SendError::Gone)?;
            self.edit(channel, id, delivery, &text).await?;
            return Ok(Receipt { platform_id: Some(shown_as.clone()) });
        }
        let repeat = delivery.repeat || self.may_be_answered(delivery);
        let anew = self.message_text(delivery, repeat);
        let mut sent = match self.find_sent(channel, delivery, &text).await? {
            Some(sent) => sent,
            None => self.create(channel, delivery, &anew, delivery.nonce.clone()).await?,
        };
        // The message may be a preview with less text, and may have been deleted since.
        if let SentMessage { id: Some(id), content: Some(content) } = &sent
            && ![text.trim(), anew.trim()].contains(&content.trim())
        {
            match self.edit(channel, *id, delivery, &text).await {
                Err(SendError::Gone) => {
                    let nonce = format!("{}-anew", delivery.nonce);
                    sent = self.create(channel, delivery, &text, nonce).await?;
                }
                edited => edited?,
            }
        }
        Ok(sent.to_receipt())
    }

    /// Returns the channel to send to. The id of an allowed user means the private chat with them.
    pub(crate) async fn target(&self, address: &ChatAddress) -> Result<ChannelId, SendError> {
        let id = channel_or_user(address).ok_or_else(|| {
            SendError::Refused(format!("{address} is not a channel of Discord: it is not a number"))
        })?;
        if !self.settings.allow.contains(&id.get()) {
            return self.thread(address, id.into()).await;
        }
        self.open_direct(id.get()).await.map_err(|fault| self.outcome(&fault))
    }

    /// Opens the direct message channel of a user.
    ///
    /// # Errors
    /// [`RestError`] if the request fails.
    pub(crate) async fn open_direct(&self, user: u64) -> Result<ChannelId, RestError> {
        let body = json!({ "recipient_id": user.to_string() });
        let opened = self.rest.send(Method::POST, Route::UserMeDmChannels, &body).await?;
        opened.read().map(|OpenedChannel { id }| id)
    }

    async fn edit(
        &self,
        channel_id: ChannelId,
        message_id: MessageId,
        delivery: &Delivery,
        text: &str,
    ) -> Result<(), SendError> {
        let message = EditMessage::new()
            .content(text)
            .allowed_mentions(CreateAllowedMentions::new())
            .flags(MessageFlags::SUPPRESS_EMBEDS)
            .components(compose::buttons(&delivery.content.choices));
        let route = Route::ChannelMessage { channel_id, message_id };
        match self.rest.send(Method::PATCH, route, &message).await {
            Ok(_) => {
                self.health.works();
                Ok(())
            }
            Err(fault) if fault.is_refused_with(UNKNOWN_MESSAGE) => Err(SendError::Gone),
            Err(fault) => Err(self.outcome(&fault)),
        }
    }

    /// Deletes a message of the bot.
    pub(crate) async fn delete(
        &self,
        address: &ChatAddress,
        message: &PlatformId,
    ) -> Result<(), SendError> {
        let channel_id = self.target(address).await?;
        let message_id = message.as_str().parse().map_err(|_| SendError::Gone)?;
        let route = Route::ChannelMessage { channel_id, message_id };
        match self.rest.send(Method::DELETE, route, &json!({})).await {
            Ok(_) => Ok(()),
            Err(fault) if fault.is_refused_with(UNKNOWN_MESSAGE) => Ok(()),
            Err(fault) => Err(self.outcome(&fault)),
        }
    }

    pub(crate) async fn create(
        &self,
        channel_id: ChannelId,
        delivery: &Delivery,
        text: &str,
        nonce: String,
    ) -> Result<SentMessage, SendError> {
        self.rest.limits.check(channel_id, self.clock.elapsed())?;
        let nonce = Nonce::String(nonce);
        let pings = self.may_ping_asker(&delivery.content);
        let mentioned = self.find_mentioned_user(&delivery.content);
        let message = compose::draft(delivery, text, pings, mentioned);
        let message = message.nonce(nonce).enforce_nonce(true);
        let reference = self.reference(channel_id, delivery);
        let is_reply = reference.is_some();
        let reply = reference.into_iter().fold(message.clone(), CreateMessage::reference_message);
        let voice = OpusRecording::from_delivery(delivery, text);
        let mut answer = self.make(channel_id, &reply, delivery, voice.as_ref()).await;
        if is_reply && answer.as_ref().is_err_and(is_about_closed_history) {
            tracing::info!(channel = %channel_id, "the bot may not read the channel's history; \
                sending replies there as plain messages");
            self.closed_histories.insert(channel_id);
            answer = self.make(channel_id, &message, delivery, voice.as_ref()).await;
        }
        if let Some(chat) = channel_or_user(&delivery.address) {
            self.note_closed(chat.into(), answer.as_ref().err());
        }
        let outcome =
            |fault| self.learn_forum(channel_id, &fault).unwrap_or_else(|| self.outcome(&fault));
        let answer = answer.map_err(outcome)?;
        self.note_sent(channel_id, &answer);
        answer.read_sent().map_err(|fault| self.outcome(&fault))
    }

    /// Returns `true` if the author of the message replied to is notified: of a question, and of an
    /// answer that took long.
    pub(crate) fn may_ping_asker(&self, content: &Content) -> bool {
        let replied = content.reply_to.as_ref().and_then(convert::message_of);
        let Some(replied) = replied.filter(|_| self.settings.ping) else { return false };
        let written = Timestamp(replied.created_at().unix_timestamp() * 1000);
        let is_late = written.until(self.clock.now()) >= PINGS_AFTER;
        is_late || !content.choices.is_empty()
    }

    /// Returns the person whom the text mentions, because there is no message of theirs to reply to: the
    /// asker of a scheduled task or a job in a channel.
    pub(crate) fn find_mentioned_user(&self, content: &Content) -> Option<UserId> {
        let user = content.notifies.as_ref().filter(|_| self.settings.ping)?;
        user.as_str().parse().ok()
    }

    fn message_text(&self, delivery: &Delivery, repeat: bool) -> String {
        compose::text_with_mention(
            &delivery.content,
            repeat,
            self.find_mentioned_user(&delivery.content),
        )
    }

    /// Notes that a message was sent, and the end of the channel's limit.
    pub(crate) fn note_sent(&self, channel: ChannelId, answer: &RestResponse) {
        self.health.works();
        if let Some(wait) = answer.exhausted_for {
            self.rest.limits.note_exhausted(channel, wait, self.clock.elapsed());
        }
    }

    /// Returns the message to reply to. If that message was deleted, Discord sends this one without
    /// the reply. Returns `None` in a channel with a closed history.
    fn reference(&self, channel: ChannelId, delivery: &Delivery) -> Option<MessageReference> {
        let replied = delivery.content.reply_to.as_ref().and_then(convert::message_of)?;
        if replied.get() == channel.get() && !self.is_in_forum(&delivery.address) {
            return None;
        }
        let reference = MessageReference::from((channel, replied)).fail_if_not_exists(false);
        (!self.closed_histories.contains(channel)).then_some(reference)
    }

    /// Sends a message with its files. A recording that is refused as a voice message, for example
    /// by a server that permits none, is sent as a file.
    async fn make(
        &self,
        channel_id: ChannelId,
        message: &CreateMessage,
        delivery: &Delivery,
        voice: Option<&OpusRecording>,
    ) -> Result<RestResponse, RestError> {
        let route = Route::ChannelMessages { channel_id };
        let mut refused = None;
        if let (Some(voice), [file]) = (voice, &delivery.files[..])
            && !self.voiceless.contains(channel_id)
        {
            let body = voice.body(message, &file.name);
            match self.rest.upload(route, &body, &delivery.files).await {
                Err(fault) if is_about_voice(&fault) => refused = Some(fault),
                answer => return answer,
            }
        }
        let answer = match &delivery.files[..] {
            [] => self.rest.send(Method::POST, route, message).await,
            files => self.rest.upload(route, message, files).await,
        };
        if let (Some(fault), Ok(_)) = (refused, &answer) {
            tracing::info!(channel = %channel_id, error = %fault, "the channel takes no voice \
                messages; recordings go there as files");
            self.voiceless.insert(channel_id);
        }
        answer
    }

    /// Shows that the bot is typing, for about ten seconds.
    pub(crate) async fn show_typing(&self, address: &ChatAddress) {
        let Ok(channel_id) = self.target(address).await else { return };
        let route = Route::ChannelTyping { channel_id };
        if let Err(fault) = self.rest.send(Method::POST, route, &json!({})).await {
            tracing::debug!(error = %fault, "cannot show the typing indicator");
        }
    }
}

/// Returns `true` if a reply was refused because of the message that it replies to. Then nothing
/// was sent.
fn is_about_closed_history(fault: &RestError) -> bool {
    CLOSED_HISTORY.iter().any(|code| fault.is_refused_with(*code))
}

/// Returns `true` if a refusal can be about the form of a voice message, and not about the chat.
fn is_about_voice(fault: &RestError) -> bool {
    matches!(fault, RestError::Refused(RestRefusal { status: 400 | 403, .. }))
        && !is_about_closed_history(fault)
        && !ABOUT_CHAT.iter().any(|code| fault.is_refused_with(*code))
}

/// Returns the id of the thread, channel or person to send to.
pub(crate) fn channel_or_user(address: &ChatAddress) -> Option<NonZeroU64> {
    let id = address.topic.as_ref().map_or(address.chat.as_str(), |topic| topic.as_str());
    id.parse().ok()
}

/// The used fields of a direct message channel.
#[derive(Deserialize)]
struct OpenedChannel {
    id: ChannelId,
}
