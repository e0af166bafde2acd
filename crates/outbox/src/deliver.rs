//! One worker for each chat that has something to be delivered.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::{
    Channel, ChatAddress, Clock, Content, Deliveries, Delivery, Head, Outbox, Planned, Receipt,
    SendEnd, SendError, StoreError, Timestamp, Workspaces, within,
};
use avocet_supervise::{Group, Keyed, Unfinished, catch, patiently};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::Channels;
use crate::load::{Loader, extra_time};
use crate::rules::{self, Step, Verdict};

/// How long a channel may take for one chunk, its files not counted; after that nobody knows what
/// became of it.
const SEND_LIMIT: Duration = Duration::from_mins(1);
/// Chunks that are being sent at the same time, over all chats.
const AT_ONCE: usize = 1024;

/// Delivers what is in the outbox: in order within a chat, chats side by side.
#[derive(Debug, Clone)]
pub struct Deliverer {
    chats: Arc<Keyed<ChatAddress>>,
    courier: Courier,
}

/// What a chat's worker works with.
#[derive(Debug, Clone)]
struct Courier {
    outbox: Arc<dyn Outbox>,
    channels: Arc<Channels>,
    loader: Loader,
    clock: Arc<dyn Clock>,
    at_once: Arc<Semaphore>,
    /// Fires when what cannot be sent now is left for the next start.
    stopping: CancellationToken,
}

/// Whether a chat's worker looks for more.
#[derive(PartialEq, Eq)]
enum Next {
    Look,
    Leave,
}

impl Deliverer {
    /// Delivers over these channels what is in the outbox, and the files that it names.
    #[must_use]
    pub fn new(
        outbox: Arc<dyn Outbox>,
        channels: Arc<Channels>,
        workspaces: Arc<dyn Workspaces>,
        clock: Arc<dyn Clock>,
        group: Group,
    ) -> Self {
        let at_once = Arc::new(Semaphore::new(AT_ONCE));
        let stopping = group.token().child_token();
        let courier =
            Courier { outbox, channels, loader: Loader::new(workspaces), clock, at_once, stopping };
        Self { chats: Arc::new(Keyed::new(group)), courier }
    }

    /// Looks at every chat that has something to be delivered. One where nobody is waits until
    /// somebody comes: then its channel wakes it.
    ///
    /// # Errors
    /// [`StoreError`] if the log cannot be read.
    pub async fn start(&self) -> Result<(), StoreError> {
        let nobody_is_in = |chat: &ChatAddress| {
            self.courier.channels.of(chat).is_some_and(|channel| !channel.reachable(chat))
        };
        let open = self.courier.outbox.open_chats().await?;
        open.iter().filter(|chat| !nobody_is_in(chat)).for_each(|chat| self.wake(chat));
        Ok(())
    }

    /// Sends what can be sent now and leaves the rest for the next start.
    ///
    /// # Errors
    /// [`Unfinished`] names the chats where a send was still under way at the deadline.
    pub async fn stop(&self, deadline: Duration) -> Result<(), Unfinished> {
        self.courier.stopping.cancel();
        self.chats.group().finish(self.courier.clock.as_ref(), deadline).await
    }
}

impl Deliveries for Deliverer {
    fn wake(&self, chat: &ChatAddress) {
        let courier = self.courier.clone();
        self.chats.wake(chat.whole_chat(), move |chat| {
            let courier = courier.clone();
            async move { courier.serve(&chat).await }
        });
    }
}

impl Courier {
    /// Delivers until there is nothing more that can be delivered now.
    async fn serve(&self, chat: &ChatAddress) {
        loop {
            match self.deliver_next(chat).await {
                Ok(Next::Look) => {}
                Ok(Next::Leave) => return,
                Err(error) => {
                    tracing::error!(%chat, %error, "the outbox cannot go on; it is looked at \
                        again at the next message or start");
                    return;
                }
            }
        }
    }

    async fn deliver_next(&self, chat: &ChatAddress) -> Result<Next, StoreError> {
        let Some(head) = self.patiently(|| self.outbox.head(chat)).await? else {
            return Ok(Next::Leave);
        };
        let Some(channel) = self.channels.of(chat) else {
            tracing::warn!(%chat, "the channel is not configured; its messages wait");
            return Ok(Next::Leave);
        };
        match rules::next(&head, channel.on_unknown(), self.clock.now()) {
            Step::Wait(until) => self.wait(until).await,
            Step::GiveUp => self.give_up(channel, &head).await,
            Step::Send { .. } if !channel.reachable(&head.delivery.address) => Ok(Next::Leave),
            Step::Send { repeat } => {
                let pause = channel.pause_before(&head.delivery);
                if !pause.is_zero() {
                    return self.wait(self.clock.now().after(pause)).await;
                }
                let Delivery { id, turn, .. } = &head.delivery;
                let turn = turn.map(tracing::field::display);
                let span = tracing::info_span!("delivery", %id, turn, %chat);
                self.send(channel, &head, repeat).instrument(span).await
            }
        }
    }

