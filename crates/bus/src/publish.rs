//! The bus itself: admission, commit, wake-up, in this order.
//!
//! ```text
//! running?       refused once the daemon stops; the platform keeps the message
//! hold access    the access rules stay as they are up to the end
//! sender         without access: refused; a stranger on a platform gets a pairing code
//! bot limit      at most 6 messages of bots in a minute, for each chat
//! admit          role, session, length; sanitises every text (`admission.rs`)
//! private chat   noted, so that the person can be written to
//! commit         the row and the cursor, in one transaction   <- only now accepted
//! wake           a lane, the commands, stopped turns, a delivery
//! answer         to the publisher, who may now confirm the message to its platform
//! ```
//!
//! **Commit before the wake-up.** A wake-up names work that is in the log. It may get lost
//! (`wake.rs`), and then a look at the whole log replaces it. The other order would wake a lane
//! that finds nothing.
//!
//! **Commit before the answer.** After a crash in between, the platform sends the message again.
//! The log knows its key, so this copy is absorbed as a duplicate. A duplicate wakes its lane
//! again, because the publisher of the first copy may have died before the wake-up. The same key
//! with another content is refused, except for platforms, which may add details to a message.
//!
//! **Hold access** makes a change of people atomic: once a person is removed, no message of theirs
//! that was checked before can still be committed. Changes wait for the publishers, and new
//! publishers for the change.
//!
//! **Order.** The messages of one connection are committed in the order in which they came,
//! although requests run side by side. [`OrderHold`] lets the next message follow as soon as this
//! one is in the queue of the writer, which keeps the order. A correction keeps its hold, because
//! its caller may still have to move the cursor.
//!
//! **Back-pressure.** The commit waits for the bounded queue of the writer, and so does the
//! publisher.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use async_trait::async_trait;
use avocet_protocol::access::{People, Roles};
use avocet_protocol::bus::{Deliveries, Destinations, OrderHold, Publish, PublishError, WakeLanes};
use avocet_protocol::chat::notices::{self, readers};
use avocet_protocol::chat::{
    ChatAddress, ChatKind, Content, Cursor, Inbound, InboundKind, LoggedInbound, NewInbound,
    Outbound, SessionId,
};
use avocet_protocol::clock::Clock;
use avocet_protocol::ids::{AccountName, ChannelName, DedupeKey};
use avocet_protocol::store::{
    Accepted, AcceptedAs, Correction, Enqueued, Inbox, OpenQuestion, Outbox, StoreError,
    UnansweredMessage, Withdrawn,
};
use tokio_util::sync::CancellationToken;

use crate::access_state::AccessState;
use crate::admission::{Admission, AdmittedMessage, sanitise_content};
use crate::bot_limit::{BOT_MESSAGES_A_MINUTE, BotRateLimit};
use crate::wake::{WakeReceiver, WakeSender, WakeUp, wake_queue};

/// The only way in. Publishers wait while the log's queue is full, which is the back-pressure.
#[derive(Debug)]
pub struct Bus {
    pub(crate) access: AccessState,
    inbox: Arc<dyn Inbox>,
    outbox: Arc<dyn Outbox>,
    pub(crate) destinations: Arc<dyn Destinations>,
    pub(crate) deliveries: Arc<dyn Deliveries>,
    pub(crate) clock: Arc<dyn Clock>,
    bots: BotRateLimit,
    pub(crate) waker: WakeSender,
    stopped: CancellationToken,
}

/// The components that a bus uses.
#[derive(Debug)]
#[expect(missing_docs, reason = "each field is the part of its type")]
pub struct BusParts {
    pub admission: Admission,
    pub inbox: Arc<dyn Inbox>,
    pub outbox: Arc<dyn Outbox>,
    pub people: Arc<dyn People>,
    pub destinations: Arc<dyn Destinations>,
    pub deliveries: Arc<dyn Deliveries>,
    pub clock: Arc<dyn Clock>,
}

