//! The order of the messages of one publisher that sends further ones before the answers arrive.
//!
//! ```text
//! line 1 read -> ticket 1 -> wait_turn -> hold 1 --- queued: release --> commit -> answer 1
//! line 2 read -> ticket 2 -> wait_turn .......... -> hold 2 --- queued: release --> ...
//! ```
//!
//! The ticket is taken when a message is read, which fixes its position. A message holds the later
//! ones back only until it has its place in the queue of the log's writer: the commits of many
//! messages still share a transaction, and answers come in any order.

use tokio_util::sync::CancellationToken;

/// Hands out the positions of one publisher's messages.
#[derive(Debug, Default)]
pub struct PublishOrder {
    /// Fires when the message that was read last lets others follow.
    last: Option<CancellationToken>,
}

/// The position of a message among those of its publisher.
#[derive(Debug)]
pub struct OrderTicket {
    earlier: Option<CancellationToken>,
    hold: OrderHold,
}

/// Holds the publisher's later messages back until it is released or dropped. The default holds
/// nothing back: for publishers that wait for each answer.
#[derive(Debug, Default)]
pub struct OrderHold {
    released: CancellationToken,
}

impl PublishOrder {
    /// Takes the next position.
    pub fn take_ticket(&mut self) -> OrderTicket {
        let hold = OrderHold::default();
        let earlier = self.last.replace(hold.released.clone());
        OrderTicket { earlier, hold }
    }
}

impl OrderTicket {
    /// Waits until the message before this one lets others follow.
    pub async fn wait_turn(self) -> OrderHold {
        if let Some(earlier) = self.earlier {
            earlier.cancelled().await;
        }
        self.hold
    }
}

impl OrderHold {
    /// Lets the next message of the publisher follow.
    pub fn release_next(&self) {
        self.released.cancel();
    }
}

impl Drop for OrderHold {
    fn drop(&mut self) {
        self.release_next();
    }
}
