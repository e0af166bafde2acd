//! The state of the platform for tests: to read, and to wait for.

use serde_json::Value;

use super::DiscordFake;
use super::gateway::{Identify, Resume};
use super::messages::{Created, DiscordMessage, Mentioned};
use super::open_interactions::Interaction;
use super::platform::{ApiCall, PlatformState, RefusedRequest};
use super::rest::Route;

/// Messages and requests.
impl DiscordFake {
    /// Returns the bot's messages in order, after edits. Deleted ones are marked.
    #[must_use]
    pub fn sent(&self) -> Vec<DiscordMessage> {
        self.shared.lock().messages.sent.clone()
    }

    /// Reads the bot's messages without a copy.
    pub fn look<T>(&self, look: impl FnOnce(&[DiscordMessage]) -> T) -> T {
        look(&self.shared.lock().messages.sent)
    }

    /// Returns the messages in one channel, like [`Self::sent`].
    #[must_use]
    pub fn sent_in(&self, channel: u64) -> Vec<DiscordMessage> {
        let is_in = |message: &&DiscordMessage| message.channel == channel;
        self.shared.lock().messages.sent.iter().filter(is_in).cloned().collect()
    }

    /// Waits until there are `count` messages, and returns them like [`Self::sent`].
    pub async fn wait_for_sent(&self, count: usize) -> Vec<DiscordMessage> {
        self.wait_for(|sent| sent.len() >= count).await
    }

    /// Waits until the messages are as wanted, and returns them like [`Self::sent`].
    pub async fn wait_for(
        &self,
        mut wanted: impl FnMut(&[DiscordMessage]) -> bool,
    ) -> Vec<DiscordMessage> {
        self.wait(|platform| {
            let sent = &platform.messages.sent;
            wanted(sent).then(|| sent.clone())
        })
        .await
    }

    /// Returns the records of all messages that the bot created, in order.
    #[must_use]
    pub fn created(&self) -> Vec<Created> {
        self.shared.lock().messages.created.clone()
    }

    /// Returns the number of messages created with this nonce, in all channels.
    #[must_use]
    pub fn created_with(&self, nonce: &str) -> usize {
        let has_it = |created: &&Created| created.nonce.as_deref() == Some(nonce);
        self.shared.lock().messages.created.iter().filter(has_it).count()
    }

    /// Returns the bot's messages with notifications, by mentions or by replies.
    #[must_use]
    pub fn mentioned(&self) -> Vec<Mentioned> {
        self.shared.lock().messages.mentioned.clone()
    }

    /// Returns the requests that broke a rule of the platform, without those that met a fault.
    #[must_use]
    pub fn refusals(&self) -> Vec<RefusedRequest> {
        self.shared.lock().refusals.clone()
    }

    /// Returns the number of requests for a route, including those that met a fault.
    #[must_use]
    pub fn calls(&self, route: Route) -> usize {
        self.requests(route).len()
    }

    /// Returns the requests for a route, with their bodies.
    #[must_use]
    pub fn requests(&self, route: Route) -> Vec<ApiCall> {
        let is_it = |call: &&ApiCall| call.route == route;
        self.shared.lock().calls.iter().filter(is_it).cloned().collect()
    }

    /// Returns the requests for a route in a channel: method, path and query.
    #[must_use]
    pub fn requests_in(&self, route: Route, channel: u64) -> Vec<String> {
        let mut calls = self.requests(route);
        calls.retain(|call| call.channel == Some(channel));
        calls.into_iter().map(|call| call.request).collect()
    }

    /// Waits until there are `count` requests for a route in a channel.
    pub async fn wait_for_calls_in(&self, route: Route, channel: u64, count: usize) {
        let is_it = |call: &&ApiCall| call.route == route && call.channel == Some(channel);
        let has_all =
            |platform: &PlatformState| platform.calls.iter().filter(is_it).count() >= count;
        self.wait(|platform| has_all(platform).then_some(())).await;
    }

    /// Waits until there are `count` requests for a route.
    pub async fn wait_for_calls(&self, route: Route, count: usize) {
        let is_it = |call: &&ApiCall| call.route == route;
        let has_all =
            |platform: &PlatformState| platform.calls.iter().filter(is_it).count() >= count;
        self.wait(|platform| has_all(platform).then_some(())).await;
    }

