//! The channel: hands the chunks of a chat to the program that serves it.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use avocet_channel_kit::{Limit, plan};
use avocet_protocol::channel::{
    Attach, AttachPlatform, Channel, ChannelContext, ChannelError, ClientFile, FetchError,
    ForClient, Handover, Health, SendError,
};
use avocet_protocol::chat::{ChatAddress, Content, Delivery, Receipt};
use avocet_protocol::daemon::Check;
use avocet_protocol::ids::{AccountName, ChannelName};
use avocet_protocol::ignore_result;
use avocet_supervise::KeyedListeners;
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The smallest `max_text`, in characters.
pub(crate) const LEAST_TEXT: usize = 100;
/// The largest `max_text`, in characters. Such a message fits into a line of the socket.
pub(crate) const MOST_TEXT: usize = 100_000;
/// Largest number of items that wait for a client that serves all chats.
const BEHIND: usize = 16;

/// An account of the channel `external`, which a program serves.
#[derive(Debug)]
pub struct External {
    name: ChannelName,
    account: AccountName,
    max_text: AtomicUsize,
    /// The clients of single chats.
    chats: KeyedListeners<ChatAddress, ForClient>,
    /// The clients of all chats.
    all: KeyedListeners<(), ForClient>,
    state: Mutex<ReportedState>,
}

/// The reports about the program.
#[derive(Debug, Default)]
struct ReportedState {
    /// The program's reason why its platform is down; `None` if it is up.
    fault: Option<String>,
    /// The reason why no program is attached; `None` if programs come by themselves.
    absence: Option<String>,
}

impl External {
    /// A channel without clients, whose messages have at most `max_text` characters.
    #[must_use]
    pub fn new(name: ChannelName, account: AccountName, max_text: usize) -> Self {
        let (chats, all) = (KeyedListeners::default(), KeyedListeners::default());
        let state = Mutex::default();
        Self { name, account, max_text: max_text.into(), chats, all, state }
    }

    fn state<T>(&self, change: impl FnOnce(&mut ReportedState) -> T) -> T {
        change(&mut self.state.lock())
    }

    /// Returns the clients that can serve the chat, the best first: those of the topic, then of its
    /// chat, then of all chats. Of these, the one that attached last comes first: an older one may
    /// be a connection that is about to end.
    fn clients(&self, chat: &ChatAddress) -> impl Iterator<Item = flume::Sender<ForClient>> {
        let last_first = |clients: Vec<_>| clients.into_iter().rev();
        let whole = chat.whole_chat();
        let of_whole = if whole == *chat { Vec::new() } else { self.chats.listeners_of(&whole) };
        last_first(self.chats.listeners_of(chat))
            .chain(last_first(of_whole))
            .chain(last_first(self.all.listeners_of(&())))
    }
}

impl Attach for External {
    fn attach(&self, chat: &ChatAddress) -> flume::Receiver<ForClient> {
        self.chats.add_listener(chat.clone(), 1)
    }

    fn platform(&self) -> Option<&dyn AttachPlatform> {
        Some(self)
    }
}

impl AttachPlatform for External {
    fn attach_all(&self) -> flume::Receiver<ForClient> {
        self.state(|state| state.fault = None);
        self.all.add_listener((), BEHIND)
    }

    fn set_max_text(&self, chars: usize) -> Result<(), String> {
        if !(LEAST_TEXT..=MOST_TEXT).contains(&chars) {
            return Err(format!("{chars} is not a number from {LEAST_TEXT} to {MOST_TEXT}"));
        }
        self.max_text.store(chars, Ordering::Relaxed);
        Ok(())
    }

    fn report(&self, health: Health) {
        let fault = match health {
            Health::Up => None,
            Health::Down(fault) => Some(fault),
        };
        self.state(|state| state.fault = fault);
    }

    fn explain_absence(&self, why: &str) {
        self.state(|state| state.absence = Some(why.to_owned()));
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
            ignore_result(
                client.try_send(ForClient::Typing(chat.clone())),
                "a client that is behind does not need it",
            );
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
            let start_one = || "no program is attached; start the one that serves it".to_owned();
            let why = self.state(|state| state.absence.clone());
            return Health::Down(why.unwrap_or_else(start_one));
        }
        self.state(|state| state.fault.clone()).map_or(Health::Up, Health::Down)
    }

    /// Reports a fault of the program. A program that comes by itself may be absent.
    async fn probe(&self) -> Vec<Check> {
        let is_ours = self.state(|state| state.absence.is_some());
        match self.health() {
            Health::Down(why) if is_ours || !self.all.is_empty() => {
                let (account, fix) =
                    (&self.account, "see the log of the daemon and of the program");
                vec![Check::fair(format!("{}:{account}", self.name), why, fix)]
            }
            Health::Down(_) | Health::Up => Vec::new(),
        }
    }
}

#[cfg(test)]
#[path = "send_tests.rs"]
mod tests;
