//! Searches the channel's history for a message that may have been made before, once the platform
//! has forgotten its nonce.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use avocet_protocol::{Delivery, SendError};
use serde::Deserialize;
use serde_json::Value;
use serenity::model::id::{ChannelId, MessageId, UserId};

use crate::fault::{RestError, RestRefusal};
use crate::places::{ChannelPlace, Described};
use crate::reading::snowflake;
use crate::routes::Route;
use crate::send::CreatedMessage;
use crate::{Discord, history};

/// Time for which the platform remembers a nonce for sure; it says "a few minutes".
const NONCE_KEPT: Duration = Duration::from_mins(4);
/// Pages of history that are read in the search for a message.
const MAX_PAGES: usize = 50;
/// The beginning and the end of the line that a chat shows instead of a text while a tool takes
/// long.
const LINE: (&str, &str) = ("Still working: ", " min)");
/// Milliseconds that the platform's clock may be behind ours, if only the time identifies a
/// message.
const DOUBTFUL: i64 = 5_000;
/// The platform's error codes for a reply in a channel with a history that the bot may not read.
const CLOSED_PAST: [isize; 2] = [160_002, 160_009];

/// Channels with a history that the bot may not read, as far as the platform has said so.
#[derive(Debug, Default)]
pub(crate) struct ClosedHistories(Mutex<BTreeSet<ChannelId>>);

impl ClosedHistories {
    pub(crate) fn has(&self, channel: ChannelId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&channel)
    }

    pub(crate) fn note(&self, channel: ChannelId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(channel);
    }
}

/// Returns `true` if a reply was refused because of the message that it replies to. Then the
/// message was not made.
pub(crate) fn is_about_the_past(fault: &RestError) -> bool {
    CLOSED_PAST.iter().any(|code| fault.is_refused_with(*code))
}

impl Discord {
    /// Searches for a message that may have been made before, when the nonce no longer helps.
    pub(crate) async fn look_for(
        &self,
        channel: ChannelId,
        delivery: &Delivery,
        text: &str,
    ) -> Result<Option<CreatedMessage>, SendError> {
        let Some(first) = delivery.first_sent_at else { return Ok(None) };
        let now = self.clock.now();
        // If the clock was set back behind the first send, the elapsed time is unknown.
        if first <= now && first.until(now) < NONCE_KEPT {
            return Ok(None);
        }
        let me = self.me().await.map_err(|fault| self.outcome(&fault))?;
        let mut after = snowflake(first);
        let mut best = None;
        for number in 0..MAX_PAGES {
            let page = self.history(channel, after).await;
            let page = page.map_err(|fault| self.unknown_history(&fault))?;
            let Some(last) = page.last() else {
                if number == 0 {
                    self.check_shown(channel, after).await?;
                }
                return Ok(best.map(|(_, made)| made));
            };
            after = history::id(last);
            let fits = |message| Fit::of(message, me, delivery, text).map(|fit| (fit, message));
            for (fit, message) in page.iter().filter_map(fits) {
                let (id, content) = (history::id(message), content(message).to_owned());
                // Of equally good messages, the last one counts.
                if best.as_ref().is_none_or(|(known, _)| *known <= fit) {
                    best = Some((fit, CreatedMessage { id, content }));
                }
            }
            if let Some((Fit::Whole, made)) = best {
                return Ok(Some(made));
            }
        }
        let too_much =
            || SendError::Unknown("too much was said since it was sent first".to_owned());
        best.map(|(_, made)| Some(made)).ok_or_else(too_much)
    }

    /// Checks that the empty history is real: the platform silently hides messages that the bot may
    /// not read.
    async fn check_shown(&self, channel_id: ChannelId, after: MessageId) -> Result<(), SendError> {
        let found = self.rest.get::<Described>(Route::Channel { channel_id }).await;
        let found = found.map_err(|fault| self.unknown_history(&fault))?;
        let is_said = found.last_message_id.is_some_and(|last| last > after);
        match is_said && found.place() != ChannelPlace::Private {
            true => Err(SendError::Unknown(
                "the channel's history shows nothing of what was said: let the bot read it".into(),
            )),
            false => Ok(()),
        }
    }

    /// Without the history, the outcome of the first send is unknown.
    fn unknown_history(&self, fault: &RestError) -> SendError {
        match fault {
            RestError::Refused(RestRefusal { status: 403, .. }) => SendError::Unknown(format!(
                "the channel's history cannot be read: {fault}; let the bot read it"
            )),
            fault => self.outcome(fault),
        }
    }
}

/// The quality of a match between a message of the history and the text to send; a better one is
/// greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// A preview of another text, with this number of equal letters at its beginning. A turn shows
    /// one text before its tools and another one after them, and we send nothing else to the chat
    /// meanwhile.
    Other(usize),
    /// A preview of the message.
    Beginning,
    /// The message itself.
    Whole,
}

impl Fit {
    /// Returns `None` for another message. The nonce decides, if the platform still shows one.
    fn of(message: &Value, me: UserId, delivery: &Delivery, text: &str) -> Option<Self> {
        let is_ours = UserId::deserialize(&message["author"]["id"]).ok() == Some(me);
        let files = message["attachments"].as_array().map_or(0, Vec::len);
        if !is_ours || files != delivery.files.len() {
            return None;
        }
        if let Some(nonce) = message["nonce"].as_str() {
            return (nonce == delivery.nonce).then_some(Self::Whole);
        }
        let first = delivery.first_sent_at?;
        let made = history::id(message).created_at().unix_timestamp() * 1000;
        // An earlier message of ours is another one, unless its text fits.
        let is_late = made + DOUBTFUL >= first.0;
        Self::by_text(content(message), text)
            .filter(|fit| is_late || *fit > Self::Other(usize::MAX))
    }

    fn by_text(said: &str, text: &str) -> Option<Self> {
        if said.trim() == text.trim() {
            return Some(Self::Whole);
        }
        let is_line = said.starts_with(LINE.0) && said.trim_end().ends_with(LINE.1);
        if is_line {
            return Some(Self::Other(0));
        }
        let begun = without_marks(said).strip_suffix('…')?;
        let (begun_letters, letters) = (letters(begun), letters(text));
        let has_letters = !begun_letters.is_empty();
        let is_beginning = match has_letters {
            true => letters.starts_with(&begun_letters),
            false => !begun.trim().is_empty() && text.trim().starts_with(begun.trim()),
        };
        let same = begun_letters.chars().zip(letters.chars()).take_while(|(a, b)| a == b).count();
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
#[path = "sent_before_tests.rs"]
mod tests;
