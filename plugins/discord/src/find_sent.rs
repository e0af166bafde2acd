//! Searches a channel's history for a message whose earlier delivery has an unknown outcome. The
//! search is needed once the platform has forgotten the nonce.

use std::time::Duration;

use avocet_protocol::channel::SendError;
use avocet_protocol::chat::Delivery;
use serde::Deserialize;
use serde_json::Value;
use serenity::model::id::{ChannelId, MessageId, UserId};

use crate::Discord;
use crate::channels::{ChannelInfo, DiscordChannel};
use crate::fault::{RestError, RestRefusal};
use crate::history::{HistoryPage, first_id_after, message_id, readable_id};
use crate::routes::Route;
use crate::sent_message::SentMessage;

/// Time for which the platform certainly remembers a nonce. Its documentation says "a few minutes".
const NONCE_KEPT: Duration = Duration::from_mins(4);
/// Largest number of pages of history that a search reads.
const MAX_PAGES: usize = 50;
/// The beginning and the end of the line that a chat shows instead of a text while a tool takes
/// long.
const PROGRESS_LINE: (&str, &str) = ("Still working: ", " min)");
/// Milliseconds that the platform's clock may be behind ours, for a message that only its time
/// identifies.
const MAX_SKEW_MILLIS: i64 = 5_000;

impl Discord {
    /// Returns the message of an earlier delivery, if the nonce no longer prevents a copy.
    pub(crate) async fn find_sent(
        &self,
        channel: ChannelId,
        delivery: &Delivery,
        text: &str,
    ) -> Result<Option<SentMessage>, SendError> {
        let Some(first) = delivery.first_sent_at else { return Ok(None) };
        let now = self.clock.now();
        // If the clock was set back behind the first send, the elapsed time is unknown.
        if first <= now && first.until(now) < NONCE_KEPT {
            return Ok(None);
        }
        let me = self.own_id().await.map_err(|fault| self.outcome(&fault))?;
        let mut after = first_id_after(first);
        let mut best = None;
        for number in 0..MAX_PAGES {
            let page = self.messages(channel, HistoryPage::After(after)).await;
            let page = page.map_err(|fault| self.history_error(&fault))?;
            let Some(last) = page.iter().rev().find_map(readable_id) else {
                if number == 0 {
                    self.check_empty_history(channel, after).await?;
                }
                return Ok(best.map(|(_, sent)| sent));
            };
            after = last;
            let matched =
                |message| Some((SentMatch::find_match(message, me, delivery, text)?, message));
            for (quality, message) in page.iter().filter_map(matched) {
                // Of equally good messages, the last one counts.
                if best.as_ref().is_none_or(|(known, _)| *known <= quality) {
                    best = Some((quality, SentMessage::read(message)));
                }
            }
            if let Some((SentMatch::Whole, sent)) = best {
                return Ok(Some(sent));
            }
        }
        let too_much =
            || SendError::Unknown("too many messages came since the first attempt".to_owned());
        best.map(|(_, sent)| Some(sent)).ok_or_else(too_much)
    }

    /// Returns the bot's own id.
    pub(crate) async fn own_id(&self) -> Result<UserId, RestError> {
        if let Some(me) = self.user_id.get() {
            return Ok(*me);
        }
        let user: Value = self.rest.get(Route::UserMe).await?;
        let id = UserId::deserialize(&user["id"]);
        let id = id.map_err(|_| RestError::Broken("Discord does not name the bot"))?;
        self.note_user_id(id);
        Ok(id)
    }

    /// Checks that the empty history is real: the platform silently hides messages that the bot may
    /// not read.
    async fn check_empty_history(
        &self,
        channel_id: ChannelId,
        after: MessageId,
    ) -> Result<(), SendError> {
        let found = self.rest.get::<ChannelInfo>(Route::Channel { channel_id }).await;
        let found = found.map_err(|fault| self.history_error(&fault))?;
        let is_newer = found.last_message_id.is_some_and(|last| last > after);
        if is_newer && found.channel_type() != DiscordChannel::Direct {
            return Err(SendError::Unknown(
                "the channel's history is empty for the bot: let the bot read it".into(),
            ));
        }
        Ok(())
    }

    /// Without the history, the outcome of the first send is unknown.
    fn history_error(&self, fault: &RestError) -> SendError {
        match fault {
            RestError::Refused(RestRefusal { status: 403, .. }) => SendError::Unknown(format!(
                "the channel's history cannot be read: {fault}; let the bot read it"
            )),
            fault => self.outcome(fault),
        }
    }
}

/// Returns `true` if a message is a delivery that an earlier send has made.
pub(crate) fn is_sent_as(message: &Value, me: UserId, delivery: &Delivery, text: &str) -> bool {
    SentMatch::find_match(message, me, delivery, text) == Some(SentMatch::Whole)
}

/// The quality of a match between a message of the history and the text to send; a better one is
/// greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SentMatch {
    /// A preview of another text, with this number of equal letters at its beginning. A turn shows
    /// one text before its tools and another one after them, and we send nothing else to the chat
    /// meanwhile.
    Other(usize),
    /// A preview of the message.
    Beginning,
    /// The message itself.
    Whole,
}

impl SentMatch {
    /// Returns `None` for another message. The nonce decides, if the platform still shows one.
    fn find_match(message: &Value, me: UserId, delivery: &Delivery, text: &str) -> Option<Self> {
        let is_ours = UserId::deserialize(&message["author"]["id"]).ok() == Some(me);
        let files = message["attachments"].as_array().map_or(0, Vec::len);
        if !is_ours || files != delivery.files.len() {
            return None;
        }
        if let Some(nonce) = message["nonce"].as_str() {
            return (nonce == delivery.nonce).then_some(Self::Whole);
        }
        let first = delivery.first_sent_at?;
        let made = message_id(message).created_at().unix_timestamp() * 1000;
        // An earlier message of ours is another one, unless its text fits. All messages without a
        // text fit each other, such as recordings.
        let is_late = made + MAX_SKEW_MILLIS >= first.0;
        let identifies = !text.trim().is_empty();
        Self::by_text(content(message), text)
            .filter(|fit| is_late || identifies && *fit > Self::Other(usize::MAX))
    }

    fn by_text(shown: &str, text: &str) -> Option<Self> {
        if shown.trim() == text.trim() {
            return Some(Self::Whole);
        }
        let is_line =
            shown.starts_with(PROGRESS_LINE.0) && shown.trim_end().ends_with(PROGRESS_LINE.1);
        if is_line {
            return Some(Self::Other(0));
        }
        let beginning = without_marks(shown).strip_suffix('…')?;
        let (beginning_letters, letters) = (letters(beginning), letters(text));
        let is_beginning = if beginning_letters.is_empty() {
            !beginning.trim().is_empty() && text.trim().starts_with(beginning.trim())
        } else {
            letters.starts_with(&beginning_letters)
        };
        let same =
            beginning_letters.chars().zip(letters.chars()).take_while(|(a, b)| a == b).count();
        Some(if is_beginning { Self::Beginning } else { Self::Other(same) })
    }
}

/// Returns the letters and digits of a text, without marks of styles: a preview that was cut inside
/// of a style has marks that the message lacks.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Removes the closing marks of styles.
fn without_marks(text: &str) -> &str {
    text.trim_end_matches(|c: char| c.is_ascii_punctuation() || c.is_whitespace())
}

fn content(message: &Value) -> &str {
    message["content"].as_str().unwrap_or_default()
}

#[cfg(test)]
#[path = "find_sent_tests.rs"]
mod tests;
