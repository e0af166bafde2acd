//! Sends a chunk to the platform, and derives the outcome from its answer.
//!
//! Every create carries the delivery's nonce, which the platform enforces: for some minutes, a
//! second create with the same nonce makes nothing and returns the first message. After that time,
//! the channel's history is searched before a message is made.

use std::num::NonZeroU64;

use avocet_protocol::{ChatAddress, Delivery, PlatformId, Receipt, SendError};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;
use serenity::builder::{CreateAllowedMentions, CreateMessage, EditMessage};
use serenity::model::channel::{MessageFlags, MessageReference, Nonce};
use serenity::model::id::{ChannelId, MessageId, UserId};
use serenity::model::user::CurrentUser;

use crate::fault::{RestError, RestRefusal};
use crate::rest::RestResponse;
use crate::routes::Route;
use crate::sent_before::is_about_the_past;
use crate::{Discord, convert, plan};

const UNKNOWN_MESSAGE: isize = 10_008;
/// Advice about a refusal, by its code.
const ADVICE: [(isize, &str); 4] = [
    (10_003, "the channel is gone"),
    (
        50_001,
        "the bot does not see this channel: take it into the server again, or let it view the \
        channel",
    ),
    (
        50_007,
        "this person takes no direct messages from the bot: they have to share a server with it \
        and allow messages from its members",
    ),
    (50_013, "the bot may not write in this channel: let it send messages there"),
];

/// The used fields of a message of ours.
#[derive(Deserialize)]
pub(crate) struct CreatedMessage {
    pub(crate) id: MessageId,
    #[serde(default)]
    pub(crate) content: String,
}

impl Discord {
    /// Sends a chunk as a new message, or as an edit of the message that already shows a part of
    /// it.
    pub(crate) async fn send(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        let channel = self.target(&delivery.address).await?;
        let text = plan::text(&delivery.content, delivery.repeat);
        if let Some(shown_as) = &delivery.shown_as {
            let id = shown_as.as_str().parse().map_err(|_| SendError::Gone)?;
            self.edit(channel, id, delivery, &text).await?;
            return Ok(Receipt { platform_id: Some(shown_as.clone()) });
        }
        let mut made = match self.look_for(channel, delivery, &text).await? {
            Some(made) => made,
            None => self.create(channel, delivery, &text, delivery.nonce.clone()).await?,
        };
        // The message was made before as a preview, with less text. It may have been deleted since.
        if made.content.trim() != text.trim() {
            match self.edit(channel, made.id, delivery, &text).await {
                Err(SendError::Gone) => {
                    let nonce = format!("{}-anew", delivery.nonce);
                    made = self.create(channel, delivery, &text, nonce).await?;
                }
                edited => edited?,
            }
        }
        Ok(Receipt { platform_id: PlatformId::parse(&made.id.to_string()).ok() })
    }