impl Bus {
    /// Makes the bus in front of the log, with current access control data, and its wake-ups.
    ///
    /// # Errors
    /// [`StoreError`] if the log cannot be read.
    pub async fn open(parts: BusParts) -> Result<(Self, WakeReceiver), StoreError> {
        let BusParts { admission, inbox, outbox, people, destinations, deliveries, clock } = parts;
        let (waker, wakes) = wake_queue();
        let bus = Self {
            access: AccessState::new(admission, people),
            inbox,
            outbox,
            destinations,
            deliveries,
            clock,
            bots: BotRateLimit::default(),
            waker,
            stopped: CancellationToken::new(),
        };
        bus.reload_access().await?;
        Ok((bus, wakes))
    }

    /// Admits a message from the log again.
    ///
    /// # Errors
    /// [`PublishError::NotAllowed`] if its sender has lost access.
    pub fn readmit_message(
        &self,
        message: LoggedInbound,
    ) -> Result<AdmittedMessage<LoggedInbound>, PublishError> {
        self.access.admission.readmit_message(message)
    }

    /// Checks the sender and the text of a task that is about to become a job.
    ///
    /// # Errors
    /// [`PublishError`] if the sender has no access, the text is empty or too long, or the daemon
    /// stops.
    pub fn admit_task(
        &self,
        inbound: Inbound,
    ) -> Result<AdmittedMessage<NewInbound>, PublishError> {
        self.check_running()?;
        self.access.admission.admit_message(inbound)
    }

    /// Refuses further messages; platforms keep them.
    pub fn stop(&self) {
        self.stopped.cancel();
    }

    async fn commit_message(
        &self,
        message: &NewInbound,
        cursor: Option<&Cursor>,
        hold: &OrderHold,
    ) -> Result<Accepted, PublishError> {
        if message.inbound.corrects.is_none() {
            let accepting = self.inbox.accept(message, cursor);
            return Ok(release_once_queued(accepting, hold).await?);
        }
        // The caller moves the cursor of a refused correction, so the hold stays until then.
        match self.inbox.correct(message, cursor).await? {
            Correction::Refused(why) => Err(why.into()),
            // The message keeps its place in its lane, with new text.
            Correction::Replaced(id) => Ok(Accepted { id, what: AcceptedAs::Queued }),
            Correction::Accepted(accepted) => Ok(accepted),
        }
    }

    /// Returns accounts without an owner. There, files, notes, messages to others and admitting
    /// people are unavailable.
    #[must_use]
    pub fn without_owner(&self) -> Vec<String> {
        self.access.admission.without_owner()
    }

    /// Refuses senders without access. A stranger on a platform gets a pairing code, and the first
    /// message is kept for the approval. Who writes as a group or a channel gets nothing: owners learn
    /// how to admit them to a group.
    async fn check_speaker(&self, inbound: &Inbound) -> Result<(), PublishError> {
        let Err(refusal) = self.access.admission.check_sender(inbound) else { return Ok(()) };
        // A missing destination is the better reason for the refusal, so check it first.
        self.destinations.plan(&inbound.address, &Content::text(""))?;
        if inbound.from_platform && inbound.sender.id.is_chat() {
            // In a private chat, only a faulty platform reports such a sender.
            if inbound.chat == ChatKind::Group {
                self.tell_how_to_admit(inbound).await;
            }
        } else if inbound.from_platform {
            let message = self.message_to_keep(inbound);
            self.give_code(inbound, message.is_some()).await?;
            if let Some(message) = message {
                self.keep_message(&message).await?;
            }
        }
        Err(refusal)
    }

    fn check_running(&self) -> Result<(), PublishError> {
        if self.stopped.is_cancelled() { Err(PublishError::Stopping) } else { Ok(()) }
    }
}

impl WakeLanes for Bus {
    fn wake_lane(&self, session: SessionId) {
        self.waker.send_wake(WakeUp::Lane(session));
    }
}

#[async_trait]
impl Publish for Bus {
    async fn publish(
        &self,
        inbound: Inbound,
        cursor: Option<Cursor>,
    ) -> Result<Accepted, PublishError> {
        self.publish_in_order(inbound, cursor, &OrderHold::default()).await
    }

