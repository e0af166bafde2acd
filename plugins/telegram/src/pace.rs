//! How fast the platform lets a bot speak, and what that means for a message that is to be sent.

use std::time::Duration;

use avocet_channel_kit::{Rate, Rates};
use avocet_protocol::{Delivery, Receipt, SendError};

use crate::Telegram;

/// What the platform lets pass (core.telegram.org, "Bots FAQ").
pub(crate) const RATES: Rates = Rates {
    chat: Rate { messages: 1, per: Duration::from_secs(1) },
    group: Rate { messages: 20, per: Duration::from_mins(1) },
    account: Rate { messages: 30, per: Duration::from_secs(1) },
};

/// How long a send may wait where another chat was faster. It is short because a crash meanwhile looks
/// as if it had begun; what has to wait for longer waits in the outbox.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

impl Telegram {
    /// How long a message has to wait for its turn.
    pub(crate) fn pause(&self, delivery: &Delivery) -> Duration {
        let chat = &delivery.address.chat;
        match delivery.shown_as {
            Some(_) => self.pace.held(chat).err().unwrap_or_default(),
            None => self.pace.due(chat, is_group(delivery)),
        }
    }

    /// Waits for the message's turn. An edit makes no message: it goes out unless the platform wants
    /// nothing for its chat.
    pub(crate) async fn in_time(&self, delivery: &Delivery) -> Result<(), SendError> {
        let chat = &delivery.address.chat;
        if delivery.shown_as.is_some() {
            return self.pace.held(chat).map_err(SendError::RetryAfter);
        }
        let waited = self.pace.wait(chat, is_group(delivery), LONGEST_WAIT).await;
        waited.map_err(SendError::RetryAfter)
    }

    /// What the platform asks one chat to wait, nothing is to go there before.
    pub(crate) fn heed(&self, delivery: &Delivery, sent: &Result<Receipt, SendError>) {
        if let Err(SendError::RetryAfter(wait)) = sent {
            self.pace.hold(&delivery.address.chat, *wait);
        }
    }
}

/// The ids of groups are negative (Bot API, `Chat`).
fn is_group(delivery: &Delivery) -> bool {
    delivery.address.chat.as_str().starts_with('-')
}
