//! The receive loop of an account that polls. A request for the next updates confirms the earlier
//! ones to Telegram, so it is sent only once they are committed.

use std::convert::Infallible;
use std::slice;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use avocet_channel_kit::{Converted, Intake, NO_ACCESS, Stopped, Taken};
use avocet_protocol::bus::PublishError;
use avocet_protocol::channel::{ChannelContext, ChannelError};
use avocet_protocol::chat::Cursor;
use avocet_protocol::ids::DedupeKey;
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use teloxide::payloads::{DeleteWebhook, GetMe, GetWebhookInfo};
use teloxide::requests::Payload;
use teloxide::types::Me;

use crate::api::ANSWER_LIMIT;
use crate::bot::{Audience, BotIdentity};
use crate::convert::{audience, convert, is_for_bot};
use crate::failures::Failures;
use crate::fault::BotApiError;
use crate::moved::GroupMove;
use crate::poll::{Poller, is_conflict};
use crate::position::{EarlierRun, Mode, PollPosition};
use crate::stages::UpdateStages;
use crate::telegram::token;
use crate::update::{Batch, PressAnswer, Update};
use crate::{Telegram, commands, update, webhook};

/// The pause after a poll that returned only updates without an id. The next poll would return them
/// again at once; new messages are delayed only a little.
const PAUSE_WITHOUT_IDS: Duration = Duration::from_secs(5);

/// The receiving half of the channel.
#[derive(Clone, Copy)]
pub(crate) struct Receiver<'a> {
    pub(crate) telegram: &'a Telegram,
    pub(crate) context: &'a ChannelContext,
    pub(crate) intake: Intake<'a>,
    pub(crate) poller: Poller<'a>,
}

/// Receives until the daemon stops or the log is closed.
pub(crate) async fn run(telegram: &Telegram, context: &ChannelContext) -> Result<(), ChannelError> {
    let intake = Intake::new(&telegram.name, &telegram.account, context);
    let (api, clock) = (&telegram.api, context.clock.as_ref());
    let was_abandoned = AtomicBool::new(false);
    let (seconds, was_abandoned) = (telegram.poll_seconds, &was_abandoned);
    let poller = Poller { api, clock, seconds, was_abandoned };
    let receiver = Receiver { telegram, context, intake, poller };
    let _watched = telegram.watch.run();
    let ended = intake.run(receiver.receive()).await;
    if ended.is_ok() {
        telegram.finish_reacting().await;
    }
    ended
}

