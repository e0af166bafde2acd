//! The Telegram channel. Updates come in by long polling or through a webhook, and are confirmed
//! once they are committed. Messages go out one by one, rendered and split for the platform.

mod album;
mod api;
mod bot;
mod bot_form;
mod chat_author;
mod checklists;
mod commands;
mod compose;
mod config;
mod convert;
mod direct_topics;
mod entities;
mod envelope;
mod error;
mod failures;
mod fault;
mod fetch;
mod forwards;
mod greeting;
mod hidden_addresses;
mod joined_parts;
mod kept_parts;
mod last_parts;
mod lenient;
mod media;
mod message;
mod moved;
mod numbers;
mod outcome;
mod plan;
mod poll;
mod position;
mod probe;
mod quotes;
mod raw_chat;
mod raw_content;
mod reaction_queue;
mod receive;
mod recent;
mod rich_text;
mod send;
mod serve;
mod setup;
mod stages;
mod telegram;
mod topic;
mod typed_text;
mod update;
mod webhook;

use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::channel::{
    Channel, ChannelCapabilities, ChannelContext, ChannelError, FetchError, Health, SendError,
};
use avocet_protocol::chat::{ChatAddress, Content, Delivery, DraftError, Outcome, Receipt};
use avocet_protocol::daemon::{Check, LastExchanges};
use avocet_protocol::ids::{AccountName, ChannelName, DedupeKey, PlatformId, TurnId};

pub use config::TelegramConfig;
pub use error::TelegramError;
pub use telegram::Telegram;

use telegram::ephemeral::EphemeralAnswers;
use telegram::{files, pace};

#[async_trait]
impl Channel for Telegram {
    fn name(&self) -> ChannelName {
        self.name.clone()
    }

    fn account(&self) -> AccountName {
        self.account.clone()
    }

    fn capabilities(&self) -> ChannelCapabilities {
        ChannelCapabilities {
            preview_interval: self.preview,
            can_edit: true,
            sends_code_as_files: true,
            has_polls: true,
            keeps_files: true,
            ..ChannelCapabilities::default()
        }
    }

    async fn run(&self, context: ChannelContext) -> Result<(), ChannelError> {
        receive::run(self, &context).await
    }

    async fn deliver(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        if let Some(answered) = self.answer_press(delivery).await {
            return answered;
        }
        // Fails if a hold began after the chat got its turn: a request would be refused.
        let under_way = self.pace.start_request(&delivery.address.chat).await;
        let _under_way = under_way.map_err(SendError::RetryAfter)?;
        let sent = match delivery.content.attachments.len() {
            0 => self.send(delivery).await,
            1 => self.send_file(delivery).await,
            _ => self.send_files(delivery).await,
        };
        self.note_rate_limit(delivery, &sent);
        if let Ok(receipt) = &sent {
            self.drafts.end(&delivery.address);
            self.account_accepted();
            self.note_own(delivery, receipt);
            self.note_pressed_message(delivery);
        }
        sent
    }

    fn plan(&self, reply: &Content) -> Vec<Content> {
        let mut chunks = plan::plan(reply, self.numbered);
        EphemeralAnswers::keep_reference(reply, &mut chunks);
        self.rich.keep_tables(reply, chunks)
    }

    fn plan_preview(&self, reply: &Content) -> Vec<Content> {
        plan::plan_preview(reply, self.numbered)
    }

    fn max_file_bytes(&self, _chat: &ChatAddress) -> Option<u64> {
        Some(files::max_bytes(self.api.host().as_deref()))
    }

    async fn fetch(&self, reference: &str, limit: u64) -> Result<Vec<u8>, FetchError> {
        self.download(reference, limit).await
    }

    async fn turn(&self, delivery: &Delivery) -> Result<(), Duration> {
        if self.presses.is_answered_by(delivery) {
            return Ok(());
        }
        self.pace.turn(&delivery.address.chat, pace::is_group(delivery)).await
    }

    fn spare_turn(&self, delivery: &Delivery) -> Result<(), Duration> {
        if self.presses.is_answered_by(delivery) {
            return Ok(());
        }
        self.pace.spare_turn(&delivery.address.chat, pace::is_group(delivery))
    }

    fn shows_drafts(&self, chat: &ChatAddress) -> bool {
        self.may_draft(chat)
    }

    async fn show_draft(
        &self,
        chat: &ChatAddress,
        turn: TurnId,
        content: &Content,
    ) -> Result<(), DraftError> {
        self.send_draft(chat, turn, content).await
    }

    async fn typing(&self, chat: &ChatAddress) {
        self.show_typing(chat).await;
    }

    fn note_outcome(&self, chat: &ChatAddress, key: &DedupeKey, outcome: Outcome) {
        self.reactions.note_end(chat, key, outcome);
    }

    async fn retract(&self, chat: &ChatAddress, message: &PlatformId) -> Result<(), SendError> {
        self.delete(chat, message).await
    }

    fn exchanges(&self) -> LastExchanges {
        self.health.exchanges()
    }

    fn is_starting(&self) -> bool {
        self.health.is_starting()
    }

    fn is_refused(&self) -> bool {
        self.token.is_refused()
    }

    fn overdue(&self) -> Option<Duration> {
        self.watch.overdue()
    }

    async fn probe(&self) -> Vec<Check> {
        self.run_checks().await
    }

    fn health(&self) -> Health {
        self.health.get()
    }
}
