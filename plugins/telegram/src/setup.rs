//! The first contact with a bot, for `avocet init`. It reads updates without confirming them, so
//! that the daemon answers the first message later.

use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::channel::{BotIntroduction, BotSetup, OwnerCandidate};
use serde_json::Value;
use teloxide::payloads::GetMe;
use teloxide::types::{Message, UpdateKind};

use crate::Telegram;
use crate::api::ANSWER_LIMIT;
use crate::fault::BotApiError;
use crate::update::{ALLOWED_UPDATES, Batch, GetUpdates, PolledUpdates};

/// Seconds that a poll for the first message stays open.
const POLL_SECONDS: u32 = 20;
/// The pause after a poll that failed, or that showed only other updates and therefore ended at
/// once.
const PAUSE: Duration = Duration::from_secs(1);
/// Failed polls in a row before the owner is left out.
const MOST_FAILURES: usize = 5;
/// The updates of a smaller poll, after a list that cannot be decoded.
const FEW: u8 = 10;
/// The reason after updates that cannot be read.
const UNREADABLE: &str = "a message to the bot cannot be read; write another one in a day, or set \
    allow in the configuration";
/// Most characters of a message that are shown.
const SHOWN: usize = 40;

#[async_trait]
impl BotSetup for Telegram {
    async fn introduction(&self) -> Result<BotIntroduction, String> {
        let asked = self.api.call_within(self.clock.as_ref(), ANSWER_LIMIT, GetMe::new()).await;
        let me: Value = asked.map_err(|fault| explained(&fault))?;
        let user = me["username"].as_str().unwrap_or_default();
        let privacy = match me["can_read_all_group_messages"].as_bool() {
            Some(true) => "privacy mode is off: in groups it reads every message",
            _ => {
                "privacy mode is on: in groups it reads only commands, mentions and replies \
                 (@BotFather, /setprivacy)"
            }
        };
        Ok(BotIntroduction {
            name: format!("@{user}"),
            hints: vec![privacy.to_owned()],
            invitation: Some(format!("write any message to the bot: https://t.me/{user}")),
        })
    }

    async fn owner(&self, refused: &[u64]) -> Result<OwnerCandidate, String> {
        let (mut failures, mut part) = (0, PolledPart::default());
        loop {
            // Without an offset, the poll confirms nothing.
            let payload = GetUpdates {
                offset: part.offset,
                limit: part.limit,
                timeout: POLL_SECONDS,
                allowed_updates: ALLOWED_UPDATES,
            };
            let limit = Duration::from_secs(u64::from(POLL_SECONDS)) + ANSWER_LIMIT;
            match self.api.get_updates(self.clock.as_ref(), limit, payload).await {
                Ok(PolledUpdates::Decoded(updates)) => {
                    if let Some(found) = sender(&Batch::read(updates), refused) {
                        return Ok(found);
                    }
                    // A part of the list stays the same: an unreadable update follows it.
                    failures = if part.limit.is_some() { failures + 1 } else { 0 };
                    if failures == MOST_FAILURES {
                        return Err(UNREADABLE.to_owned());
                    }
                }
                Ok(PolledUpdates::Undecodable { first }) => {
                    failures += 1;
                    if failures == MOST_FAILURES {
                        return Err(UNREADABLE.to_owned());
                    }
                    part.narrow(first);
                }
                Err(fault @ (BotApiError::Refused(_) | BotApiError::Moved(_))) => {
                    return Err(explained(&fault));
                }
                Err(fault) => {
                    failures += 1;
                    if failures == MOST_FAILURES {
                        return Err(explained(&fault));
                    }
                }
            }
            self.clock.sleep(PAUSE).await;
        }
    }
}

/// The part of the list of updates that a poll asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct PolledPart {
    offset: Option<i64>,
    limit: Option<u8>,
}

impl PolledPart {
    /// Asks for less of a list that cannot be decoded. If its first update alone cannot be, that update
    /// is skipped: nobody can read it. `first` is its id, if that can be found.
    fn narrow(&mut self, first: Option<i64>) {
        match self.limit {
            None => self.limit = Some(FEW),
            Some(1) => {
                self.offset = first.map(|id| id + 1).or(self.offset);
                self.limit = None;
            }
            Some(_) => self.limit = Some(1),
        }
    }
}

fn explained(fault: &BotApiError) -> String {
    if fault.has_code(409) {
        return "another program reads the messages of this bot; stop it".to_owned();
    }
    format!("Telegram says: {fault}")
}

/// Returns the sender of the first private message of a person.
fn sender(batch: &Batch, refused: &[u64]) -> Option<OwnerCandidate> {
    batch.updates.iter().find_map(|update| match &update.kind {
        UpdateKind::Message(message) => of_message(message, refused),
        _ => None,
    })
}

fn of_message(message: &Message, refused: &[u64]) -> Option<OwnerCandidate> {
    let from = message.from.as_ref().filter(|from| !from.is_bot)?;
    if !message.chat.is_private() || refused.contains(&from.id.0) {
        return None;
    }
    let name = match &from.username {
        Some(user) => format!("{} (@{user})", from.full_name()),
        None => from.full_name(),
    };
    let reason = match message.text() {
        Some(text) => {
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            format!("wrote {:?}", line.chars().take(SHOWN).collect::<String>())
        }
        None => "sent a message without text".to_owned(),
    };
    Some(OwnerCandidate { id: from.id.0, name, reason })
}

#[cfg(test)]
#[path = "setup_tests.rs"]
mod tests;
