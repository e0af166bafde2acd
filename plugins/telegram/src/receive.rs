//! The receive loop. A request for the next updates confirms the earlier ones to Telegram, so it is
//! sent only once they are committed.

use std::time::Duration;

use avocet_protocol::{
    ChannelContext, ChannelError, Cursor, Inbound, PublishError, StoreError, within,
};
use avocet_supervise::patiently;
use serde::de::IgnoredAny;
use teloxide::payloads::{AnswerCallbackQuery, GetMe};
use teloxide::types::{CallbackQueryId, Me};

use crate::convert::{BotIdentity, Converted};
use crate::fault::BotApiError;
use crate::moved::GroupMove;
use crate::poll::GRACE;
use crate::trouble::Trouble;
use crate::update::{Batch, Update};
use crate::{Telegram, album, token};

/// The timeout of all requests except polls.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// The pause after a poll that returned only updates without an id. The next poll would return them
/// again at once; new messages are delayed only a little.
const NAMELESS_PAUSE: Duration = Duration::from_secs(5);

/// The receiving half of the channel.
pub(crate) struct Receiver<'a> {
    pub(crate) telegram: &'a Telegram,
    pub(crate) context: &'a ChannelContext,
}

/// The reason why the receiver stops.
pub(crate) enum Stopped {
    /// The daemon stops.
    Asked,
    Because(ChannelError),
}

