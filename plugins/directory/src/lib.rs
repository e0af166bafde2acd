//! A directory of text files as a channel: a file in `inbox` is a message to the agent, and a file
//! in `outbox` is an answer. Scripts, cron jobs and sync tools talk to the agent through it.
//!
//! This is the smallest whole channel, and the one to copy. Read it in this order:
//!
//! 1. `config`: the table of the configuration,
//! 2. `receive`: the loop,
//! 3. `convert`: a file becomes a message,
//! 4. `send`: an answer becomes a file,
//! 5. this file, which implements the port [`Channel`] with these parts.
//!
//! Only `folders` is about directories; another channel has its platform's API there.

mod config;
mod convert;
mod folders;
mod receive;
mod send;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use avocet_channel_kit::Exchanges;
use avocet_protocol::channel::{
    Channel, ChannelCapabilities, ChannelContext, ChannelError, Health, OnUnknown, SendError,
};
use avocet_protocol::chat::{ChatAddress, Content, Delivery, Receipt};
use avocet_protocol::clock::Clock;
use avocet_protocol::daemon::{Check, LastExchanges};
use avocet_protocol::ids::{AccountName, ChannelName, ChatId, IdError, SenderId};
use avocet_supervise::run_blocking;
use parking_lot::Mutex;
use rustix::process::geteuid;

pub use config::DirectoryConfig;

use folders::Folders;
use receive::DirectoryReceiver;

/// The only chat of a directory.
const CHAT: &str = "files";

/// A directory with its inbox and outbox.
#[derive(Debug)]
pub struct DirectoryChannel {
    name: ChannelName,
    account: AccountName,
    chat: ChatAddress,
    /// The daemon's user, by the same id as on the socket.
    sender: SenderId,
    folders: Folders,
    /// The polls of the inbox.
    polls: Exchanges,
    /// The error of the last write to the outbox; `None` if it succeeded.
    write_error: Mutex<Option<String>>,
}

impl DirectoryChannel {
    /// Makes the channel of a directory. Accesses no file yet.
    ///
    /// # Errors
    /// [`IdError`] if the names cannot be parts of a chat's address.
    pub fn new(
        name: ChannelName,
        account: AccountName,
        path: PathBuf,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, IdError> {
        let chat = ChatAddress {
            channel: name.clone(),
            account: account.clone(),
            chat: ChatId::parse(CHAT)?,
            topic: None,
        };
        let sender = SenderId::parse(&format!("uid:{}", geteuid().as_raw()))?;
        let (folders, polls) = (Folders::new(path), Exchanges::new(clock));
        Ok(Self { name, account, chat, sender, folders, polls, write_error: Mutex::default() })
    }

    /// Writes a chunk into the outbox.
    async fn write(&self, delivery: &Delivery) -> Result<(), SendError> {
        if delivery.address != self.chat {
            return Err(SendError::Refused(format!("the only chat here is {}", self.chat)));
        }
        let (folders, file) = (self.folders.clone(), send::file(delivery)?);
        let written = run_blocking(move || folders.write(&file)).await;
        written.unwrap_or_else(|panicked| Err(SendError::Unknown(panicked.to_string())))
    }
}

#[async_trait]
impl Channel for DirectoryChannel {
    fn name(&self) -> ChannelName {
        self.name.clone()
    }

    fn account(&self) -> AccountName {
        self.account.clone()
    }

    fn capabilities(&self) -> ChannelCapabilities {
        // A chunk always gets the same file name, so that a repetition changes nothing.
        let on_unknown = OnUnknown::RepeatSafe;
        ChannelCapabilities { on_unknown, ..ChannelCapabilities::default() }
    }

    async fn run(&self, context: ChannelContext) -> Result<(), ChannelError> {
        DirectoryReceiver::new(self, &context).run().await
    }

    async fn deliver(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        let written = self.write(delivery).await;
        *self.write_error.lock() = written.as_ref().err().map(ToString::to_string);
        written.map(|()| Receipt { platform_id: None })
    }

    fn plan(&self, reply: &Content) -> Vec<Content> {
        send::plan(reply)
    }

    fn health(&self) -> Health {
        match self.write_error.lock().clone() {
            Some(error) => Health::Down(error),
            None => self.polls.get(),
        }
    }

    fn exchanges(&self) -> LastExchanges {
        self.polls.exchanges()
    }

    fn is_starting(&self) -> bool {
        self.polls.is_starting()
    }

    async fn probe(&self) -> Vec<Check> {
        let (folders, label) = (self.folders.clone(), format!("{}:{}", self.name, self.account));
        let found = run_blocking(move || folders.probe()).await;
        vec![match found.unwrap_or_else(|panicked| Err(panicked.to_string())) {
            Ok(says) => Check::good(label, says),
            Err(error) => Check::bad(label, error, "correct the directory, or name another one"),
        }]
    }
}
