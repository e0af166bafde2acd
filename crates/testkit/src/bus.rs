//! A fake of the bus for channels. It can accept, refuse or delay messages.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use avocet_protocol::bus::{Publish, PublishError};
use avocet_protocol::chat::{ChatAddress, Content, Cursor, Inbound, Outbound};
use avocet_protocol::ids::{AccountName, ChannelName, DedupeKey, DeliveryId, MessageId};
use avocet_protocol::store::{Accepted, AcceptedAs, Enqueued, UnansweredMessage};
use parking_lot::Mutex;
use tokio::sync::watch;

/// Accepts and keeps messages. Ignores repeated ones.
#[derive(Debug)]
pub struct FakeBus {
    taken: watch::Sender<Vec<Inbound>>,
    ignored: watch::Sender<Vec<String>>,
    withdrawn: watch::Sender<Vec<(ChatAddress, DedupeKey)>>,
    unanswered: Mutex<Vec<UnansweredMessage>>,
    cursors: Mutex<Vec<Cursor>>,
    said: Mutex<Vec<(Outbound, DedupeKey)>>,
    open: watch::Sender<bool>,
    /// `true` if [`Publish::move_cursor`] never returns.
    holds_moves: AtomicBool,
    refusals: Mutex<Vec<PublishError>>,
    effects: Mutex<Vec<AcceptedAs>>,
}

impl Default for FakeBus {
    fn default() -> Self {
        Self {
            taken: watch::Sender::default(),
            ignored: watch::Sender::default(),
            withdrawn: watch::Sender::default(),
            unanswered: Mutex::default(),
            cursors: Mutex::default(),
            said: Mutex::default(),
            open: watch::Sender::new(true),
            holds_moves: AtomicBool::new(false),
            refusals: Mutex::default(),
            effects: Mutex::default(),
        }
    }
}

impl FakeBus {
    /// Delays messages, ignored updates and cursors while `open` is `false`.
    pub fn set_open(&self, open: bool) {
        self.open.send_replace(open);
    }

    /// Blocks every later [`Publish::move_cursor`] forever.
    pub fn hold_moves(&self) {
        self.holds_moves.store(true, Ordering::Relaxed);
    }

    /// Waits until `count` messages have been accepted.
    pub async fn taken(&self, count: usize) -> Vec<Inbound> {
        self.taken.subscribe().wait_for(|taken| taken.len() >= count).await.unwrap().clone()
    }

    /// Waits until `count` updates have been ignored, and returns the reasons.
    pub async fn ignored(&self, count: usize) -> Vec<String> {
        self.ignored.subscribe().wait_for(|ignored| ignored.len() >= count).await.unwrap().clone()
    }

    /// Waits until `count` messages have been taken back, and returns them.
    pub async fn withdrawn(&self, count: usize) -> Vec<(ChatAddress, DedupeKey)> {
        self.withdrawn.subscribe().wait_for(|taken| taken.len() >= count).await.unwrap().clone()
    }

    /// Keeps these messages in the list of those without an answer.
    pub fn leave_unanswered<'m>(&self, messages: impl IntoIterator<Item = &'m Inbound>) {
        let unanswered = |message: &Inbound| UnansweredMessage {
            chat: message.address.clone(),
            key: message.key.clone(),
        };
        self.unanswered.lock().extend(messages.into_iter().map(unanswered));
    }

    /// Refuses the next messages and ignored updates with these errors, beginning with the last
    /// one.
    pub fn refuse(&self, refusals: impl IntoIterator<Item = PublishError>) {
        self.refusals.lock().extend(refusals);
    }

    /// Accepts the next messages with these effects, beginning with the last one.
    pub fn accept_as(&self, effects: impl IntoIterator<Item = AcceptedAs>) {
        self.effects.lock().extend(effects);
    }

    /// Returns the messages sent, each with its key. Repeated ones appear once.
    #[must_use]
    pub fn said(&self) -> Vec<(Outbound, DedupeKey)> {
        self.said.lock().clone()
    }

    /// Returns every cursor position, in the order of the moves.
    #[must_use]
    pub fn moves(&self) -> Vec<Cursor> {
        self.cursors.lock().clone()
    }

    fn note(&self, cursor: Option<Cursor>) {
        self.cursors.lock().extend(cursor);
    }

    async fn passes(&self) {
        self.open.subscribe().wait_for(|open| *open).await.unwrap();
    }
}

