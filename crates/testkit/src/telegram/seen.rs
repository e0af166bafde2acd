//! The state of the platform for tests: to read, and to wait for.

use serde_json::Value;

use super::TelegramFake;
use super::bot::{ApiCall, BotState, RefusedCall};
use super::chats::SentMessage;

impl TelegramFake {
    /// Returns the bot's messages in order, after edits. Deleted ones are marked.
    #[must_use]
    pub fn sent(&self) -> Vec<SentMessage> {
        self.shared.lock().chats.sent().to_vec()
    }

    /// Reads the bot's messages without a copy.
    pub fn look<T>(&self, look: impl FnOnce(&[SentMessage]) -> T) -> T {
        look(self.shared.lock().chats.sent())
    }

    /// Waits until there are `count` messages, and returns them like [`Self::sent`].
    pub async fn wait_for_sent(&self, count: usize) -> Vec<SentMessage> {
        self.wait_for(|sent| sent.len() >= count).await
    }

    /// Waits until the messages are as wanted, and returns them like [`Self::sent`].
    pub async fn wait_for(
        &self,
        mut wanted: impl FnMut(&[SentMessage]) -> bool,
    ) -> Vec<SentMessage> {
        self.wait(|bot| wanted(bot.chats.sent()).then(|| bot.chats.sent().to_vec())).await
    }

    /// Returns the calls that broke a rule of the platform, without those that met a fault.
    #[must_use]
    pub fn refusals(&self) -> Vec<RefusedCall> {
        self.shared.lock().refusals.clone()
    }

    /// Returns the number of calls of a method, including those that met a fault.
    #[must_use]
    pub fn calls(&self, method: &str) -> usize {
        self.requests(method).len()
    }

    /// Returns the calls of a method, with their parameters.
    #[must_use]
    pub fn requests(&self, method: &str) -> Vec<ApiCall> {
        let is_it = |call: &&ApiCall| call.method.eq_ignore_ascii_case(method);
        self.shared.lock().calls.iter().filter(is_it).cloned().collect()
    }

    /// Waits until a method has been called `count` times.
    pub async fn wait_for_calls(&self, method: &str, count: usize) {
        let is_it = |call: &&ApiCall| call.method.eq_ignore_ascii_case(method);
        self.wait(|bot| (bot.calls.iter().filter(is_it).count() >= count).then_some(())).await;
    }

    /// Waits until a poll is open.
    pub async fn wait_for_poll(&self) {
        self.wait(|bot| bot.is_polled().then_some(())).await;
    }

    /// Waits until there is no open poll, because its client has disconnected. Needed between a
    /// kill and the next start: before the platform notices the disconnect, a new poll is a
    /// conflict.
    pub async fn wait_for_no_poll(&self) {
        self.wait(|bot| (!bot.is_polled()).then_some(())).await;
    }

    /// Returns the ids of the updates that the bot has not confirmed.
    #[must_use]
    pub fn unconfirmed(&self) -> Vec<i64> {
        self.shared.lock().updates.waiting()
    }

    /// Returns the updates that the bot has not confirmed.
    #[must_use]
    pub fn pending_updates(&self) -> Vec<Value> {
        self.shared.lock().updates.pending()
    }

    /// Returns the answer to `getWebhookInfo`.
    #[must_use]
    pub fn webhook_info(&self) -> Value {
        self.shared.lock().webhook_info()
    }

    /// Waits until all updates are confirmed.
    pub async fn wait_for_confirmed(&self) {
        self.wait(|bot| bot.updates.waiting().is_empty().then_some(())).await;
    }

    /// Returns the commands that the bot has registered.
    #[must_use]
    pub fn commands(&self) -> Vec<Value> {
        self.shared.lock().commands.clone()
    }

    pub(super) async fn wait<T>(&self, mut ready: impl FnMut(&BotState) -> Option<T>) -> T {
        let mut changed = self.shared.changed.subscribe();
        loop {
            if let Some(found) = ready(&self.shared.lock()) {
                return found;
            }
            changed.changed().await.expect("the fake holds the sender");
        }
    }
}