    /// Returns the channel to send to. The id of an allowed user stands for the chat with them.
    async fn target(&self, address: &ChatAddress) -> Result<ChannelId, SendError> {
        let id = place(address).ok_or_else(|| {
            SendError::Refused(format!("{address} is no channel of Discord: it is not a number"))
        })?;
        if !self.settings.allow.contains(&id.get()) {
            return Ok(id.into());
        }
        let body = json!({ "recipient_id": id.to_string() });
        let opened = self.rest.send(Method::POST, Route::UserMeDmChannels, &body).await;
        let opened = opened.and_then(|answer| answer.read::<OpenedChannel>());
        opened.map(|opened| opened.id).map_err(|fault| self.outcome(&fault))
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
            .components(plan::buttons(&delivery.content.choices));
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

    async fn create(
        &self,
        channel_id: ChannelId,
        delivery: &Delivery,
        text: &str,
        nonce: String,
    ) -> Result<CreatedMessage, SendError> {
        self.rest.limits.check(channel_id, self.clock.elapsed())?;
        let message = draft(delivery, text, nonce);
        let reference = self.reference(channel_id, delivery);
        let is_reply = reference.is_some();
        let reply = reference.into_iter().fold(message.clone(), CreateMessage::reference_message);
        let mut answer = self.make(channel_id, &reply, delivery).await;
        if is_reply && answer.as_ref().is_err_and(is_about_the_past) {
            tracing::info!(channel = %channel_id, "the bot may not read the channel's history: what \
                it says there shows no message that it answers");
            self.closed_histories.note(channel_id);
            answer = self.make(channel_id, &message, delivery).await;
        }
        let answer = answer.map_err(|fault| self.outcome(&fault))?;
        self.health.works();
        if let Some(wait) = answer.exhausted_for {
            self.rest.limits.exhausted(channel_id, wait, self.clock.elapsed());
        }
        answer.read().map_err(|fault| self.outcome(&fault))
    }

    /// Returns the message to reply to. If that was deleted, Discord sends an ordinary message. In
    /// a channel with a closed history, there is no reply.
    fn reference(&self, channel: ChannelId, delivery: &Delivery) -> Option<MessageReference> {
        let replied = delivery.content.reply_to.as_ref().and_then(convert::message_of)?;
        let reference = MessageReference::from((channel, replied)).fail_if_not_exists(false);
        (!self.closed_histories.has(channel)).then_some(reference)
    }

    async fn make(
        &self,
        channel_id: ChannelId,
        message: &CreateMessage,
        delivery: &Delivery,
    ) -> Result<RestResponse, RestError> {
        let route = Route::ChannelMessages { channel_id };
        match &delivery.files[..] {
            [] => self.rest.send(Method::POST, route, message).await,
            files => self.rest.upload(route, message, files).await,
        }
    }

    /// Returns the bot's own id.
    pub(crate) async fn me(&self) -> Result<UserId, RestError> {
        if let Some(me) = self.user_id.get() {
            return Ok(*me);
        }
        let user: CurrentUser = self.rest.get(Route::UserMe).await?;
        self.note_user_id(user.id);
        Ok(user.id)
    }

    /// Converts the fault of a send to its outcome.
    pub(crate) fn outcome(&self, fault: &RestError) -> SendError {
        let text = fault.to_string();
        match fault {
            RestError::Wait(wait) => SendError::RetryAfter(*wait),
            // The operator has to replace the token; until then messages wait.
            fault if fault.is_about_token() => SendError::Failed(text),
            RestError::Refused(RestRefusal { code, .. }) => {
                let advice = ADVICE.iter().find(|(known, _)| known == code);
                SendError::Refused(match advice {
                    Some((_, advice)) => format!("{advice} ({text})"),
                    None => text,
                })
            }
            RestError::NotSent(_) => {
                self.health.fails("messages cannot be sent");
                SendError::Failed(text)
            }
            RestError::Server(_) | RestError::Broken(_) => {
                self.health.fails("messages cannot be sent");
                SendError::Unknown(text)
            }
        }
    }

    /// Shows that the bot is typing, for about ten seconds.
    pub(crate) async fn show_typing(&self, address: &ChatAddress) {
        let Ok(channel_id) = self.target(address).await else { return };
        let route = Route::ChannelTyping { channel_id };
        if let Err(fault) = self.rest.send(Method::POST, route, &json!({})).await {
            tracing::debug!(error = %fault, "typing is not shown");
        }
    }
}

fn draft(delivery: &Delivery, text: &str, nonce: String) -> CreateMessage {
    CreateMessage::new()
        .content(text)
        .allowed_mentions(CreateAllowedMentions::new().replied_user(false))
        .flags(MessageFlags::SUPPRESS_EMBEDS)
        .components(plan::buttons(&delivery.content.choices))
        .nonce(Nonce::String(nonce))
        .enforce_nonce(true)
}

/// Returns the id of the thread, channel or person to send to.
pub(crate) fn place(address: &ChatAddress) -> Option<NonZeroU64> {
    let id = address.topic.as_ref().map_or(address.chat.as_str(), |topic| topic.as_str());
    id.parse().ok()
}

/// The used fields of a direct message channel.
#[derive(Deserialize)]
struct OpenedChannel {
    id: ChannelId,
}
