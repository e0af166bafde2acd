//! A delivery worker: takes the first open chunk of a chat, sends it, and records the result.
//!
//! ```text
//! head      the first open chunk in the log              none: leave
//! rule      `rules::next`                                wait | abandon | send
//! reach     can the channel reach the chat?              no: leave; the channel wakes the chat
//! turn      waits for the rate limit of the chat and of the account
//! slot      one of those for all chats
//! files     loaded from the workspace                    unreadable: refused, with a notice
//! start     the log says `sending`
//! deliver   within a minute, and more for files
//! finish    the outcome in the log; then look for the next head
//! ```
//!
//! **Everything that waits or can fail comes before the start.** From the start on, a crash leaves
//! an unknown outcome, and `rules.rs` says what follows from it. So the chunk is `sending` for as
//! short a time as possible. The slot is free once the outcome is in the log.
//!
//! **One chunk at a time** keeps the order in the chat. A chunk that waits holds back those behind
//! it, and no other chat. The worker leaves when nothing can be sent now, so that idle chats use no
//! memory.
//!
//! **A reserved send** ([`StartedSend`]) skips the steps up to the start: the transaction that
//! settled the turn has made it, and the reservation (`reserve.rs`) has taken the turn and the
//! slot.
//!
//! **Memory** ([`HeadProgress`]) makes waits independent of the wall clock, and counts failures
//! while other chats of the account succeed. A restart loses it: the log keeps attempts and times.
//!
//! **A wait ends early** if the daemon stops, or if the account gets another channel, such as one
//! with a new token.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::channel::{Channel, SendError};
use avocet_protocol::chat::{ChatAddress, Delivery, Receipt};
use avocet_protocol::clock::{Clock, Timestamp, within};
use avocet_protocol::ids::DeliveryId;
use avocet_protocol::store::{Head, Outbox, SendEnd, StoreError};
use avocet_supervise::{catch_panic, with_retry};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::ChannelRegistry;
use crate::abandoned::{dead_end, refused_end, unconfirmed_end};
use crate::accounts::AccountSuccesses;
use crate::answer_signs::AnswerSigns;
use crate::closed_chats::ClosedChats;
use crate::load::{FileLoader, extra_time};
use crate::rules::{self, AttemptOutcome, NextStep};

/// Timeout of a channel for one chunk, without the extra time for its files. After it, the outcome
/// is unknown.
pub(crate) const SEND_LIMIT: Duration = Duration::from_mins(1);
/// Delivers the chunks of one chat at a time; a clone of it runs for each chat with work.
#[derive(Debug, Clone)]
pub(crate) struct DeliveryWorker {
    pub(crate) outbox: Arc<dyn Outbox>,
    pub(crate) channels: Arc<ChannelRegistry>,
    pub(crate) loader: FileLoader,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) at_once: Arc<Semaphore>,
    pub(crate) accounts: Arc<AccountSuccesses>,
    pub(crate) signs: Arc<AnswerSigns>,
    pub(crate) closed: Arc<ClosedChats>,
    /// Cancelled when chunks that cannot be sent now must stay for the next start.
    pub(crate) stopping: CancellationToken,
}

/// A chunk that the log shows as `sending`, and that is to be sent now.
#[derive(Debug)]
pub(crate) struct StartedSend {
    /// The chunk before the start.
    pub(crate) head: Head,
    pub(crate) channel: Arc<dyn Channel>,
    /// One of [`DeliveryWorker::at_once`].
    pub(crate) slot: OwnedSemaphorePermit,
}

/// The next action of a delivery worker.
#[derive(PartialEq, Eq)]
enum WorkerAction {
    Look,
    Leave,
}

/// Memory of a delivery worker about the chunk at its head. It may be lost in a crash.
#[derive(Debug, Default)]
struct HeadProgress {
    chunk: Option<DeliveryId>,
    /// `true` once the chunk's wait has passed, independent of the wall clock.
    waited: bool,
    /// Time of the last failure, by the clock's `elapsed`.
    failed_at: Option<Duration>,
    /// See [`rules::judge_attempt`].
    failed_alone: u32,
}

