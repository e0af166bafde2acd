//! The receive loop. A request for the next updates confirms the earlier ones to Telegram, so it is
//! sent only once they are committed.

use std::convert::Infallible;
use std::time::Duration;

use avocet_channel_kit::{Intake, Stopped};
use avocet_protocol::{ChannelContext, ChannelError, Cursor, within};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use teloxide::payloads::{AnswerCallbackQuery, GetMe};
use teloxide::requests::Payload;
use teloxide::types::{CallbackQueryId, Me};

use crate::convert::BotIdentity;
use crate::fault::BotApiError;
use crate::moved::GroupMove;
use crate::poll::GRACE;
use crate::trouble::Trouble;
use crate::update::{Batch, Update};
use crate::{Telegram, album, token};

/// The timeout of all requests except polls.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// The pause after a poll that returned only updates without an id. The next poll would return them
/// again at once; new messages are delayed only a little.
const NAMELESS_PAUSE: Duration = Duration::from_secs(5);

/// The receiving half of the channel.
pub(crate) struct Receiver<'a> {
    pub(crate) telegram: &'a Telegram,
    pub(crate) context: &'a ChannelContext,
    pub(crate) intake: Intake<'a>,
}

/// Receives until the daemon stops or the log is closed.
pub(crate) async fn run(telegram: &Telegram, context: &ChannelContext) -> Result<(), ChannelError> {
    let intake = Intake::new(&telegram.name, &telegram.account, context);
    let receiver = Receiver { telegram, context, intake };
    intake.run(receiver.receive()).await
}

impl Receiver<'_> {
    async fn receive(&self) -> Result<Infallible, Stopped> {
        let mut trouble = Trouble::new();
        let me: Me = loop {
            match self.call(GetMe::new()).await {
                Ok(me) => break me,
                Err(fault) => self.recover(&fault, &mut trouble).await,
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

    async fn take_updates(&self, me: &Me, mut trouble: Trouble) -> Result<Infallible, Stopped> {
        let committed = self.restore().await?;
        let (mut next, mut nameless) = (None, 0);
        loop {
            match self.poll_whole_albums(next).await {
                Ok(Batch { updates, nameless: now }) => {
                    self.works(&mut trouble);
                    self.count_nameless(now.saturating_sub(nameless)).await?;
                    nameless = now;
                    if let Some(last) = updates.last() {
                        next = Some(last.id + 1);
                    } else if nameless > 0 {
                        self.context.clock.sleep(NAMELESS_PAUSE).await;
                    }
                    // The cursor grows with each commit: after a restart, `gather` keeps committed
                    // updates apart from later ones.
                    let mut furthest = 0;
                    for together in album::gather(updates, committed) {
                        furthest = together.iter().map(|one| one.id).fold(furthest, i64::max);
                        self.take(me, &together, furthest).await?;
                    }
                }
                Err(fault) => self.recover(&fault, &mut trouble).await,
            }
        }
    }

    /// Restores the state of an earlier run: returns the last update known to be in the log, and
    /// loads the moved groups.
    async fn restore(&self) -> Result<i64, Stopped> {
        let cursors = self.intake.cursors().await?;
        let moves = cursors.iter().filter_map(GroupMove::noted);
        moves.for_each(|moved| self.telegram.moves.learn(moved));
        let last = cursors.iter().find(|cursor| cursor.scope.is_empty());
        Ok(last.and_then(|last| last.position.parse().ok()).unwrap_or(0))
    }

    /// Counts updates without an id. They cannot be confirmed, so they come again until the
    /// platform forgets them, or a later update is confirmed.
    async fn count_nameless(&self, count: usize) -> Result<(), Stopped> {
        for _ in 0..count {
            let account = &self.telegram.account;
            tracing::warn!(%account, "Telegram sent an update without an id; it is left out");
            self.intake.ignore("without an id", None).await?;
        }
        Ok(())
    }

    /// Commits an update, or those of an album, however long the log takes. Telegram keeps the rest
    /// meanwhile.
    async fn take(&self, me: &Me, updates: &[Update], furthest: i64) -> Result<(), Stopped> {
        let Some(update) = updates.first() else { return Ok(()) };
        let cursor = Cursor { scope: String::new(), position: furthest.to_string() };
        if let Some(moved) = GroupMove::read(update) {
            self.follow(moved).await?;
            return self.intake.ignore("a group that moved", Some(cursor)).await;
        }
        let Telegram { name, account, unmentioned, moves, .. } = self.telegram;
        let commands = &self.context.commands;
        let bot = BotIdentity { me, channel: name, account, unmentioned, moves, commands };
        self.intake.take(bot.convert(updates), Some(cursor)).await?;
        if let Some(query) = update.query() {
            self.answer(query).await;
        }
        Ok(())
    }

    /// Ends the button's loading indicator. The press is committed by now, so an error is harmless.
    async fn answer(&self, query: CallbackQueryId) {
        let answered: Result<IgnoredAny, _> = self.call(AnswerCallbackQuery::new(query)).await;
        if let Err(error) = answered {
            tracing::debug!(%error, "a button was not answered");
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
    async fn recover(&self, fault: &BotApiError, trouble: &mut Trouble) {
        let wait = match fault {
            fault if token::is_refused(fault) => self.telegram.account_refused(fault),
            fault => self.note(fault, trouble),
        };
        self.context.clock.sleep(wait).await;
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

    /// Calls a method with a timeout.
    pub(crate) async fn call<T, P>(&self, payload: P) -> Result<T, BotApiError>
    where
        T: DeserializeOwned,
        P: Payload + Serialize,
    {
        self.within(ANSWER_LIMIT, self.telegram.api.call(payload)).await
    }

    pub(crate) async fn within<T>(
        &self,
        limit: Duration,
        request: impl Future<Output = Result<T, BotApiError>>,
    ) -> Result<T, BotApiError> {
        let answered = within(self.context.clock.as_ref(), limit, request).await;
        answered.unwrap_or_else(|_| Err(BotApiError::timed_out()))
    }
}
