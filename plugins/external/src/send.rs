//! The channel: hands the chunks of a chat to the program that serves it.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use avocet_channel_kit::{Limit, plan};
use avocet_protocol::{
    AccountName, Attach, AttachPlatform, Channel, ChannelContext, ChannelError, ChannelName,
    ChatAddress, ClientFile, Content, Delivery, FetchError, ForClient, Handover, Health, Receipt,
    SendError,
};
use avocet_supervise::Listeners;
use tokio::sync::oneshot;

/// Characters of the shortest limit of a message.
pub(crate) const LEAST_TEXT: usize = 100;
/// Characters of the longest limit of a message. Such a message fits into a line of the socket.
pub(crate) const MOST_TEXT: usize = 100_000;
/// The most items that wait for a client that serves all chats.
const BEHIND: usize = 16;

/// An account of the channel `external`, which a program serves.
#[derive(Debug)]
pub struct External {
    name: ChannelName,
    account: AccountName,
    max_text: AtomicUsize,
    /// The clients of single chats.
    chats: Listeners<ChatAddress, ForClient>,
    /// The clients of all chats.
    all: Listeners<(), ForClient>,
}

impl External {
    /// A channel without clients, whose messages have at most `max_text` characters.
    #[must_use]
    pub fn new(name: ChannelName, account: AccountName, max_text: usize) -> Self {
        let (chats, all) = (Listeners::default(), Listeners::default());
        Self { name, account, max_text: max_text.into(), chats, all }
    }

    /// The clients that can serve the chat, the best first: those of the topic, of its chat, of all
    /// chats, and among them the one that attached last. An older one may be a connection that is
    /// about to end.
    fn clients(&self, chat: &ChatAddress) -> impl Iterator<Item = flume::Sender<ForClient>> {
        let last_first = |clients: Vec<_>| clients.into_iter().rev();
        let whole = chat.whole_chat();
        let of_whole = if whole == *chat { Vec::new() } else { self.chats.of(&whole) };
        last_first(self.chats.of(chat))
            .chain(last_first(of_whole))
            .chain(last_first(self.all.of(&())))
    }
}

impl Attach for External {
    fn attach(&self, chat: &ChatAddress) -> flume::Receiver<ForClient> {
        self.chats.add(chat.clone(), 1)
    }

    fn platform(&self) -> Option<&dyn AttachPlatform> {
        Some(self)
    }
}

impl AttachPlatform for External {
    fn attach_all(&self) -> flume::Receiver<ForClient> {
        self.all.add((), BEHIND)
    }

    fn set_max_text(&self, chars: usize) -> Result<(), String> {
        if !(LEAST_TEXT..=MOST_TEXT).contains(&chars) {
            return Err(format!("{chars} is not a number from {LEAST_TEXT} to {MOST_TEXT}"));
        }
        self.max_text.store(chars, Ordering::Relaxed);
        Ok(())
    }
}

#[async_trait]
impl Channel for External {
    fn name(&self) -> ChannelName {
        self.name.clone()
    }

    fn account(&self) -> AccountName {
        self.account.clone()
    }

    /// Only waits for the stop: messages arrive through the gateway.
    async fn run(&self, context: ChannelContext) -> Result<(), ChannelError> {
        context.stop.cancelled().await;
        Ok(())
    }

    /// Delivers to one client, since each of them would post the message.
    async fn deliver(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        for client in self.clients(&delivery.address) {
            let (receipt, outcome) = oneshot::channel();
            let handover = Handover { delivery: delivery.clone(), receipt };
            if client.send_async(ForClient::Chunk(Box::new(handover))).await.is_err() {
                continue;
            }
            return outcome.await.unwrap_or_else(|_| {
                let why = "the program disconnected before it confirmed the delivery";
                Err(SendError::Unknown(why.to_owned()))
            });
        }
        Err(SendError::Unreachable)
    }

    fn plan(&self, reply: &Content) -> Vec<Content> {
        plan(reply, Limit::chars(self.max_text.load(Ordering::Relaxed)), false)
    }

    fn reachable(&self, chat: &ChatAddress) -> bool {
        self.clients(chat).next().is_some()
    }

    async fn typing(&self, chat: &ChatAddress) {
        if let Some(client) = self.clients(chat).next() {
            // A client that is behind does not need it.
            drop(client.try_send(ForClient::Typing(chat.clone())));
        }
    }

    /// Reads a file of the program that published the message.
    async fn fetch(&self, reference: &str, limit: u64) -> Result<Vec<u8>, FetchError> {
        let unknown = || FetchError::Gone("its reference is not that of a program".to_owned());
        let file = ClientFile::parse(reference).ok_or_else(unknown)?;
        file.read(self.clients(&file.chat), limit).await
    }

    fn health(&self) -> Health {
        if !self.all.are_present() && !self.chats.are_present() {
            return Health::Down("no program is attached; start the one that serves it".to_owned());
        }
        Health::Up
    }
}

#[cfg(test)]
#[path = "send_tests.rs"]
mod tests;
