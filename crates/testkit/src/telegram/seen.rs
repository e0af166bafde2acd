//! What a test can see of the platform, and wait for.

use serde_json::Value;

use super::TelegramFake;
use super::bot::{ApiCall, Bot, Refusal};
use super::chats::SentMessage;

impl TelegramFake {
    /// What the bot said, in order, after its edits; deleted messages are marked.
    #[must_use]
    pub fn sent(&self) -> Vec<SentMessage> {
        self.shared.lock().chats.sent().to_vec()
    }

    /// Looks at what the bot said without copying it.
    pub fn look<T>(&self, look: impl FnOnce(&[SentMessage]) -> T) -> T {
        look(self.shared.lock().chats.sent())
    }

    /// As [`Self::sent`], once there are so many.
    pub async fn wait_for_sent(&self, count: usize) -> Vec<SentMessage> {
        self.wait_for(|sent| sent.len() >= count).await
    }

    /// As [`Self::sent`], once it is as wanted.
    pub async fn wait_for(
        &self,
        mut wanted: impl FnMut(&[SentMessage]) -> bool,
    ) -> Vec<SentMessage> {
        self.wait(|bot| wanted(bot.chats.sent()).then(|| bot.chats.sent().to_vec())).await
    }

    /// What the fake refused by its own rules, faults not counted.
    #[must_use]
    pub fn refusals(&self) -> Vec<Refusal> {
        self.shared.lock().refusals.clone()
    }

    /// How many calls of a method came, those that met a fault among them.
    #[must_use]
    pub fn calls(&self, method: &str) -> usize {
        self.requests(method).len()
    }

    /// The calls of a method, with their parameters.
    #[must_use]
    pub fn requests(&self, method: &str) -> Vec<ApiCall> {
        let is_it = |call: &&ApiCall| call.method.eq_ignore_ascii_case(method);
        self.shared.lock().calls.iter().filter(is_it).cloned().collect()
    }

    /// Returns once a method was called so many times.
    pub async fn wait_for_calls(&self, method: &str, count: usize) {
        let is_it = |call: &&ApiCall| call.method.eq_ignore_ascii_case(method);
        self.wait(|bot| (bot.calls.iter().filter(is_it).count() >= count).then_some(())).await;
    }

    /// Returns once a poll waits.
    pub async fn wait_for_poll(&self) {
        self.wait(|bot| bot.is_polled().then_some(())).await;
    }

    /// Returns once no poll waits: its client has gone. Of use after a kill and before the next
    /// start: a client that has not been seen to go still makes a conflict.
    pub async fn wait_for_no_poll(&self) {
        self.wait(|bot| (!bot.is_polled()).then_some(())).await;
    }

    /// The updates that the bot did not confirm.
    #[must_use]
    pub fn unconfirmed(&self) -> Vec<i64> {
        self.shared.lock().updates.waiting()
    }

    /// As [`Self::unconfirmed`], once nothing is left.
    pub async fn wait_for_confirmed(&self) {
        self.wait(|bot| bot.updates.waiting().is_empty().then_some(())).await;
    }

    /// The commands that the bot registered.
    #[must_use]
    pub fn commands(&self) -> Vec<Value> {
        self.shared.lock().commands.clone()
    }

    async fn wait<T>(&self, mut ready: impl FnMut(&Bot) -> Option<T>) -> T {
        let mut changed = self.shared.changed.subscribe();
        loop {
            if let Some(found) = ready(&self.shared.lock()) {
                return found;
            }
            changed.changed().await.expect("the fake holds the sender");
        }
    }
}