impl HeadProgress {
    /// Resets the state if another chunk is at the head.
    fn look_at(&mut self, chunk: DeliveryId) {
        if self.chunk != Some(chunk) {
            *self = Self { chunk: Some(chunk), ..Self::default() };
        }
    }

    /// Records a failure. `others` is the time of the last success in another chat of the account.
    fn record_failure(&mut self, now: Duration, others: Option<Duration>) {
        if self.failed_at.is_some_and(|before| others.is_some_and(|others| others >= before)) {
            self.failed_alone += 1;
        }
        self.failed_at = Some(now);
    }
}

impl DeliveryWorker {
    /// Delivers all chunks that can be delivered now, beginning with the one whose send has
    /// started.
    pub(crate) async fn serve_chat(&self, chat: &ChatAddress, mut started: Option<StartedSend>) {
        let mut progress = HeadProgress::default();
        loop {
            let next = match started.take() {
                Some(started) => self.send_started(started, &mut progress).await,
                None => self.deliver_next(chat, &mut progress).await,
            };
            match next {
                Ok(WorkerAction::Look) => {}
                Ok(WorkerAction::Leave) => return,
                Err(error) => {
                    tracing::error!(%chat, %error, "the outbox cannot continue; it retries at the \
                        next message or start");
                    return;
                }
            }
        }
    }

    async fn deliver_next(
        &self,
        chat: &ChatAddress,
        progress: &mut HeadProgress,
    ) -> Result<WorkerAction, StoreError> {
        let Some(mut head) = self.with_retry(|| self.outbox.head(chat)).await? else {
            self.signs.note_idle(&self.channels, chat);
            return Ok(WorkerAction::Leave);
        };
        let Some(channel) = self.channels.channel_of(chat) else {
            tracing::warn!(%chat, "the channel is not configured; its messages wait");
            return Ok(WorkerAction::Leave);
        };
        progress.look_at(head.delivery.id);
        if progress.waited {
            head.not_before = Timestamp(0);
        }
        let now = self.clock.now();
        match rules::next(&head, channel.capabilities().on_unknown, now) {
            NextStep::Wait(until) => {
                let next = self.wait_for(&channel, &head, now.until(until)).await;
                progress.waited = true;
                next
            }
            _ if is_without_target(&head) => {
                if !head.unknown {
                    self.with_retry(|| self.outbox.start(head.delivery.id, false)).await?;
                }
                self.finish_send(&head, done_without_message()).await
            }
            NextStep::Abandon => {
                self.abandon_chunk(&channel, &head, rules::never_confirmed(&head)).await
            }
            NextStep::Send { .. } if !channel.reachable(&head.delivery.address) => {
                Ok(WorkerAction::Leave)
            }
            NextStep::Send { repeat } => {
                let turn = tokio::select! {
                    biased;
                    turn = channel.turn(&head.delivery) => turn,
                    () = self.stopping.cancelled() => return Ok(WorkerAction::Leave),
                };
                if let Err(pause) = turn {
                    return self.wait_for(&channel, &head, pause).await;
                }
                if !self.channels.is_serving(&channel, chat) {
                    return Ok(WorkerAction::Look);
                }
                let span = delivery_span(&head);
                self.send(&channel, &head, repeat, progress).instrument(span).await
            }
        }
    }

    async fn send_started(
        &self,
        started: StartedSend,
        progress: &mut HeadProgress,
    ) -> Result<WorkerAction, StoreError> {
        let StartedSend { head, channel, slot } = started;
        progress.look_at(head.delivery.id);
        if is_without_target(&head) {
            return self.finish_send(&head, done_without_message()).await;
        }
        let attempt = self.attempt_send(&channel, &head, &head.delivery, Some(slot), progress);
        attempt.instrument(delivery_span(&head)).await
    }