impl Receiver<'_> {
    /// Receives until the daemon stops or the log is closed.
    pub(crate) async fn run(&self) -> Result<(), ChannelError> {
        match self.receive().await {
            Ok(never) => match never {},
            Err(Stopped::Asked) => Ok(()),
            Err(Stopped::Because(error)) => Err(error),
        }
    }

    async fn receive(&self) -> Result<std::convert::Infallible, Stopped> {
        let mut trouble = Trouble::new();
        let me: Me = loop {
            match self.asked(self.telegram.api.call(GetMe::new())).await? {
                Ok(me) => break me,
                Err(fault) => self.recover(&fault, &mut trouble).await?,
            }
        };
        self.works(&mut trouble);
        tracing::info!(account = %self.telegram.account, bot = me.username(), "connected");
        // Runs beside the polls, which need not wait for it.
        let offering = async {
            self.offer_commands().await;
            std::future::pending().await
        };
        tokio::select! {
            stopped = self.take_updates(&me, trouble) => stopped,
            never = offering => never,
        }
    }

    async fn take_updates(
        &self,
        me: &Me,
        mut trouble: Trouble,
    ) -> Result<std::convert::Infallible, Stopped> {
        let committed = self.remember().await?;
        let (mut next, mut nameless) = (None, 0);
        loop {
            match self.poll_whole_albums(next).await? {
                Ok(Batch { updates, nameless: now }) => {
                    self.works(&mut trouble);
                    self.count_nameless(now.saturating_sub(nameless)).await?;
                    nameless = now;
                    if let Some(last) = updates.last() {
                        next = Some(last.id + 1);
                    } else if nameless > 0 {
                        self.unless_stopped(self.context.clock.sleep(NAMELESS_PAUSE)).await?;
                    }
                    // The cursor grows with each commit: after a restart, `gather` keeps committed
                    // updates apart from later ones.
                    let mut furthest = 0;
                    for together in album::gather(updates, committed) {
                        furthest = together.iter().map(|one| one.id).fold(furthest, i64::max);
                        self.take(me, &together, furthest).await?;
                    }
                }
                Err(fault) => self.recover(&fault, &mut trouble).await?,
            }
        }
    }

    /// Restores the state of an earlier run: returns the last update known to be in the log, and
    /// loads the moved groups.
    async fn remember(&self) -> Result<i64, Stopped> {
        let Telegram { name, account, moves, .. } = self.telegram;
        let publish = &self.context.publish;
        let cursors = self.committed(|| publish.cursors(name, account)).await?.unwrap_or_default();
        cursors.iter().filter_map(GroupMove::noted).for_each(|moved| moves.learn(moved));
        let last = cursors.iter().find(|cursor| cursor.scope.is_empty());
        Ok(last.and_then(|last| last.position.parse().ok()).unwrap_or(0))
    }

    /// Counts updates without an id. They cannot be confirmed, so they come again until the
    /// platform forgets them, or a later update is confirmed.
    async fn count_nameless(&self, count: usize) -> Result<(), Stopped> {
        let Telegram { name, account, .. } = self.telegram;
        let publish = &self.context.publish;
        for _ in 0..count {
            tracing::warn!(%account, "Telegram sent an update without an id; it is left out");
            let ignore = || publish.ignore(name, account, "without an id", None);
            self.committed(ignore).await?.unwrap_or_else(|error| {
                tracing::warn!(%error, "an update was not counted");
            });
        }
        Ok(())
    }

    /// Commits an update, or those of an album, however long the log takes. Telegram keeps the rest
    /// meanwhile.
    async fn take(&self, me: &Me, updates: &[Update], furthest: i64) -> Result<(), Stopped> {
        let Some(update) = updates.first() else { return Ok(()) };
        let Telegram { name, account, unmentioned, moves, .. } = self.telegram;
        let commands = &self.context.commands;
        let bot = BotIdentity { me, channel: name, account, unmentioned, moves, commands };
        let cursor = Cursor { scope: String::new(), position: furthest.to_string() };
        let ignored = match bot.convert(updates) {
            Converted::Ignored(reason) => Some(reason),
            Converted::Unreadable(unreadable) => {
                self.decline(&unreadable).await?;
                Some("of a kind that cannot be read")
            }
            Converted::Moved(moved) => {
                self.follow(moved).await?;
                Some("a group that moved")
            }
            Converted::Inbound(inbound) => self.publish(*inbound, &cursor).await?,
        };
        if let Some(reason) = ignored {
            let publish = &self.context.publish;
            let ignore = || publish.ignore(name, account, reason, Some(cursor.clone()));
            self.committed(ignore).await?.unwrap_or_else(|error| {
                tracing::warn!(update = update.id, %error, "an update was not counted");
            });
        }
        if let Some(query) = update.query() {
            self.answer(query).await;
        }
        Ok(())
    }

    /// Returns the reason if the message was rejected.
    async fn publish(
        &self,
        inbound: Inbound,
        cursor: &Cursor,
    ) -> Result<Option<&'static str>, Stopped> {
        let publish = &self.context.publish;
        let publishing = || publish.publish(inbound.clone(), Some(cursor.clone()));
        Ok(match self.committed(publishing).await? {
            Ok(_) => None,
            Err(refusal) => {
                tracing::info!(%refusal, "a message was not taken");
                Some(refusal.counted_as())
            }
        })
    }

    /// Retries a write until the log accepts it.
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

    /// Ends the button's loading indicator. The press is committed by now, so an error is harmless.
    async fn answer(&self, query: CallbackQueryId) {
        let answering = self.telegram.api.call(AnswerCallbackQuery::new(query));
        match within(self.context.clock.as_ref(), ANSWER_LIMIT, answering).await {
            Ok(Ok(IgnoredAny)) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a button was not answered"),
            Err(error) => tracing::debug!(%error, "a button was not answered"),
        }
    }

    /// Records a successful answer of the platform.
    fn works(&self, trouble: &mut Trouble) {
        self.telegram.health.works();
        self.telegram.account_accepted();
        let failures = trouble.ends();
        if failures > 1 {
            tracing::info!(account = %self.telegram.account, failures, "updates come again");
        }
    }

    /// Waits before the next request: as long as the fault asks for, or longer each time.
    async fn recover(&self, fault: &BotApiError, trouble: &mut Trouble) -> Result<(), Stopped> {
        let wait = match fault {
            fault if token::is_refused(fault) => self.telegram.account_refused(fault),
            fault => self.note(fault, trouble),
        };
        self.unless_stopped(self.context.clock.sleep(wait)).await
    }

    /// Shows a fault in `status` and, if it is new, in the log. Returns the time to wait.
    fn note(&self, fault: &BotApiError, trouble: &mut Trouble) -> Duration {
        let wait = match fault {
            // Longer than the other instance's poll, so that one of the two notices the conflict
            // (F4).
            fault if fault.is(409) && fault.says("terminated by other getUpdates") => {
                Duration::from_secs(u64::from(self.telegram.poll_seconds)) + GRACE
            }
            BotApiError::Wait(wait) => *wait,
            _ => trouble.waits.next_wait(),
        };
        let error = fault.to_string();
        if let Some(times) = trouble.note(&error) {
            tracing::warn!(account = %self.telegram.account, error, times, ?wait, "no updates");
        }
        self.telegram.health.fails(&error);
        wait
    }

    /// Runs a request with a timeout.
    pub(crate) async fn asked<T>(
        &self,
        request: impl Future<Output = Result<T, BotApiError>>,
    ) -> Result<Result<T, BotApiError>, Stopped> {
        let answered = within(self.context.clock.as_ref(), ANSWER_LIMIT, request);
        Ok(self.unless_stopped(answered).await?.unwrap_or_else(|_| Err(BotApiError::timed_out())))
    }

    pub(crate) async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, Stopped> {
        tokio::select! {
            biased;
            () = self.context.stop.cancelled() => Err(Stopped::Asked),
            done = work => Ok(done),
        }
    }
}
