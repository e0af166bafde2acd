//! What a test can see of the platform, and wait for.

use serde_json::Value;

use super::DiscordFake;
use super::gateway::{Identify, Resume};
use super::interactions::Interaction;
use super::messages::{Created, Mentioned, Message};
use super::platform::{ApiCall, Platform, Refusal};
use super::rest::Route;

/// What was said and asked for.
impl DiscordFake {
    /// What the bot said, in order, after its edits; deleted messages are marked.
    #[must_use]
    pub fn sent(&self) -> Vec<Message> {
        self.shared.lock().messages.sent.clone()
    }

    /// Looks at what the bot said without copying it.
    pub fn look<T>(&self, look: impl FnOnce(&[Message]) -> T) -> T {
        look(&self.shared.lock().messages.sent)
    }

    /// As [`Self::sent`], in one channel.
    #[must_use]
    pub fn sent_in(&self, channel: u64) -> Vec<Message> {
        let is_in = |message: &&Message| message.channel == channel;
        self.shared.lock().messages.sent.iter().filter(is_in).cloned().collect()
    }

    /// As [`Self::sent`], once there are so many.
    pub async fn wait_for_sent(&self, count: usize) -> Vec<Message> {
        self.wait_for(|sent| sent.len() >= count).await
    }

    /// As [`Self::sent`], once it is as wanted.
    pub async fn wait_for(&self, mut wanted: impl FnMut(&[Message]) -> bool) -> Vec<Message> {
        self.wait(|platform| {
            let sent = &platform.messages.sent;
            wanted(sent).then(|| sent.clone())
        })
        .await
    }

    /// Every message that the bot created, in order, whatever became of it.
    #[must_use]
    pub fn created(&self) -> Vec<Created> {
        self.shared.lock().messages.created.clone()
    }

    /// How many messages were created with this nonce, in all channels.
    #[must_use]
    pub fn created_with(&self, nonce: &str) -> usize {
        let has_it = |created: &&Created| created.nonce.as_deref() == Some(nonce);
        self.shared.lock().messages.created.iter().filter(has_it).count()
    }

    /// The bot's messages that told somebody: those mentioned, or the one who is answered.
    #[must_use]
    pub fn mentioned(&self) -> Vec<Mentioned> {
        self.shared.lock().messages.mentioned.clone()
    }

    /// What the fake refused by its own rules, faults not counted.
    #[must_use]
    pub fn refusals(&self) -> Vec<Refusal> {
        self.shared.lock().refusals.clone()
    }

    /// How many requests for a route came in, those that met a fault among them.
    #[must_use]
    pub fn calls(&self, route: Route) -> usize {
        self.requests(route).len()
    }

    /// The requests for a route, with their bodies.
    #[must_use]
    pub fn requests(&self, route: Route) -> Vec<ApiCall> {
        let is_it = |call: &&ApiCall| call.route == route;
        self.shared.lock().calls.iter().filter(is_it).cloned().collect()
    }

    /// The requests for a route in a channel, each as it came: method, path and query.
    #[must_use]
    pub fn requests_in(&self, route: Route, channel: u64) -> Vec<String> {
        let mut calls = self.requests(route);
        calls.retain(|call| call.channel == Some(channel));
        calls.into_iter().map(|call| call.request).collect()
    }

    /// Returns once there were so many requests for a route in a channel.
    pub async fn wait_for_calls_in(&self, route: Route, channel: u64, count: usize) {
        let is_it = |call: &&ApiCall| call.route == route && call.channel == Some(channel);
        let has_all = |platform: &Platform| platform.calls.iter().filter(is_it).count() >= count;
        self.wait(|platform| has_all(platform).then_some(())).await;
    }

    /// Returns once there were so many requests for a route.
    pub async fn wait_for_calls(&self, route: Route, count: usize) {
        let is_it = |call: &&ApiCall| call.route == route;
        let has_all = |platform: &Platform| platform.calls.iter().filter(is_it).count() >= count;
        self.wait(|platform| has_all(platform).then_some(())).await;
    }

