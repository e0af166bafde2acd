//! The receive loop of an account with a webhook. Telegram repeats an update until the response is
//! a 2xx, so that response waits for the commit.

use std::convert::Infallible;
use std::slice;
use std::time::Duration;

use avocet_channel_kit::Stopped;
use avocet_protocol::channel::{ChannelError, WebhookError};
use avocet_protocol::ignore_result;
use serde::de::IgnoredAny;
use serde_json::Value;
use teloxide::payloads::GetWebhookInfo;
use teloxide::types::Me;

use crate::album;
use crate::convert::is_for_bot;
use crate::failures::Failures;
use crate::position::{EarlierRun, Mode};
use crate::receive::Receiver;
use crate::update::{PressAnswer, Update};
use crate::webhook::{self, Endpoint, PostedUpdate};

impl Receiver<'_> {
    /// Sets the webhook, and takes the updates that come through it.
    pub(crate) async fn serve(
        &self,
        me: &Me,
        endpoint: &Endpoint,
        earlier: &EarlierRun,
        failures: Failures,
    ) -> Result<Infallible, Stopped> {
        if earlier.mode != Mode::Webhook {
            self.intake.move_cursor(Mode::Webhook.cursor()).await?;
        }
        tokio::select! {
            stopped = self.take_posted(me, endpoint, earlier) => stopped,
            never = self.keep_webhook(endpoint, failures) => match never {},
        }
    }

    /// Commits posted updates one by one. A failed write is not repeated: Telegram sends the update
    /// again.
    async fn take_posted(
        &self,
        me: &Me,
        endpoint: &Endpoint,
        earlier: &EarlierRun,
    ) -> Result<Infallible, Stopped> {
        let receiver = Self { intake: self.intake.with_one_attempt(), ..*self };
        let (mut queue, mut failures) = (endpoint.open(), Failures::new());
        loop {
            let Some(PostedUpdate { raw, result }) = queue.recv().await else { break };
            let unavailable = |why: &str| Err(WebhookError::Unavailable(why.to_owned()));
            match receiver.take_one(me, raw, earlier).await {
                Ok(press) => {
                    self.telegram.health.record_success();
                    failures.reset();
                    endpoint.took();
                    ignore_result(
                        result.send(Ok(())),
                        "the request may have been abandoned; its update is committed",
                    );
                    self.answer(press).await;
                }
                Err(Stopped::Requested) => {
                    ignore_result(
                        result.send(unavailable("the daemon is stopping")),
                        "the request may have been abandoned; Telegram sends the update again",
                    );
                    return Err(Stopped::Requested);
                }
                Err(Stopped::Failed(error)) => {
                    ignore_result(
                        result.send(unavailable("the log cannot be written at present")),
                        "the request may have been abandoned; Telegram sends the update again",
                    );
                    self.note_refused(&error, &mut failures);
                }
            }
        }
        Err(ChannelError::Interrupted("the webhook has another receive loop".to_owned()).into())
    }

    /// Commits a posted update. Returns the answer to a button press.
    async fn take_one(
        &self,
        me: &Me,
        raw: Value,
        earlier: &EarlierRun,
    ) -> Result<Option<PressAnswer>, Stopped> {
        let Some(update) = Update::read(raw) else {
            self.count_updates_without_id(1).await?;
            return Ok(None);
        };
        if earlier.has_joined(&update) || self.telegram.kept_parts.has_joined(&update) {
            return Ok(None);
        }
        // The other parts of the album follow, perhaps without a mention.
        let cursor = album::cursor(&update).filter(|_| is_for_bot(&self.bot(me), &update));
        let press = self.commit_updates(me, slice::from_ref(&update), cursor.clone()).await?;
        cursor.iter().for_each(|cursor| self.telegram.albums.note_cursor(cursor));
        Ok(press)
    }

    /// Logs an update that the log did not take.
    fn note_refused(&self, error: &ChannelError, failures: &mut Failures) {
        let error = error.to_string();
        if let Some(times) = failures.count(&error) {
            let account = &self.telegram.account;
            tracing::warn!(%account, error, times, "cannot commit an update; Telegram sends it again");
        }
    }

    /// Sets the webhook, and sets it again if another program changes it.
    async fn keep_webhook(&self, endpoint: &Endpoint, mut failures: Failures) -> Infallible {
        let (telegram, clock) = (self.telegram, &self.context.clock);
        let account = &telegram.account;
        let interval = Duration::from_secs(telegram.poll_seconds.into());
        loop {
            while let Err(fault) = self.call::<IgnoredAny, _>(endpoint.set_webhook()).await {
                self.recover(&fault, &mut failures).await;
            }
            let mut is_new = true;
            loop {
                match self.call::<Value, _>(GetWebhookInfo::new()).await {
                    Ok(info) if info["url"] != endpoint.url() => {
                        let host = webhook::host(info["url"].as_str().unwrap_or_default());
                        let error =
                            format!("another program changed the webhook of the bot to {host:?}");
                        tracing::warn!(%account, error, "setting the webhook again");
                        telegram.health.record_failure(&error);
                        clock.sleep(interval).await;
                        break;
                    }
                    Ok(info) => self.judge(endpoint, &info, is_new, &mut failures),
                    Err(fault) => self.recover(&fault, &mut failures).await,
                }
                is_new = false;
                clock.sleep(interval).await;
            }
        }
    }

    /// Shows in the health if Telegram cannot deliver updates. Telegram keeps an old error, so it
    /// counts only while updates wait and none arrives.
    fn judge(&self, endpoint: &Endpoint, info: &Value, is_new: bool, failures: &mut Failures) {
        let account = &self.telegram.account;
        let waiting = info["pending_update_count"].as_u64().unwrap_or_default();
        let host = webhook::host(endpoint.url());
        if is_new {
            tracing::info!(%account, host, waiting, "the webhook is set");
        }
        match info["last_error_message"].as_str() {
            Some(error) if waiting > 0 && !is_new && !endpoint.has_taken() => {
                let error = format!("Telegram cannot deliver updates to {host}: {error}");
                if let Some(times) = failures.count(&error) {
                    tracing::warn!(%account, error, waiting, times, "no updates arrive; check the \
                        server with TLS in front, and [http]");
                }
                self.telegram.health.record_failure(&format!("{error} ({waiting} wait)"));
            }
            _ => self.works(failures),
        }
    }
}