#[async_trait]
impl Publish for FakeBus {
    async fn publish(
        &self,
        inbound: Inbound,
        cursor: Option<Cursor>,
    ) -> Result<Accepted, PublishError> {
        self.passes().await;
        if let Some(refusal) = self.refusals.lock().pop() {
            return Err(refusal);
        }
        self.note(cursor);
        let is_known = |taken: &Vec<Inbound>| {
            taken.iter().any(|one| (&one.address, &one.key) == (&inbound.address, &inbound.key))
        };
        let is_new = self.taken.send_if_modified(|taken| {
            let is_new = !is_known(taken);
            taken.extend(is_new.then_some(inbound.clone()));
            is_new
        });
        let what = match self.effects.lock().pop().filter(|_| is_new) {
            Some(effect) => effect,
            None if is_new => AcceptedAs::Queued,
            None => AcceptedAs::Duplicate,
        };
        Ok(Accepted { id: MessageId(1), what })
    }

    async fn decline(&self, inbound: Inbound, line: Content) -> Result<(), PublishError> {
        if let Some(refusal) = self.refusals.lock().pop() {
            return Err(refusal);
        }
        let line = Outbound { address: inbound.address, content: line };
        self.send(line, inbound.key).await.map(|_| ())
    }

    async fn withdraw_message(
        &self,
        chat: &ChatAddress,
        key: &DedupeKey,
    ) -> Result<(), PublishError> {
        self.passes().await;
        self.withdrawn.send_modify(|withdrawn| withdrawn.push((chat.clone(), key.clone())));
        Ok(())
    }

    async fn list_unanswered(
        &self,
        _channel: &ChannelName,
        _account: &AccountName,
        limit: u32,
    ) -> Result<Vec<UnansweredMessage>, PublishError> {
        Ok(self.unanswered.lock().iter().take(limit as usize).cloned().collect())
    }

    async fn ignore(
        &self,
        _channel: &ChannelName,
        _account: &AccountName,
        reason: &str,
        cursor: Option<Cursor>,
    ) -> Result<(), PublishError> {
        self.passes().await;
        if let Some(refusal) = self.refusals.lock().pop() {
            return Err(refusal);
        }
        self.note(cursor);
        self.ignored.send_modify(|ignored| ignored.push(reason.to_owned()));
        Ok(())
    }

    async fn cursors(
        &self,
        _channel: &ChannelName,
        _account: &AccountName,
    ) -> Result<Vec<Cursor>, PublishError> {
        let mut last = BTreeMap::new();
        for Cursor { scope, position } in self.moves() {
            last.insert(scope, position);
        }
        // Reversed, because callers must not depend on the order.
        Ok(last.into_iter().rev().map(|(scope, position)| Cursor { scope, position }).collect())
    }

    async fn move_cursor(
        &self,
        _channel: &ChannelName,
        _account: &AccountName,
        cursor: Cursor,
    ) -> Result<(), PublishError> {
        self.passes().await;
        if self.holds_moves.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        self.note(Some(cursor));
        Ok(())
    }

    async fn send(&self, message: Outbound, key: DedupeKey) -> Result<Enqueued, PublishError> {
        self.passes().await;
        let mut said = self.said.lock();
        let duplicate = said.iter().any(|(before, used)| {
            before.address.whole_chat() == message.address.whole_chat() && *used == key
        });
        if !duplicate {
            said.push((message, key));
        }
        Ok(Enqueued { id: DeliveryId(1), duplicate, key_taken: false })
    }
}
