//! The open subscriptions of named subscribers.

use std::collections::HashMap;

use avocet_protocol::ids::SubscriberName;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// The open subscriptions of all connections, by name. A new one replaces the one before.
#[derive(Debug, Default)]
pub(crate) struct NamedSubscriptions {
    open: Mutex<HashMap<SubscriberName, CancellationToken>>,
}

impl NamedSubscriptions {
    /// Ends the earlier subscription with this name.
    pub(crate) fn replace(&self, name: &SubscriberName, ended: CancellationToken) {
        let mut open = self.open.lock();
        open.retain(|_, ended| !ended.is_cancelled());
        if let Some(earlier) = open.insert(name.clone(), ended) {
            earlier.cancel();
        }
    }
}