    /// Returns the slash commands that the bot has registered.
    #[must_use]
    pub fn commands(&self) -> Vec<Value> {
        self.shared.lock().commands.clone()
    }

    /// Returns an interaction with its answer.
    ///
    /// # Panics
    /// If there is none with this id.
    #[must_use]
    pub fn interaction(&self, id: u64) -> Interaction {
        self.shared.lock().interactions.0[&id].clone()
    }

    /// Waits until an interaction is answered, and returns it.
    pub async fn wait_for_answer(&self, id: u64) -> Interaction {
        self.wait(|platform| {
            let found = &platform.interactions.0[&id];
            found.answered.is_some().then(|| found.clone())
        })
        .await
    }
}

/// Connections.
impl DiscordFake {
    /// Returns the accepted IDENTIFYs.
    #[must_use]
    pub fn identifies(&self) -> Vec<Identify> {
        self.shared.lock().gateway.identifies.clone()
    }

    /// Waits until there are `count` accepted IDENTIFYs, and returns them. READY follows at once.
    pub async fn wait_for_identifies(&self, count: usize) -> Vec<Identify> {
        self.wait(|platform| {
            let identifies = &platform.gateway.identifies;
            (identifies.len() >= count).then(|| identifies.clone())
        })
        .await
    }

    /// Returns the RESUMEs, including refused ones.
    #[must_use]
    pub fn resumes(&self) -> Vec<Resume> {
        self.shared.lock().gateway.resumes.clone()
    }

    /// Waits until there are `count` RESUMEs, and returns them.
    pub async fn wait_for_resumes(&self, count: usize) -> Vec<Resume> {
        self.wait(|platform| {
            let resumes = &platform.gateway.resumes;
            (resumes.len() >= count).then(|| resumes.clone())
        })
        .await
    }

    /// Returns the number of received heartbeats.
    #[must_use]
    pub fn heartbeats(&self) -> usize {
        self.shared.lock().gateway.heartbeats
    }

    /// Waits until `count` heartbeats have been received.
    pub async fn wait_for_heartbeats(&self, count: usize) {
        self.wait(|platform| (platform.gateway.heartbeats >= count).then_some(())).await;
    }

    /// Waits until `count` presences of the bot were received, and returns their texts.
    pub async fn wait_for_presences(&self, count: usize) -> Vec<String> {
        self.wait(|platform| {
            let texts = platform.gateway.presences.iter().map(|(_, presence)| {
                presence["activities"][0]["state"].as_str().unwrap_or_default().to_owned()
            });
            let texts: Vec<String> = texts.collect();
            (texts.len() >= count).then_some(texts)
        })
        .await
    }

    /// Returns the number of all connections to the gateway so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.shared.lock().gateway.opened
    }

    /// Waits until there have been `count` connections to the gateway.
    pub async fn wait_for_connections(&self, count: u64) {
        self.wait(|platform| (platform.gateway.opened >= count).then_some(())).await;
    }

    /// Returns `true` if a session has a connection.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        !self.shared.lock().gateway.live().is_empty()
    }

    /// Waits until a session has a connection. Further messages are sent as events.
    pub async fn wait_for_connected(&self) {
        self.wait(|platform| (!platform.gateway.live().is_empty()).then_some(())).await;
    }

    /// Waits until no connection is open, because the client has disconnected. Needed after a kill.
    pub async fn wait_for_disconnected(&self) {
        self.wait(|platform| platform.gateway.connections.is_empty().then_some(())).await;
    }

    /// Returns the ended connections in order, with the client's close code. It is 1006 if the
    /// client sent none, or if the platform closed the connection.
    #[must_use]
    pub fn closes(&self) -> Vec<(u64, u16)> {
        self.shared.lock().gateway.closes.clone()
    }

    /// Returns the number of IDENTIFYs left for the day.
    #[must_use]
    pub fn identifies_left(&self) -> usize {
        let platform = self.shared.lock();
        platform.gateway.start_limit.remaining(platform.now)
    }

    pub(super) async fn wait<T>(&self, mut ready: impl FnMut(&PlatformState) -> Option<T>) -> T {
        let mut changed = self.shared.changed.subscribe();
        loop {
            if let Some(found) = ready(&self.shared.lock()) {
                return found;
            }
            changed.changed().await.expect("the fake holds the sender");
        }
    }
}