    async fn publish_in_order(
        &self,
        inbound: Inbound,
        cursor: Option<Cursor>,
        hold: &OrderHold,
    ) -> Result<Accepted, PublishError> {
        self.check_running()?;
        let _unchanged = self.access.hold_access().await;
        self.check_speaker(&inbound).await?;
        if inbound.sender.is_bot && !self.bots.fits_limit(&inbound.address, self.clock.elapsed()) {
            let (sender, limit) = (inbound.sender.id.to_string(), BOT_MESSAGES_A_MINUTE);
            return Err(PublishError::BotTooOften { sender, limit });
        }
        let message = self.access.admission.admit_message(inbound)?.into_inner();
        self.access.record_private_chat(&message.inbound).await?;
        let accepted = self.commit_message(&message, cursor.as_ref(), hold).await?;
        if accepted.what == AcceptedAs::KeyTaken {
            return Err(key_taken(&message.inbound.key, &accepted.id));
        }
        tracing::debug!(
            message = %accepted.id,
            session = %message.session,
            what = ?accepted.what,
            removed = message.removed,
            "accepted"
        );
        if message.inbound.sender.is_bot && accepted.what != AcceptedAs::Duplicate {
            self.bots.count_message(&message.inbound.address, self.clock.elapsed());
        }
        match &accepted.what {
            AcceptedAs::Interrupt(turns) => self.waker.send_wake(WakeUp::Ended(turns.clone())),
            AcceptedAs::Joined(turn) => self.waker.send_wake(WakeUp::Restarted(*turn)),
            // Delivers the notice to the chat.
            AcceptedAs::Unsure => self.deliveries.wake(&message.inbound.address),
            AcceptedAs::Behind(question) => self.tell_how_to_answer(&message, *question).await,
            AcceptedAs::Queued
            | AcceptedAs::Duplicate
            | AcceptedAs::KeyTaken
            | AcceptedAs::Answer(_)
            | AcceptedAs::Decision => {}
        }
        // Also for a duplicate: the publisher of the first copy may have died before its wake-up.
        self.waker.send_wake(match message.kind {
            InboundKind::Text if let AcceptedAs::Answer(asking) = &accepted.what => {
                WakeUp::Lane(asking.clone())
            }
            InboundKind::Command => WakeUp::Commands,
            InboundKind::Text if accepted.what == AcceptedAs::Decision => WakeUp::Commands,
            InboundKind::Text => WakeUp::Lane(message.session),
        });
        Ok(accepted)
    }

    async fn decline(&self, inbound: Inbound, line: Content) -> Result<(), PublishError> {
        self.check_running()?;
        let _unchanged = self.access.hold_access().await;
        self.check_speaker(&inbound).await?;
        self.access.record_private_chat(&inbound).await?;
        let (line, _) = sanitise_content(line);
        // No digest: the text may differ when the update comes again.
        self.enqueue_content(&inbound.address, &line, &inbound.key, None).await.map(|_| ())
    }

    async fn withdraw_message(
        &self,
        chat: &ChatAddress,
        key: &DedupeKey,
    ) -> Result<(), PublishError> {
        self.check_running()?;
        let Some(withdrawn) = self.inbox.withdraw_message(chat, key).await? else { return Ok(()) };
        let Withdrawn { session, ended } = withdrawn;
        tracing::info!(%chat, %key, ?ended, "a message was deleted; it gets no answer");
        if !ended.is_empty() {
            self.waker.send_wake(WakeUp::Ended(ended));
            self.deliveries.wake(chat);
        }
        self.waker.send_wake(WakeUp::Lane(session));
        Ok(())
    }

    async fn list_unanswered(
        &self,
        channel: &ChannelName,
        account: &AccountName,
        limit: u32,
    ) -> Result<Vec<UnansweredMessage>, PublishError> {
        Ok(self.inbox.list_unanswered(channel, account, limit).await?)
    }

    async fn ignore(
        &self,
        channel: &ChannelName,
        account: &AccountName,
        reason: &str,
        cursor: Option<Cursor>,
    ) -> Result<(), PublishError> {
        self.check_running()?;
        Ok(self.inbox.ignore(channel, account, reason, cursor.as_ref()).await?)
    }

