//! Delivery: one worker for each chat with pending messages.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::access::Roles;
use avocet_protocol::bus::Deliveries;
use avocet_protocol::chat::ChatAddress;
use avocet_protocol::clock::Clock;
use avocet_protocol::ids::{AccountName, ChannelName, TurnId};
use avocet_protocol::store::{EndedMessage, Outbox, StoreError};
use avocet_protocol::tool::Workspaces;
use avocet_supervise::{Group, KeyedWork, UnfinishedTasks};
use tokio::sync::Semaphore;

use crate::ChannelRegistry;
use crate::closed_chats::OwnerNotices;
use crate::load::FileLoader;
use crate::worker::DeliveryWorker;

/// The work of a delivery worker.
type ChatWork = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Maximum number of chunks in sending, over all chats.
const AT_ONCE: usize = 1024;

/// Delivers the outbox: in order within a chat, different chats in parallel.
#[derive(Debug, Clone)]
pub struct Deliverer {
    pub(crate) chats: Arc<KeyedWork<ChatAddress>>,
    pub(crate) worker: DeliveryWorker,
}

impl Deliverer {
    /// Delivers the outbox, with its files, over these channels.
    #[must_use]
    pub fn new(
        outbox: Arc<dyn Outbox>,
        channels: Arc<ChannelRegistry>,
        workspaces: Arc<dyn Workspaces>,
        clock: Arc<dyn Clock>,
        group: Group,
    ) -> Self {
        let at_once = Arc::new(Semaphore::new(AT_ONCE));
        let stopping = group.cancel_token().child_token();
        let (loader, accounts) = (FileLoader::new(workspaces), Arc::default());
        let (signs, closed) = (Arc::default(), Arc::default());
        let worker = DeliveryWorker {
            outbox,
            channels,
            loader,
            clock,
            at_once,
            accounts,
            signs,
            closed,
            stopping,
        };
        Self { chats: Arc::new(KeyedWork::new(group)), worker }
    }

    /// Starts workers for all chats with pending messages. An unreachable chat is skipped; its
    /// channel wakes it later.
    ///
    /// # Errors
    /// [`StoreError`] if the log cannot be read.
    pub async fn start(&self) -> Result<(), StoreError> {
        let is_unreachable = |chat: &ChatAddress| {
            self.worker.channels.channel_of(chat).is_some_and(|channel| !channel.reachable(chat))
        };
        let open = self.worker.outbox.open_chats().await?;
        open.iter().filter(|chat| !is_unreachable(chat)).for_each(|chat| self.wake(chat));
        Ok(())
    }

    /// Sends chunks that can be sent now, and leaves the rest for the next start.
    ///
    /// # Errors
    /// [`UnfinishedTasks`] names the chats with a send in progress at the deadline.
    pub async fn stop(&self, deadline: Duration) -> Result<(), UnfinishedTasks> {
        self.worker.stopping.cancel();
        self.chats.group().wait_for_tasks(self.worker.clock.as_ref(), deadline).await
    }

    /// Lets owners know of chats that are closed to the bot. Called once, before the start.
    pub fn report_closed_chats(&self, roles: &Arc<dyn Roles>, deliveries: &Arc<dyn Deliveries>) {
        let (roles, deliveries) = (Arc::downgrade(roles), Arc::downgrade(deliveries));
        self.worker.closed.set_owners(OwnerNotices { roles, deliveries });
    }

    /// Tells the channels about the messages of a turn once its answer has arrived in `chat`, or is
    /// refused. Called after the answer is in the log, and before its chat is woken.
    pub fn note_when_delivered(
        &self,
        turn: TurnId,
        chat: &ChatAddress,
        messages: Vec<EndedMessage>,
    ) {
        self.worker.signs.keep_until_delivered(turn, chat.whole_chat(), messages);
    }

    pub(crate) fn chat_work(&self) -> impl Fn(ChatAddress) -> ChatWork + Send + use<> {
        let worker = self.worker.clone();
        move |chat| {
            let worker = worker.clone();
            Box::pin(async move { worker.serve_chat(&chat, None).await })
        }
    }
}

impl Deliveries for Deliverer {
    fn wake(&self, chat: &ChatAddress) {
        self.chats.wake(chat.whole_chat(), self.chat_work());
    }

    fn wake_account(&self, channel: &ChannelName, account: &AccountName) {
        let (deliverer, channel, account) = (self.clone(), channel.clone(), account.clone());
        self.chats.group().spawn("wake-account", async move {
            // An error means that the daemon stops; the next start wakes all chats.
            if let Ok(open) = deliverer.worker.open_chats().await {
                let of_it =
                    |chat: &&ChatAddress| chat.channel == channel && chat.account == account;
                open.iter().filter(of_it).for_each(|chat| deliverer.wake(chat));
            }
        });
    }
}

#[cfg(test)]
#[path = "deliver_tests.rs"]
mod tests;