    /// Waits, unless the daemon stops. Another channel of the account ends the wait, for example one
    /// with a new token.
    async fn wait_for(
        &self,
        channel: &Arc<dyn Channel>,
        head: &Head,
        wait: Duration,
    ) -> Result<WorkerAction, StoreError> {
        tokio::select! {
            biased;
            () = self.stopping.cancelled() => Ok(WorkerAction::Leave),
            () = self.channels.wait_until_replaced(channel, &head.delivery.address) => Ok(WorkerAction::Look),
            () = self.clock.sleep(wait) => Ok(WorkerAction::Look),
        }
    }

    async fn abandon_chunk(
        &self,
        channel: &Arc<dyn Channel>,
        head: &Head,
        error: String,
    ) -> Result<WorkerAction, StoreError> {
        self.finish_send(head, unconfirmed_end(channel, head, error)).await
    }

    async fn send(
        &self,
        channel: &Arc<dyn Channel>,
        head: &Head,
        repeat: bool,
        progress: &mut HeadProgress,
    ) -> Result<WorkerAction, StoreError> {
        // The semaphore always stays open.
        let slot = self.at_once.clone().acquire_owned().await.ok();
        let id = head.delivery.id;
        let loaded = match self.loader.load(&head.delivery).await {
            Ok(loaded) => loaded,
            Err(error) => return self.refuse_chunk(channel, head, error.0).await,
        };
        self.with_retry(|| self.outbox.start(id, repeat)).await?;
        let repeat = repeat || head.delivery.repeat;
        let delivery = Delivery { repeat, files: loaded.files, ..head.delivery.clone() };
        self.attempt_send(channel, head, &delivery, slot, progress).await
    }

    /// Sends a chunk whose start is in the log. `delivery` is the one of `head` with its files, and
    /// `slot` is free again when the outcome is in the log.
    async fn attempt_send(
        &self,
        channel: &Arc<dyn Channel>,
        head: &Head,
        delivery: &Delivery,
        slot: Option<OwnedSemaphorePermit>,
        progress: &mut HeadProgress,
    ) -> Result<WorkerAction, StoreError> {
        let sent = if head.is_removal() {
            self.remove_message(channel, delivery).await
        } else {
            self.hand_over(channel, delivery).await
        };
        progress.waited = false;
        self.note_result(&sent, head, progress);
        let (rule, now) = (channel.capabilities().on_unknown, self.clock.now());
        let end = match rules::judge_attempt(sent, head, rule, progress.failed_alone, now) {
            AttemptOutcome::End(end) => end,
            AttemptOutcome::Unreachable(end) => {
                self.finish_send(head, end).await?;
                return Ok(WorkerAction::Leave);
            }
            AttemptOutcome::Dead(error) => {
                refused_end(channel, head, error, (&self.closed, &self.channels))
            }
            AttemptOutcome::PartlyDead(error) => {
                let rest = refused_end(channel, head, error, (&self.closed, &self.channels));
                SendEnd::Partly(Box::new(rest))
            }
            AttemptOutcome::Unconfirmed(error) => unconfirmed_end(channel, head, error),
        };
        let unknown = matches!(end, SendEnd::Unknown { .. });
        let is_sent = matches!(end, SendEnd::Sent(_));
        let next = self.finish_send(head, end).await?;
        if is_sent {
            self.closed.note_open(&head.delivery.address);
        }
        if is_sent && channel.capabilities().keeps_files {
            self.loader.delete_recordings(delivery).await;
        }
        drop(slot);
        if !unknown {
            return Ok(next);
        }
        // The channel wakes a chat that becomes reachable, so waiting is pointless.
        if !channel.reachable(&head.delivery.address) {
            return Ok(WorkerAction::Leave);
        }
        self.wait_for(channel, head, rules::pause_after_unknown(head, rule)).await
    }

