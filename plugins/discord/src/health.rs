//! The state of a bot's connections, as `avocet status` shows it.

use std::sync::Arc;

use avocet_channel_kit::{AccountRefusals, Exchanges, ReceiveWatch};
use avocet_protocol::channel::Health;
use avocet_protocol::clock::Clock;
use avocet_protocol::daemon::LastExchanges;
use parking_lot::Mutex;

/// The health of a bot: its exchanges with the platform, and the channels that it cannot read.
#[derive(Debug)]
pub(crate) struct BotHealth {
    exchanges: Exchanges,
    /// The watch of the gateway connection.
    pub(crate) watch: ReceiveWatch,
    pub(crate) refusals: AccountRefusals,
    /// A text about channels that cannot be read, although the platform answers.
    unread: Mutex<Option<String>>,
}

impl BotHealth {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let watch = ReceiveWatch::new(clock.clone());
        let refusals = AccountRefusals::new(clock.clone());
        Self { exchanges: Exchanges::new(clock), watch, refusals, unread: Mutex::default() }
    }

    /// Records a successful exchange with the platform.
    pub(crate) fn works(&self) {
        self.exchanges.record_success();
    }

    /// Records a failed exchange; `why` must not contain the token.
    pub(crate) fn fails(&self, why: &str) {
        self.exchanges.record_failure(why);
    }

    /// Notes the text about unreadable channels; `None` if all can be read.
    pub(crate) fn note_unread(&self, why: Option<String>) {
        *self.unread.lock() = why;
    }

    pub(crate) fn last_exchanges(&self) -> LastExchanges {
        self.exchanges.exchanges()
    }

    pub(crate) fn is_starting(&self) -> bool {
        self.exchanges.is_starting()
    }

    pub(crate) fn get(&self) -> Health {
        let unread = self.unread.lock().clone();
        match (self.exchanges.get(), unread, self.refusals.describe_next_try()) {
            (Health::Down(why), _, Some(next_try)) => Health::Down(format!("{why} ({next_try})")),
            (Health::Up, Some(why), _) => Health::Down(why),
            (health, ..) => health,
        }
    }
}