impl Receiver<'_> {
    async fn receive(&self) -> Result<Infallible, Stopped> {
        let mut failures = Failures::new();
        let me: Me = loop {
            self.expect(ANSWER_LIMIT);
            let me: Result<Value, _> = self.call(GetMe::new()).await;
            let unreadable = || BotApiError::Broken("Telegram does not name the bot");
            match me.and_then(|me| update::read_me(&me).ok_or_else(unreadable)) {
                Ok(me) => break me,
                Err(fault) => self.recover(&fault, &mut failures).await,
            }
        };
        self.works(&mut failures);
        self.telegram.watch.suspend();
        tracing::info!(account = %self.telegram.account, bot = me.username(), "connected");
        // The registration runs beside the polls, which need not wait for it.
        let registration = async {
            self.register_commands().await;
            std::future::pending().await
        };
        let receiving = async {
            let earlier = self.restore(&me).await?;
            match &self.telegram.webhook {
                Some(endpoint) => self.serve(&me, endpoint, &earlier, failures).await,
                None => self.poll(&me, earlier, failures).await,
            }
        };
        tokio::select! {
            stopped = receiving => stopped,
            never = registration => never,
            never = self.telegram.keep_reacting() => match never {},
            never = self.telegram.keep_ending_presses() => match never {},
        }
    }

    /// Polls for updates and commits them.
    async fn poll(
        &self,
        me: &Me,
        mut earlier: EarlierRun,
        mut failures: Failures,
    ) -> Result<Infallible, Stopped> {
        let (mut next, mut without_id) = (None, 0);
        let mut may_have_webhook = true;
        loop {
            self.expect(self.poller.longest());
            let is_for_bot = |update: &Update| is_for_bot(&self.bot(me), update);
            match self.poller.poll(next, is_for_bot).await {
                Ok(Batch { updates, without_id: now }) => {
                    self.works(&mut failures);
                    // From here to the next poll, only the log can delay the loop.
                    self.telegram.watch.suspend();
                    may_have_webhook = false;
                    // This poll has confirmed the updates of the previous poll.
                    if earlier.mode == Mode::Webhook && next.is_some() {
                        self.intake.move_cursor(Mode::Polling.cursor()).await?;
                        earlier.mode = Mode::Polling;
                    }
                    self.count_updates_without_id(now.saturating_sub(without_id)).await?;
                    without_id = now;
                    if let Some(last) = updates.last() {
                        next = Some(last.id + 1);
                    } else if without_id > 0 {
                        // The update has this id or a higher one.
                        next = next.map(|next: i64| next.saturating_add(1));
                        self.context.clock.sleep(PAUSE_WITHOUT_IDS).await;
                    }
                    // The cursor grows with each commit: after a restart, `gather` keeps committed
                    // updates apart from later ones.
                    let mut position = PollPosition::default();
                    for together in earlier.gather(updates) {
                        position.add(&together);
                        let press =
                            self.commit_updates(me, &together, Some(position.cursor())).await?;
                        self.answer(press).await;
                    }
                }
                Err(fault)
                    if may_have_webhook
                        && fault.has_code(409)
                        && fault.contains("webhook is active") =>
                {
                    may_have_webhook = false;
                    if let Err(fault) = self.delete_webhook().await {
                        may_have_webhook = true;
                        self.recover(&fault, &mut failures).await;
                    }
                }
                Err(fault) => self.recover(&fault, &mut failures).await,
            }
        }
    }

    /// Deletes the webhook of an earlier run or of another program. Pending updates stay.
    async fn delete_webhook(&self) -> Result<(), BotApiError> {
        let info: Value = self.call(GetWebhookInfo::new()).await?;
        let host = webhook::host(info["url"].as_str().unwrap_or_default());
        let account = &self.telegram.account;
        tracing::warn!(%account, host, "deleting the webhook of the bot, because this account polls");
        let IgnoredAny = self.call(DeleteWebhook::new()).await?;
        Ok(())
    }

    /// Restores the state of an earlier run, and loads the moved groups and the albums.
    async fn restore(&self, me: &Me) -> Result<EarlierRun, Stopped> {
        let cursors = self.intake.cursors().await?;
        let moves = cursors.iter().filter_map(GroupMove::from_cursor);
        moves.for_each(|moved| self.telegram.moves.note_move(moved));
        for cursor in &cursors {
            self.telegram.albums.note_cursor(cursor);
            let Some(kept) = self.telegram.kept_parts.read_cursor(cursor) else { continue };
            for update in kept.waiting {
                self.commit_for(Audience::Bot, me, &[update], None).await?;
            }
            self.intake.move_cursor(kept.rest).await?;
        }
        Ok(EarlierRun::read(&cursors))
    }

    /// Counts updates without an id. They cannot be confirmed, so they come again until the
    /// platform drops them, or a later update is confirmed.
    pub(crate) async fn count_updates_without_id(&self, count: usize) -> Result<(), Stopped> {
        for _ in 0..count {
            let account = &self.telegram.account;
            tracing::warn!(%account, "Telegram sent an update without an id; ignoring it");
            self.intake.ignore("without an id", None).await?;
        }
        Ok(())
    }

    /// Commits an update, or those of an album, however long the log takes. Telegram keeps the rest
    /// meanwhile. Returns the answer to a button press.
    pub(crate) async fn commit_updates(
        &self,
        me: &Me,
        updates: &[Update],
        cursor: Option<Cursor>,
    ) -> Result<Option<PressAnswer>, Stopped> {
        let continued =
            updates.first().and_then(|one| self.telegram.last_parts.find_continued(one));
        let audience = match continued {
            Some(_) => Audience::Bot,
            None => audience(&self.bot(me), updates),
        };
        self.commit_for(audience, me, updates, cursor).await
    }

    /// Like [`Self::commit_updates`], for a known audience.
    pub(crate) async fn commit_for(
        &self,
        audience: Audience,
        me: &Me,
        updates: &[Update],
        cursor: Option<Cursor>,
    ) -> Result<Option<PressAnswer>, Stopped> {
        let Some(update) = updates.first() else { return Ok(None) };
        let (telegram, intake, bot) = (self.telegram, self.intake, self.bot(me));
        let held = self.hold_press(&bot, update);
        let mut stages = UpdateStages::new(telegram, intake, bot, update, updates, audience);
        let taken = self.intake.run_stages(&mut stages, cursor).await;
        if let Some(press) = held {
            if matches!(taken, Ok(Taken::Accepted | Taken::Settled | Taken::Repeated)) {
                return Ok(None);
            }
            telegram.presses.remove_press(&press);
        }
        let answer = update.press_answer();
        Ok(match taken? {
            Taken::Refused(PublishError::NotAllowed { .. }) => {
                answer.map(|answer| PressAnswer { text: Some(NO_ACCESS), ..answer })
            }
            _ => answer,
        })
    }

    /// Holds the press of a button with a command until the command has a reply.
    fn hold_press(&self, bot: &BotIdentity<'_>, update: &Update) -> Option<DedupeKey> {
        let PressAnswer { query, .. } = update.press_answer()?;
        let Converted::Inbound(press) = convert(bot, slice::from_ref(update)) else { return None };
        let now = self.context.clock.elapsed();
        self.telegram.presses.hold_press(&query, &press, now).then_some(press.key)
    }

    /// The bot as its chats see it.
    pub(crate) fn bot<'b>(&'b self, me: &'b Me) -> BotIdentity<'b> {
        let Telegram { name, account, unmentioned, moves, albums, .. } = self.telegram;
        let commands = &self.context.commands;
        BotIdentity {
            me,
            channel: name,
            account,
            unmentioned,
            moves,
            albums,
            commands,
            direct_topic: None,
            fields: None,
        }
    }

    /// Answers a pressed button. The press is committed by now, so an error is harmless.
    pub(crate) async fn answer(&self, press: Option<PressAnswer>) {
        let Some(PressAnswer { query, text }) = press else { return };
        self.telegram.end_press(query, text.map(str::to_owned)).await;
    }

    /// Records a successful answer of the platform.
    pub(crate) fn works(&self, failures: &mut Failures) {
        self.telegram.health.record_success();
        self.telegram.account_accepted();
        let count = failures.reset();
        if count > 1 {
            tracing::info!(account = %self.telegram.account, failures = count, "receiving \
                updates again");
        }
    }

    /// Waits before the next request: as long as the fault asks for, or longer each time.
    pub(crate) async fn recover(&self, fault: &BotApiError, failures: &mut Failures) {
        let wait = match fault {
            fault if token::is_refused(fault) => self.telegram.account_refused(fault),
            fault => self.note(fault, failures),
        };
        self.expect(wait);
        self.context.clock.sleep(wait).await;
    }

    /// Reports that the polling loop works, and that its next step ends within this time. With a
    /// webhook, there is no such time.
    fn expect(&self, within: Duration) {
        if self.telegram.webhook.is_none() {
            self.telegram.watch.expect_within(within);
        }
    }

    /// Shows a fault in `status` and, if it is new, in the log. Returns the time to wait.
    fn note(&self, fault: &BotApiError, failures: &mut Failures) -> Duration {
        let wait = match fault {
            // Longer than the other instance's poll, so that one of the two notices the conflict
            // (F4).
            fault if is_conflict(fault) => self.poller.longest(),
            BotApiError::Wait(wait) => *wait,
            _ => failures.backoff.next_wait(),
        };
        let error = fault.to_string();
        if let Some(times) = failures.count(&error) {
            tracing::warn!(account = %self.telegram.account, error, times, ?wait, "cannot receive updates; retrying");
        }
        self.telegram.health.record_failure(&error);
        wait
    }

    /// Registers the commands. A failure is harmless, because commands work without completion.
    async fn register_commands(&self) {
        let ChannelContext { clock, commands, .. } = self.context;
        if let Err(error) = commands::register(&self.telegram.api, clock.as_ref(), commands).await {
            let account = &self.telegram.account;
            tracing::warn!(%account, %error, "cannot register the commands; typed commands work");
        }
    }

    pub(crate) async fn call<T, P>(&self, payload: P) -> Result<T, BotApiError>
    where
        T: DeserializeOwned,
        P: Payload + Serialize,
    {
        let clock = self.context.clock.as_ref();
        self.telegram.api.call_within(clock, ANSWER_LIMIT, payload).await
    }
}