    /// Records the result for the log and for the account's other chats. Of consecutive failures,
    /// it logs the first, second, fourth, eighth and so on.
    fn note_result(
        &self,
        sent: &Result<Receipt, SendError>,
        head: &Head,
        progress: &mut HeadProgress,
    ) {
        let (attempts, chat) = (head.attempts + 1, &head.delivery.address);
        tracing::debug!(attempts, ok = sent.is_ok(), "delivering");
        match sent.as_ref().map_err(SendError::of_rest) {
            Ok(_) => {
                self.accounts.record_success(chat, self.clock.elapsed());
                if head.failing_since.is_some() {
                    tracing::info!(attempts, "delivered after failures");
                }
            }
            Err(error @ (SendError::Failed(_) | SendError::Unknown(_))) => {
                progress.record_failure(
                    self.clock.elapsed(),
                    self.accounts.last_success_elsewhere(chat),
                );
                if attempts.is_power_of_two() {
                    tracing::warn!(attempts, %error, "delivery failed; retrying");
                }
            }
            Err(_) => {}
        }
    }

    /// Abandons a chunk whose send cannot begin. It is unconfirmed if it may have arrived before.
    async fn refuse_chunk(
        &self,
        channel: &Arc<dyn Channel>,
        head: &Head,
        error: String,
    ) -> Result<WorkerAction, StoreError> {
        if head.unknown {
            return self.abandon_chunk(channel, head, error).await;
        }
        self.with_retry(|| self.outbox.start(head.delivery.id, false)).await?;
        self.finish_send(head, dead_end(channel, head, error, &self.closed)).await
    }

    /// Sends a chunk through the channel. A panic or a timeout is a result too.
    async fn hand_over(
        &self,
        channel: &Arc<dyn Channel>,
        delivery: &Delivery,
    ) -> Result<Receipt, SendError> {
        let sending = catch_panic(channel.deliver(delivery));
        let limit = SEND_LIMIT + extra_time(&delivery.files);
        match within(self.clock.as_ref(), limit, sending).await {
            Ok(Ok(sent)) => sent,
            Ok(Err(panicked)) => Err(SendError::Unknown(panicked.to_string())),
            Err(elapsed) => Err(SendError::Unknown(elapsed.to_string())),
        }
    }

    async fn remove_message(
        &self,
        channel: &Arc<dyn Channel>,
        delivery: &Delivery,
    ) -> Result<Receipt, SendError> {
        let Some(message) = &delivery.shown_as else { return Ok(Receipt { platform_id: None }) };
        let removing = catch_panic(channel.retract(&delivery.address, message));
        match within(self.clock.as_ref(), SEND_LIMIT, removing).await {
            Ok(Ok(removed)) => removed.map(|()| Receipt { platform_id: None }),
            Ok(Err(panicked)) => Err(SendError::Unknown(panicked.to_string())),
            Err(elapsed) => Err(SendError::Unknown(elapsed.to_string())),
        }
    }

    async fn finish_send(&self, head: &Head, end: SendEnd) -> Result<WorkerAction, StoreError> {
        let has_more = self.with_retry(|| self.outbox.finish(head.delivery.id, &end)).await?;
        self.closed.wake_owner(head, &end);
        self.signs.note_end(&self.channels, head, &end, has_more);
        Ok(if has_more { WorkerAction::Look } else { WorkerAction::Leave })
    }

    /// Returns the chats with pending messages. Retries while the log cannot be read.
    pub(crate) async fn open_chats(&self) -> Result<Vec<ChatAddress>, StoreError> {
        self.with_retry(|| self.outbox.open_chats()).await
    }

    async fn with_retry<T, W>(&self, write: impl Fn() -> W) -> Result<T, StoreError>
    where
        W: Future<Output = Result<T, StoreError>>,
    {
        with_retry(self.clock.as_ref(), &self.stopping, write).await
    }
}

/// Returns `true` for an edit of a message that has not arrived.
fn is_without_target(head: &Head) -> bool {
    head.is_edit && head.delivery.shown_as.is_none()
}

fn done_without_message() -> SendEnd {
    SendEnd::Sent(Receipt { platform_id: None })
}

/// Returns the log span of an attempt to send.
fn delivery_span(head: &Head) -> tracing::Span {
    let Delivery { id, turn, address, .. } = &head.delivery;
    let turn = turn.map(tracing::field::display);
    tracing::info_span!("delivery", %id, turn, chat = %address.whole_chat())
}
