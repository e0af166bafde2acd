//! Updates of resources that a client has subscribed to.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use avocet_supervise::Group;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::{ErrorData, Peer, RoleServer};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::host::{SessionFeed, SocketMethods};
use crate::resources::{ResourceKind, protocol_error};

/// The most subscriptions of a client.
const MOST: usize = 32;

/// The subscriptions of one client. They end with it.
#[derive(Debug, Default)]
pub(crate) struct ResourceSubscriptions {
    open: Mutex<BTreeMap<String, DropGuard>>,
}

impl ResourceSubscriptions {
    /// Follows a conversation for the client.
    pub(crate) async fn add(
        &self,
        uri: String,
        methods: &dyn SocketMethods,
        peer: Peer<RoleServer>,
        group: &Group,
    ) -> Result<(), ErrorData> {
        let ResourceKind::Session(session) = ResourceKind::parse(&uri)? else {
            let message = "only a conversation can be subscribed to: avocet://sessions/SESSION";
            return Err(ErrorData::invalid_params(message, None));
        };
        if self.open().len() >= MOST && !self.open().contains_key(&uri) {
            let message = format!("there are {MOST} subscriptions already; end one first");
            return Err(ErrorData::invalid_params(message, None));
        }
        let feed = methods.follow(&session, None, false).await;
        let feed = feed.map_err(|error| protocol_error(&error))?;
        let ended = CancellationToken::new();
        self.open().insert(uri.clone(), ended.clone().drop_guard());
        group.spawn("mcp-subscription", async move {
            ended.run_until_cancelled(send_updates(feed, uri, peer)).await.unwrap_or_default();
        });
        Ok(())
    }

    pub(crate) fn remove(&self, uri: &str) {
        self.open().remove(uri);
    }

    fn open(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, DropGuard>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends one update for all events that have arrived meanwhile.
async fn send_updates(feed: SessionFeed, uri: String, peer: Peer<RoleServer>) {
    while feed.events.recv_async().await.is_ok() {
        feed.events.drain();
        let update = ResourceUpdatedNotificationParam::new(uri.clone());
        if peer.notify_resource_updated(update).await.is_err() {
            return;
        }
    }
}
