//! Whether a message was made before, once the platform has forgotten its nonce: the channel's history
//! says so, where it can be read.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use avocet_protocol::{Delivery, SendError};
use serde::Deserialize;
use serde_json::Value;
use serenity::http::Route;
use serenity::model::id::{ChannelId, MessageId, UserId};

use crate::fault::{Fault, Refusal};
use crate::places::{Described, Place};
use crate::reading::snowflake;
use crate::send::Made;
use crate::{Discord, history};

/// How long the platform is trusted to remember a nonce; it says "a few minutes".
const NONCE_KEPT: Duration = Duration::from_mins(4);
/// Pages of history that are read for a message that may have arrived.
const MAX_PAGES: usize = 50;
/// What the platform says to a reply where the bot may not read what was said before.
const CLOSED_PAST: [isize; 2] = [160_002, 160_009];

/// Channels in which the bot may not read what was said before, as far as the platform has said so.
#[derive(Debug, Default)]
pub(crate) struct ClosedPasts(Mutex<BTreeSet<ChannelId>>);

impl ClosedPasts {
    pub(crate) fn has(&self, channel: ChannelId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&channel)
    }

    pub(crate) fn note(&self, channel: ChannelId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(channel);
    }
}

/// Whether a reply is refused for what it replies to: nothing was made.
pub(crate) fn is_about_the_past(fault: &Fault) -> bool {
    CLOSED_PAST.iter().any(|code| fault.is_refused_with(*code))
}

impl Discord {
    /// Looks for a message that may have been made before, where the nonce does not tell any more.
    pub(crate) async fn look_for(
        &self,
        channel: ChannelId,
        delivery: &Delivery,
        text: &str,
    ) -> Result<Option<Made>, SendError> {
        let Some(first) = delivery.first_sent_at else { return Ok(None) };
        if first.until(self.clock.now()) < NONCE_KEPT {
            return Ok(None);
        }
        let me = self.me().await.map_err(|fault| self.outcome(&fault))?;
        let mut after = snowflake(first);
        for number in 0..MAX_PAGES {
            let page = self.history(channel, after).await;
            let page = page.map_err(|fault| self.unknown_history(&fault))?;
            let Some(last) = page.last() else {
                if number == 0 {
                    self.check_shown(channel, after).await?;
                }
                return Ok(None);
            };
            after = history::id(last);
            if let Some(made) = page.iter().find(|message| is_same(message, me, delivery, text)) {
                let content = made["content"].as_str().unwrap_or_default().to_owned();
                return Ok(Some(Made { id: history::id(made), content }));
            }
        }
        Err(SendError::Unknown("too much was said since it was sent first".to_owned()))
    }

    /// To a bot that may not read them, the platform shows no messages, and does not say so.
    async fn check_shown(&self, channel_id: ChannelId, after: MessageId) -> Result<(), SendError> {
        let found = self.rest.get::<Described>(Route::Channel { channel_id }).await;
        let found = found.map_err(|fault| self.unknown_history(&fault))?;
        let is_said = found.last_message_id.is_some_and(|last| last > after);
        match is_said && found.place() != Place::Private {
            true => Err(SendError::Unknown(
                "the channel's history shows nothing of what was said: let the bot read it".into(),
            )),
            false => Ok(()),
        }
    }

    /// Without the history nobody knows whether the message is there.
    fn unknown_history(&self, fault: &Fault) -> SendError {
        match fault {
            Fault::Refused(Refusal { status: 403, .. }) => SendError::Unknown(format!(
                "the channel's history cannot be read: {fault}; let the bot read it"
            )),
            fault => self.outcome(fault),
        }
    }
}

/// Whether a message of the history is this chunk, or a preview of it. Its nonce says so, if the
/// platform still shows one.
fn is_same(message: &Value, me: UserId, delivery: &Delivery, text: &str) -> bool {
    let author = UserId::deserialize(&message["author"]["id"]);
    if author.ok() != Some(me) {
        return false;
    }
    if message["attachments"].as_array().map_or(0, Vec::len) != delivery.files.len() {
        return false;
    }
    match message["nonce"].as_str() {
        Some(nonce) => nonce == delivery.id.to_string(),
        None => message["content"].as_str().is_some_and(|said| {
            let begun =
                said.trim().strip_suffix('…').map(str::trim_end).filter(|said| !said.is_empty());
            said.trim() == text.trim() || begun.is_some_and(|begun| text.trim().starts_with(begun))
        }),
    }
}
