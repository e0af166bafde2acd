//! The loop that asks for updates. An update is confirmed to Telegram only by asking for the next
//! one, and that is done only when it is committed.

use std::time::Duration;

use avocet_protocol::{
    ChannelContext, ChannelError, Cursor, Inbound, PublishError, StoreError, within,
};
use avocet_supervise::{Backoff, patiently};
use teloxide::payloads::GetUpdatesSetters;
use teloxide::requests::{Request, Requester};
use teloxide::types::{AllowedUpdate, CallbackQueryId, Me, Update, UpdateKind};
use teloxide::{ApiError, RequestError};

use crate::Telegram;
use crate::convert::{Bot, Converted};
use crate::fault::{self, fault};

/// How much longer than its time a poll may hang before it is given up (F3).
const GRACE: Duration = Duration::from_secs(15);
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// A channel that receives.
pub(crate) struct Receiver<'a> {
    pub(crate) telegram: &'a Telegram,
    pub(crate) context: &'a ChannelContext,
}

/// Why the receiver has nothing to go on with.
pub(crate) enum Stopped {
    /// The daemon stops.
    Asked,
    Because(ChannelError),
}

impl Receiver<'_> {
    /// Receives until the daemon stops, or until only the operator can help.
    pub(crate) async fn run(&self) -> Result<(), ChannelError> {
        match self.receive().await {
            Ok(never) => match never {},
            Err(Stopped::Asked) => Ok(()),
            Err(Stopped::Because(error)) => Err(error),
        }
    }

    async fn receive(&self) -> Result<std::convert::Infallible, Stopped> {
        let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        let me = loop {
            match self.unless_stopped(self.telegram.client.get_me().send()).await? {
                Ok(me) => break me,
                Err(error) => self.recover(&error, &mut backoff).await?,
            }
        };
        self.telegram.health.works();
        tracing::info!(account = %self.telegram.account, bot = me.username(), "connected");
        let mut next = None;
        loop {
            match self.poll(next).await? {
                Ok(updates) => {
                    self.telegram.health.works();
                    backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
                    for update in updates {
                        self.take(&me, &update).await?;
                        next = Some(update.id.0.wrapping_add(1).cast_signed());
                    }
                }
                Err(error) => self.recover(&error, &mut backoff).await?,
            }
        }
    }

    /// Asks for updates, from `next` on; asking confirms those before it.
    async fn poll(&self, next: Option<i32>) -> Result<Result<Vec<Update>, RequestError>, Stopped> {
        let seconds = self.telegram.poll_seconds;
        let mut request = self
            .telegram
            .client
            .get_updates()
            .timeout(seconds)
            .allowed_updates([AllowedUpdate::Message, AllowedUpdate::CallbackQuery]);
        if let Some(next) = next {
            request = request.offset(next);
        }
        let limit = Duration::from_secs(u64::from(seconds)) + GRACE;
        let polled = within(self.context.clock.as_ref(), limit, request.send());
        Ok(self.unless_stopped(polled).await?.unwrap_or_else(|_| Err(fault::silent())))
    }

    /// Commits an update, however long the log takes for that: as long, Telegram keeps the rest.
    async fn take(&self, me: &Me, update: &Update) -> Result<(), Stopped> {
        let Telegram { name, account, .. } = self.telegram;
        let bot = Bot { me, channel: name, account };
        let cursor = Cursor { scope: String::new(), position: update.id.0.to_string() };
        let ignored = match bot.convert(update) {
            Converted::Ignored(reason) => Some(reason),
            Converted::Unreadable(unreadable) => {
                self.decline(&unreadable).await?;
                Some("of a kind that cannot be read")
            }
            Converted::Inbound(inbound) => self.publish(*inbound, &cursor).await?,
        };
        if let Some(reason) = ignored {
            let publish = &self.context.publish;
            let ignore = || publish.ignore(name, account, reason, Some(cursor.clone()));
            self.committed(ignore).await?.unwrap_or_else(|error| {
                tracing::warn!(update = update.id.0, %error, "an update was not counted");
            });
        }
        if let UpdateKind::CallbackQuery(query) = &update.kind {
            self.answer(query.id.clone()).await;
        }
        Ok(())
    }

    /// Returns why the message was not taken, if it was not.
    async fn publish(
        &self,
        inbound: Inbound,
        cursor: &Cursor,
    ) -> Result<Option<&'static str>, Stopped> {
        let publish = &self.context.publish;
        let publishing = || publish.publish(inbound.clone(), Some(cursor.clone()));
        Ok(match self.committed(publishing).await? {
            Ok(_) => None,
            Err(PublishError::NotAllowed { sender, .. }) => {
                tracing::info!(sender, "not on the allow-list");
                Some("not allowed")
            }
            Err(PublishError::Empty) => Some("empty"),
            Err(PublishError::TooLong { .. }) => Some("too long"),
            Err(error) => {
                tracing::warn!(%error, "an update was refused");
                Some("refused")
            }
        })
    }

    /// Does a write again until the log takes it.
    pub(crate) async fn committed<T, W>(
        &self,
        write: impl Fn() -> W,
    ) -> Result<Result<T, PublishError>, Stopped>
    where
        W: Future<Output = Result<T, PublishError>>,
    {
        let write = async || match write().await {
            Err(PublishError::Stopping) => Err(StoreError::Closed),
            Err(PublishError::Log(error)) => Err(error),
            done => Ok(done),
        };
        let ChannelContext { clock, stop, .. } = self.context;
        match patiently(clock.as_ref(), stop, write).await {
            Ok(done) => Ok(done),
            Err(StoreError::Closed) => Err(Stopped::Asked),
            Err(_) if stop.is_cancelled() => Err(Stopped::Asked),
            Err(error) => Err(Stopped::Because(ChannelError::Interrupted(error.to_string()))),
        }
    }

    /// The button stops glowing. What it said is committed, whatever becomes of this.
    async fn answer(&self, query: CallbackQueryId) {
        if let Err(error) = self.telegram.client.answer_callback_query(query).send().await {
            tracing::debug!(error = fault(&error), "a button was not answered");
        }
    }

    /// Waits as long as an error asks for, or returns it if waiting does not help.
    async fn recover(&self, error: &RequestError, backoff: &mut Backoff) -> Result<(), Stopped> {
        let text = fault(error);
        let wait = match error {
            RequestError::Api(ApiError::InvalidToken) => {
                let error = format!(
                    "Telegram does not know the token of [channels.{}] ({}); get the right one \
                     from @BotFather",
                    self.telegram.name, self.telegram.account
                );
                self.telegram.health.fails(&error);
                return Err(Stopped::Because(ChannelError::Fatal(error)));
            }
            // Longer than the other's poll lasts, so that one of both finds out (F4).
            RequestError::Api(ApiError::TerminatedByOtherGetUpdates) => {
                Duration::from_secs(u64::from(self.telegram.poll_seconds)) + GRACE
            }
            RequestError::RetryAfter(seconds) => seconds.duration(),
            _ => backoff.next_wait(),
        };
        tracing::warn!(account = %self.telegram.account, error = text, ?wait, "no updates");
        self.telegram.health.fails(&text);
        self.unless_stopped(self.context.clock.sleep(wait)).await
    }

    async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Result<T, Stopped> {
        tokio::select! {
            biased;
            () = self.context.stop.cancelled() => Err(Stopped::Asked),
            done = work => Ok(done),
        }
    }
}
