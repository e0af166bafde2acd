//! The Discord channel. Events come in over the gateway and are committed one by one. Missed
//! messages are read from the channels' histories. Messages go out one by one, and each is made
//! only once.

mod bot_form;
mod bounded;
mod cards;
mod channel_set;
mod channels;
mod compose;
mod config;
mod convert;
mod discord;
mod error;
mod fault;
mod find_sent;
mod forum;
mod gateway;
mod health;
mod history;
mod interactions;
mod lenient;
mod limits;
mod names;
mod outcome;
mod post_heading;
mod presence;
mod probe;
mod receive;
mod rest;
mod routes;
mod send;
mod sent_message;
mod settings;
mod setup;
mod uploads;
mod voice_message;

use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::channel::{
    Channel, ChannelCapabilities, ChannelContext, ChannelError, FetchError, Health, OnUnknown,
    SendError,
};
use avocet_protocol::chat::{ChatAddress, Content, Delivery, Outcome, Receipt};
use avocet_protocol::daemon::{Check, LastExchanges};
use avocet_protocol::ids::{AccountName, ChannelName, DedupeKey, PlatformId};

pub use config::{DiscordConfig, ServerConfig};
pub use discord::Discord;
pub use discord::threads::Threads;
pub use error::DiscordError;

#[async_trait]
impl Channel for Discord {
    fn name(&self) -> ChannelName {
        self.name.clone()
    }

    fn account(&self) -> AccountName {
        self.account.clone()
    }

    fn capabilities(&self) -> ChannelCapabilities {
        ChannelCapabilities {
            preview_interval: self.settings.preview,
            can_edit: true,
            sends_code_as_files: true,
            has_polls: true,
            keeps_files: true,
            // The platform sends an interaction once, to the connected client. It fails after three
            // seconds.
            forgets_presses: true,
            // The platform recognises a message by its nonce; later, we recognise it by its text.
            on_unknown: OnUnknown::RepeatSafe,
        }
    }

    async fn run(&self, context: ChannelContext) -> Result<(), ChannelError> {
        receive::run(self, &context).await
    }

    async fn deliver(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        self.send(delivery).await
    }

    fn plan(&self, reply: &Content) -> Vec<Content> {
        compose::chunks(reply, self.settings.numbered)
    }

    fn plan_preview(&self, reply: &Content) -> Vec<Content> {
        compose::preview_chunks(reply, self.settings.numbered)
    }

    fn pause_before(&self, delivery: &Delivery) -> Duration {
        let target = send::channel_or_user(&delivery.address);
        let now = self.clock.elapsed();
        target.map_or(Duration::ZERO, |id| self.rest.limits.pause(id.into(), now))
    }

    fn is_closed(&self, chat: &ChatAddress) -> bool {
        send::channel_or_user(chat).is_some_and(|id| self.closed_chats.contains(id.into()))
    }

    fn notifies(&self, content: &Content) -> bool {
        self.may_ping_asker(content) || self.find_mentioned_user(content).is_some()
    }

    fn max_file_bytes(&self, chat: &ChatAddress) -> Option<u64> {
        Some(self.uploads.max_bytes(chat.chat.as_str().parse().ok()))
    }

    async fn typing(&self, chat: &ChatAddress) {
        self.activity.note_typing(self.clock.elapsed());
        self.show_typing(chat).await;
    }

    fn note_outcome(&self, chat: &ChatAddress, key: &DedupeKey, outcome: Outcome) {
        self.activity.note_outcome(outcome);
        self.note_end(chat, key, outcome);
    }

    async fn retract(&self, chat: &ChatAddress, message: &PlatformId) -> Result<(), SendError> {
        self.delete(chat, message).await
    }

    async fn fetch(&self, reference: &str, limit: u64) -> Result<Vec<u8>, FetchError> {
        self.fetch_attachment(reference, limit).await
    }

    fn exchanges(&self) -> LastExchanges {
        self.health.last_exchanges()
    }

    fn is_starting(&self) -> bool {
        self.health.is_starting()
    }

    fn is_refused(&self) -> bool {
        self.health.refusals.until_next_try().is_some()
    }

    fn overdue(&self) -> Option<Duration> {
        self.health.watch.overdue()
    }

    async fn probe(&self) -> Vec<Check> {
        self.check_access().await
    }

    fn health(&self) -> Health {
        self.health.get()
    }
}