    /// Waits for the time to come, unless the daemon stops.
    async fn wait(&self, until: Timestamp) -> Result<Next, StoreError> {
        let wait = self.clock.now().until(until);
        tokio::select! {
            biased;
            () = self.stopping.cancelled() => Ok(Next::Leave),
            () = self.clock.sleep(wait) => Ok(Next::Look),
        }
    }

    async fn give_up(&self, channel: &Arc<dyn Channel>, head: &Head) -> Result<Next, StoreError> {
        let error = "sent twice, and neither was confirmed".to_owned();
        let Delivery { id, content, .. } = &head.delivery;
        tracing::warn!(delivery = %id, "unconfirmed");
        let notice = notice(channel, head, &rules::unconfirmed_notice(content));
        self.finish(head, SendEnd::Unconfirmed { error, notice }).await?;
        Ok(Next::Look)
    }

    async fn send(
        &self,
        channel: &Arc<dyn Channel>,
        head: &Head,
        repeat: bool,
    ) -> Result<Next, StoreError> {
        // The semaphore is never closed.
        let place = self.at_once.acquire().await;
        let id = head.delivery.id;
        let loaded = match self.loader.load(&head.delivery).await {
            Ok(loaded) => loaded,
            Err(error) => return self.refuse(channel, head, error.0).await,
        };
        self.patiently(|| self.outbox.start(id, repeat)).await?;
        let repeat = repeat || head.delivery.repeat;
        let delivery = Delivery { repeat, files: loaded.files, ..head.delivery.clone() };
        let sent = self.hand_over(channel, &delivery).await;
        tracing::debug!(repeat, ok = sent.is_ok(), "handed to the channel");
        let now = self.clock.now();
        let end = match rules::judge(sent, head, now) {
            Verdict::End(end) => end,
            Verdict::Nobody => {
                self.finish(head, SendEnd::Nobody).await?;
                return Ok(Next::Leave);
            }
            Verdict::Dead(error) => dead(channel, head, error),
        };
        let unknown = matches!(end, SendEnd::Unknown { .. });
        self.finish(head, end).await?;
        drop(place);
        if !unknown {
            return Ok(Next::Look);
        }
        // Whoever comes wakes the chat, and has no outage to wait for.
        if !channel.reachable(&head.delivery.address) {
            return Ok(Next::Leave);
        }
        self.wait(now.after(rules::pause_after_unknown(head, channel.on_unknown()))).await
    }

    /// What cannot even be begun is given up, unless it may have arrived before.
    async fn refuse(
        &self,
        channel: &Arc<dyn Channel>,
        head: &Head,
        error: String,
    ) -> Result<Next, StoreError> {
        if head.unknown {
            return self.give_up(channel, head).await;
        }
        self.patiently(|| self.outbox.start(head.delivery.id, false)).await?;
        self.finish(head, dead(channel, head, error)).await?;
        Ok(Next::Look)
    }

    /// Whatever happens in the channel, it comes to an answer.
    async fn hand_over(
        &self,
        channel: &Arc<dyn Channel>,
        delivery: &Delivery,
    ) -> Result<Receipt, SendError> {
        let sending = catch(channel.deliver(delivery));
        let limit = SEND_LIMIT + extra_time(&delivery.files);
        match within(self.clock.as_ref(), limit, sending).await {
            Ok(Ok(sent)) => sent,
            Ok(Err(panicked)) => Err(SendError::Unknown(panicked.to_string())),
            Err(elapsed) => Err(SendError::Unknown(elapsed.to_string())),
        }
    }

    async fn finish(&self, head: &Head, end: SendEnd) -> Result<(), StoreError> {
        self.patiently(|| self.outbox.finish(head.delivery.id, &end)).await
    }

    async fn patiently<T, W>(&self, write: impl Fn() -> W) -> Result<T, StoreError>
    where
        W: Future<Output = Result<T, StoreError>>,
    {
        patiently(self.clock.as_ref(), &self.stopping, write).await
    }
}

fn dead(channel: &Arc<dyn Channel>, head: &Head, error: String) -> SendEnd {
    // Whatever keeps a notice from its chat was said of the message that it is about.
    match head.notice {
        false => tracing::warn!(error, "given up"),
        true => tracing::info!(error, "the chat could not be told"),
    }
    let content = rules::dead_notice(&head.delivery.content, &error);
    SendEnd::Dead { notice: notice(channel, head, &content), error }
}

/// What the chat is told; nothing if what failed was itself such a notice.
fn notice(channel: &Arc<dyn Channel>, head: &Head, content: &Content) -> Option<Planned> {
    let address = head.delivery.address.clone();
    (!head.notice).then(|| Planned { address, chunks: channel.plan(content) })
}

#[cfg(test)]
#[path = "deliver_tests.rs"]
mod tests;
