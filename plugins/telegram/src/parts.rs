//! Joins the parts of a message that come through a webhook one by one.

use std::slice;
use std::time::Duration;

use avocet_channel_kit::{Converted, Stopped, Taken};
use serde_json::Value;
use teloxide::types::Me;

use crate::bot::Audience;
use crate::convert::is_for_bot;
use crate::failures::Failures;
use crate::pending_parts::WaitingParts;
use crate::receive::Receiver;
use crate::update::Update;
use crate::{Telegram, album, comments};

impl Receiver<'_> {
    /// Takes an update that is a part of a message: the log keeps it until the message is complete.
    /// Returns `false` for any other update. Parts of its author that wait are committed first.
    pub(crate) async fn keep_part(
        &self,
        me: &Me,
        update: &Update,
        raw: &Value,
    ) -> Result<bool, Stopped> {
        if let Some(mut parts) = self.telegram.pending_parts.waiting_for(update) {
            let belongs = parts.add(update, raw);
            if belongs && parts.may_grow() {
                self.keep(parts).await?;
            } else {
                self.release(me, &parts).await?;
            }
            if belongs {
                return Ok(true);
            }
        }
        if !album::waits_for_more(update) {
            return Ok(false);
        }
        let comment = self.telegram.last_texts.comment_on(update);
        let mut together = [Some(update), comment.as_ref()].into_iter().flatten();
        let is_for_bot = together.any(|update| is_for_bot(&self.bot(me), update));
        if !is_for_bot {
            return Ok(false);
        }
        if let Some(parts) = self.telegram.pending_parts.begin(update, raw) {
            self.keep(parts).await?;
        } else {
            self.commit_for(Audience::Bot, me, slice::from_ref(update), None).await?;
        }
        Ok(true)
    }

    /// Waits until parts are complete, because no other part has followed. Never ends if none wait.
    pub(crate) async fn parts_due(&self) {
        let clock = &self.context.clock;
        match self.telegram.pending_parts.next_due(clock.elapsed()) {
            Some(wait) => clock.sleep(wait).await,
            None => std::future::pending().await,
        }
    }

    /// Commits the messages whose parts are complete. A failed write is repeated later.
    ///
    /// # Errors
    /// [`Stopped::Requested`] if the daemon is stopping.
    pub(crate) async fn release_due(
        &self,
        me: &Me,
        failures: &mut Failures,
    ) -> Result<(), Stopped> {
        for parts in self.telegram.pending_parts.due(self.context.clock.elapsed()) {
            match self.release(me, &parts).await {
                Ok(()) => {
                    failures.reset();
                }
                Err(Stopped::Requested) => return Err(Stopped::Requested),
                Err(Stopped::Failed(error)) => {
                    self.telegram.pending_parts.postpone(&parts, self.context.clock.elapsed());
                    let (account, error) = (&self.telegram.account, error.to_string());
                    if let Some(times) = failures.count(&error) {
                        tracing::warn!(%account, error, times, "cannot commit a message of several parts; retrying");
                    }
                }
            }
        }
        Ok(())
    }

    /// Commits all parts that wait since an earlier run with a webhook.
    pub(crate) async fn release_all_parts(&self, me: &Me) -> Result<(), Stopped> {
        for parts in self.telegram.pending_parts.due(Duration::MAX) {
            self.release(me, &parts).await?;
        }
        Ok(())
    }

    async fn keep(&self, parts: WaitingParts) -> Result<(), Stopped> {
        self.intake.move_cursor(parts.cursor()).await?;
        self.telegram.pending_parts.keep(parts, self.context.clock.elapsed());
        Ok(())
    }

    async fn release(&self, me: &Me, parts: &WaitingParts) -> Result<(), Stopped> {
        if !self.add_to_comment(me, parts).await? {
            // Only parts for the bot wait, perhaps because of their comment.
            let audience = Audience::Bot;
            self.commit_for(audience, me, &parts.updates, Some(parts.end_cursor())).await?;
        }
        self.telegram.pending_parts.finish(parts);
        Ok(())
    }

    /// Adds forwarded messages to the comment before them, which is in the log, and moves the
    /// cursor. Returns `false` if there is no such comment, or if it was answered meanwhile.
    async fn add_to_comment(&self, me: &Me, parts: &WaitingParts) -> Result<bool, Stopped> {
        let Telegram { last_texts, joined, recent, .. } = self.telegram;
        let first = parts.updates.first();
        let Some(comment) = first.and_then(|first| last_texts.comment_on(first)) else {
            return Ok(false);
        };
        let together = [&[comment], &parts.updates[..]].concat();
        let Some(mut correction) = comments::correction(&self.bot(me), &together) else {
            return Ok(false);
        };
        recent.add_context(&mut correction);
        let Converted::Inbound(correction) = correction else { return Ok(false) };
        let taken = self.intake.offer(&correction, Some(&parts.end_cursor())).await?;
        let is_added = match taken {
            Taken::Accepted | Taken::Repeated | Taken::Settled => true,
            Taken::Refused(error) => {
                let chat = &correction.address;
                tracing::info!(%chat, %error, "cannot add forwarded messages to their comment; they \
                    become a message of their own");
                false
            }
            Taken::Ignored => false,
        };
        if is_added {
            joined.note(&together);
        }
        Ok(is_added)
    }
}
