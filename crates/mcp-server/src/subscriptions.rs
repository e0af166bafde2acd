//! Updates of resources that a client has subscribed to.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Clock;
use avocet_supervise::{Backoff, Group};
use parking_lot::Mutex;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::{ErrorData, Peer, RoleServer};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::host::{MethodError, SessionFeed, SocketMethods};
use crate::resources::{ResourceKind, protocol_error};

/// The most subscriptions of a client.
const MOST: usize = 32;
/// The pauses between attempts to follow a conversation again after the daemon was lost.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The subscriptions of one client. They end with it.
#[derive(Debug, Default)]
pub(crate) struct ResourceSubscriptions {
    open: Mutex<BTreeMap<String, DropGuard>>,
}

impl ResourceSubscriptions {
    /// Follows a conversation for the client.
    pub(crate) async fn add_session(
        &self,
        uri: String,
        methods: Arc<dyn SocketMethods>,
        peer: Peer<RoleServer>,
        tasks: SubscriptionTasks<'_>,
    ) -> Result<(), ErrorData> {
        let ResourceKind::Session(session) = ResourceKind::parse_uri(&uri)? else {
            let message = "only a conversation can be subscribed to: avocet://sessions/SESSION";
            return Err(ErrorData::invalid_params(message, None));
        };
        if self.open.lock().len() >= MOST && !self.open.lock().contains_key(&uri) {
            let message = format!("there are {MOST} subscriptions already; end one first");
            return Err(ErrorData::invalid_params(message, None));
        }
        let feed = methods.follow(&session, None, false).await;
        let feed = feed.map_err(|error| protocol_error(&error))?;
        let ended = CancellationToken::new();
        self.open.lock().insert(uri.clone(), ended.clone().drop_guard());
        let followed = FollowedSession { methods, session, uri, peer, clock: tasks.clock.clone() };
        let stopping = tasks.group.cancel_token();
        tasks.group.spawn("mcp-subscription", async move {
            tokio::select! {
                () = ended.cancelled() => {}
                () = stopping.cancelled() => {}
                () = followed.run(feed) => {}
            }
        });
        Ok(())
    }

    pub(crate) fn remove_session(&self, uri: &str) {
        self.open.lock().remove(uri);
    }
}

/// The tasks of subscriptions, and their clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SubscriptionTasks<'a> {
    pub(crate) group: &'a Group,
    pub(crate) clock: &'a Arc<dyn Clock>,
}

/// A conversation that a client follows.
struct FollowedSession {
    methods: Arc<dyn SocketMethods>,
    session: SessionId,
    uri: String,
    peer: Peer<RoleServer>,
    clock: Arc<dyn Clock>,
}

/// The client has ended.
struct ClientGone;

impl FollowedSession {
    /// Sends updates until the client has ended, also after restarts of the daemon.
    async fn run(&self, mut feed: SessionFeed) {
        loop {
            if self.send_updates(&feed).await.is_err() {
                return;
            }
            let again = self.follow_again().await;
            // The events meanwhile are unknown.
            if self.send_update().await.is_err() {
                return;
            }
            match again {
                Some(again) => feed = again,
                None => return,
            }
        }
    }

    /// Sends one update for all events that have arrived meanwhile, until the daemon is lost.
    async fn send_updates(&self, feed: &SessionFeed) -> Result<(), ClientGone> {
        while feed.events.recv_async().await.is_ok() {
            feed.events.drain();
            self.send_update().await?;
        }
        Ok(())
    }

    async fn send_update(&self) -> Result<(), ClientGone> {
        let update = ResourceUpdatedNotificationParam::new(self.uri.clone());
        self.peer.notify_resource_updated(update).await.map_err(|_| ClientGone)
    }

    /// Follows the conversation again, with pauses until the daemon runs. `None` if it refuses: the
    /// token is revoked, or the conversation is deleted.
    async fn follow_again(&self) -> Option<SessionFeed> {
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        loop {
            self.clock.sleep(backoff.next_wait()).await;
            match self.methods.follow(&self.session, None, false).await {
                Ok(feed) => return Some(feed),
                Err(error @ MethodError::Refused(_)) => {
                    tracing::debug!(%error, session = %self.session, "a subscription ends");
                    return None;
                }
                Err(error @ MethodError::Lost(_)) => {
                    tracing::debug!(%error, session = %self.session, "cannot follow it again yet");
                }
            }
        }
    }
}