    /// The slash commands that the bot registered.
    #[must_use]
    pub fn commands(&self) -> Vec<Value> {
        self.shared.lock().commands.clone()
    }

    /// An interaction, and how it was answered.
    ///
    /// # Panics
    /// If there is none with this id.
    #[must_use]
    pub fn interaction(&self, id: u64) -> Interaction {
        self.shared.lock().interactions.0[&id].clone()
    }

    /// As [`Self::interaction`], once it was answered.
    pub async fn wait_for_answer(&self, id: u64) -> Interaction {
        self.wait(|platform| {
            let found = &platform.interactions.0[&id];
            found.answered.is_some().then(|| found.clone())
        })
        .await
    }
}

/// Who is connected.
impl DiscordFake {
    /// The IDENTIFYs that were taken.
    #[must_use]
    pub fn identifies(&self) -> Vec<Identify> {
        self.shared.lock().gateway.identifies.clone()
    }

    /// As [`Self::identifies`], once there are so many. Each has been sent READY, or is about to
    /// be.
    pub async fn wait_for_identifies(&self, count: usize) -> Vec<Identify> {
        self.wait(|platform| {
            let identifies = &platform.gateway.identifies;
            (identifies.len() >= count).then(|| identifies.clone())
        })
        .await
    }

    /// The RESUMEs, those that were refused among them.
    #[must_use]
    pub fn resumes(&self) -> Vec<Resume> {
        self.shared.lock().gateway.resumes.clone()
    }

    /// As [`Self::resumes`], once there are so many.
    pub async fn wait_for_resumes(&self, count: usize) -> Vec<Resume> {
        self.wait(|platform| {
            let resumes = &platform.gateway.resumes;
            (resumes.len() >= count).then(|| resumes.clone())
        })
        .await
    }

    /// How many heartbeats were heard.
    #[must_use]
    pub fn heartbeats(&self) -> usize {
        self.shared.lock().gateway.heartbeats
    }

    /// Returns once so many heartbeats were heard.
    pub async fn wait_for_heartbeats(&self, count: usize) {
        self.wait(|platform| (platform.gateway.heartbeats >= count).then_some(())).await;
    }

    /// How many connections to the gateway there were, those that are open among them.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.shared.lock().gateway.opened
    }

    /// Returns once there were so many connections to the gateway.
    pub async fn wait_for_connections(&self, count: u64) {
        self.wait(|platform| (platform.gateway.opened >= count).then_some(())).await;
    }

    /// Whether a session has a connection.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        !self.shared.lock().gateway.live().is_empty()
    }

    /// Returns once a session has a connection: what is said from now on is an event.
    pub async fn wait_for_connected(&self) {
        self.wait(|platform| (!platform.gateway.live().is_empty()).then_some(())).await;
    }

    /// Returns once no connection is open: its client has gone. Of use after a kill.
    pub async fn wait_for_disconnected(&self) {
        self.wait(|platform| platform.gateway.connections.is_empty().then_some(())).await;
    }

    /// How connections ended, in order: the connection, and the client's close code (1006 if it
    /// said none, or if the platform closed).
    #[must_use]
    pub fn closes(&self) -> Vec<(u64, u16)> {
        self.shared.lock().gateway.closes.clone()
    }

    /// IDENTIFYs that are left for the day.
    #[must_use]
    pub fn identifies_left(&self) -> usize {
        let platform = self.shared.lock();
        platform.gateway.start_limit.remaining(platform.now)
    }

    async fn wait<T>(&self, mut ready: impl FnMut(&Platform) -> Option<T>) -> T {
        let mut changed = self.shared.changed.subscribe();
        loop {
            if let Some(found) = ready(&self.shared.lock()) {
                return found;
            }
            changed.changed().await.expect("the fake holds the sender");
        }
    }
}