    async fn cursors(
        &self,
        channel: &ChannelName,
        account: &AccountName,
    ) -> Result<Vec<Cursor>, PublishError> {
        Ok(self.inbox.cursors(channel, account).await?)
    }

    async fn move_cursor(
        &self,
        channel: &ChannelName,
        account: &AccountName,
        cursor: Cursor,
    ) -> Result<(), PublishError> {
        Ok(self.inbox.move_cursor(channel, account, &cursor).await?)
    }

    async fn send(&self, message: Outbound, key: DedupeKey) -> Result<Enqueued, PublishError> {
        self.send_in_order(message, key, &OrderHold::default()).await
    }

    async fn send_in_order(
        &self,
        message: Outbound,
        key: DedupeKey,
        hold: &OrderHold,
    ) -> Result<Enqueued, PublishError> {
        self.check_running()?;
        let (content, _) = sanitise_content(message.content);
        if content.is_empty() {
            return Err(PublishError::Empty);
        }
        let planned = self.destinations.plan(&message.address, &content)?;
        let enqueuing = self.outbox.enqueue(&planned, &key, Some(&content));
        let enqueued = release_once_queued(enqueuing, hold).await?;
        self.wake_delivery(&enqueued, &message.address);
        if enqueued.key_taken { Err(key_taken(&key, &enqueued.id)) } else { Ok(enqueued) }
    }
}

impl Bus {
    pub(crate) async fn enqueue_content(
        &self,
        address: &ChatAddress,
        content: &Content,
        key: &DedupeKey,
        said: Option<&Content>,
    ) -> Result<Enqueued, PublishError> {
        let planned = self.destinations.plan(address, content)?;
        let enqueued = self.outbox.enqueue(&planned, key, said).await?;
        self.wake_delivery(&enqueued, address);
        Ok(enqueued)
    }

    fn wake_delivery(&self, enqueued: &Enqueued, address: &ChatAddress) {
        tracing::debug!(delivery = %enqueued.id, chat = %address, "to be delivered");
        self.deliveries.wake(address);
    }

    /// Sends a chat a notice, once for each question: its message waits behind the question, which
    /// can be answered in this way.
    async fn tell_how_to_answer(&self, message: &NewInbound, question: OpenQuestion) {
        let OpenQuestion { wait, can_answer } = question;
        let is_owner = self.is_owners_chat(&message.inbound.address);
        let content = if can_answer {
            let text = "I am waiting for an answer to my question above: yes, no, or the number of a \
                choice. I will read your message after that.";
            notices::HowToAnswer.for_reader(readers::EVERYBODY, text)
        } else if !is_owner {
            let text =
                "I am waiting for a decision of my owner. I will read your message after that.";
            notices::HowToAnswer.for_reader(readers::OTHERS, text)
        } else {
            let text = format!(
                "I am waiting for a decision of my owner ({wait}). I will read your message after \
                    that."
            );
            notices::HowToAnswer.for_reader(readers::Owner, text)
        };
        let address = &message.inbound.address;
        let sent = async {
            let key = DedupeKey::parse(&format!("how-to-answer {wait}"))?;
            self.enqueue_content(address, &content, &key, None).await
        };
        if let Err(error) = sent.await {
            tracing::warn!(%address, %error, "cannot tell the chat that its message waits behind a question");
        }
    }
}

/// Polls a write once, which puts it into the queue of the log, lets the publisher's next message
/// follow, and waits for the commit.
async fn release_once_queued<T>(
    mut write: Pin<Box<dyn Future<Output = T> + Send + '_>>,
    hold: &OrderHold,
) -> T {
    let queued = poll_fn(|context| Poll::Ready(write.as_mut().poll(context))).await;
    hold.release_next();
    match queued {
        Poll::Ready(committed) => committed,
        Poll::Pending => write.await,
    }
}

fn key_taken(key: &DedupeKey, used_for: &impl std::fmt::Display) -> PublishError {
    PublishError::KeyTaken { key: key.to_string(), used_for: used_for.to_string() }
}

#[cfg(test)]
#[path = "publish_tests.rs"]
mod tests;
