//! Rate limits: the platform's limits for a bot, and the waits that it asks for.

use std::time::Duration;

use avocet_channel_kit::{Rate, Rates};
use avocet_protocol::channel::SendError;
use avocet_protocol::chat::{Delivery, Receipt};

use crate::Telegram;

/// The platform's limits (core.telegram.org, "Bots FAQ"). Edits count as messages.
pub(crate) const RATES: Rates = Rates {
    chat: Rate { messages: 1, per: Duration::from_secs(1) },
    group: Rate { messages: 20, per: Duration::from_mins(1) },
    account: Rate { messages: 30, per: Duration::from_secs(1) },
};

impl Telegram {
    /// Holds the chat, or the whole account, for as long as the platform asks.
    pub(crate) fn note_rate_limit(&self, delivery: &Delivery, sent: &Result<Receipt, SendError>) {
        let Err(SendError::RetryAfter(wait)) = sent.as_ref().map_err(SendError::of_rest) else {
            return;
        };
        if self.pace.refused(&delivery.address.chat, *wait) {
            tracing::warn!(account = %self.account, ?wait, "Telegram limits the whole bot; sending \
                pauses until the limit ends");
        }
    }
}

/// Returns `true` if the chat is a group: ids of groups are negative (Bot API, `Chat`).
pub(crate) fn is_group(delivery: &Delivery) -> bool {
    delivery.address.chat.as_str().starts_with('-')
}
