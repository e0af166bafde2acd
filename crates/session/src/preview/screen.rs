//! The chat messages that show a preview. The row of each is logged before the first send, and updated
//! at once with the outcome.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::channel::{Channel, SendError};
use avocet_protocol::chat::{ChatAddress, Content, Delivery, LoggedInbound, Receipt};
use avocet_protocol::clock::{Timestamp, within};
use avocet_protocol::ids::{DeliveryId, PlatformId, TurnId};
use avocet_protocol::store::{Showing, StoreError};
use avocet_supervise::catch_panic;

use super::parts::PartUpdate;
use super::state::{PreviewState, ShowResult};
use crate::SessionParts;
use crate::long_code::without_long_code;

/// Timeout of a channel, after which the outcome is unknown. The turn's end waits for this.
pub(super) const SHOW_LIMIT: Duration = Duration::from_secs(10);

/// The place where a turn is shown.
#[derive(Clone, Copy)]
pub(super) struct PreviewScreen<'l> {
    pub(super) parts: &'l SessionParts,
    pub(super) channel: &'l Arc<dyn Channel>,
    pub(super) turn: TurnId,
    /// The message that it replies to.
    pub(super) to: &'l LoggedInbound,
    pub(super) chat: &'l ChatAddress,
    /// `true` if a draft of the platform can take the place of the message.
    pub(super) may_draft: bool,
}

impl PreviewScreen<'_> {
    /// Plans a text with the channel.
    pub(super) fn plan_chunks(&self, text: &str) -> Vec<Content> {
        let content = self.parts.make_reply(self.to, &Content::text(text));
        let mut chunks = self.channel.plan_preview(&content);
        if let Some(first) = chunks.first_mut() {
            first.reply_to = content.reply_to;
        }
        chunks
    }

    /// Leaves out long code, which becomes a file.
    pub(super) fn in_short(&self, text: String) -> String {
        if !self.channel.capabilities().sends_code_as_files {
            return text;
        }
        without_long_code(&text, |block| self.channel.plan_preview(&Content::text(block)).len())
    }

    /// Shows content in the first message. Always returns, whatever the channel does.
    pub(super) async fn show_content(self, state: PreviewState, content: Content) -> ShowResult {
        self.update_part(PartUpdate { part: 0, state, content, is_complete: false }).await
    }

    /// Changes a message. Always returns, whatever the channel does.
    pub(super) async fn update_part(self, update: PartUpdate) -> ShowResult {
        use avocet_protocol::store::Preview;
        let _changing = self.parts.running.lock_screen(self.turn).await;
        let outbox = &self.parts.outbox;
        if let Some(showed) = self.show_as_draft(&update).await {
            return showed;
        }
        let PartUpdate { part, state, content, is_complete } = update;
        // The message takes the place of the draft.
        let state = if state == PreviewState::Draft { PreviewState::Nowhere } else { state };
        let (id, platform_id) = match state {
            PreviewState::Over | PreviewState::Draft => return ShowResult::without_content(state),
            PreviewState::In(id, platform_id) => (id, platform_id),
            PreviewState::Unsure(id, platform_id) => {
                return self
                    .edit_message(id, platform_id, content, false)
                    .await
                    .with_unsure_message();
            }
            // A preview that would have to wait is skipped.
            PreviewState::Nowhere if self.spare_turn(&content, None).is_err() => {
                return ShowResult::without_content(PreviewState::Nowhere);
            }
            state @ (PreviewState::Nowhere | PreviewState::Complete(..)) => {
                match outbox.begin_preview(self.turn, part, self.chat, &content).await {
                    Ok(Preview::Begun { id, nonce }) => {
                        return self.send_first(id, nonce, content, is_complete).await;
                    }
                    Ok(Preview::Shown(id, platform_id)) => (id, platform_id),
                    Ok(Preview::Complete(id, platform_id)) => {
                        let state = PreviewState::Complete(id, platform_id);
                        return ShowResult { state, content: Some(content), hold: None };
                    }
                    Ok(Preview::Later) => {
                        return ShowResult::without_content(PreviewState::Nowhere);
                    }
                    Ok(Preview::Over) => return ShowResult::without_content(PreviewState::Over),
                    Err(error) => {
                        tracing::debug!(%error, "there is no preview");
                        let again = error.is_transient();
                        return ShowResult::without_content(if again {
                            state
                        } else {
                            PreviewState::Over
                        });
                    }
                }
            }
        };
        self.edit_message(id, platform_id, content, is_complete).await
    }

    /// Takes a send slot of the platform that messages can spare.
    fn spare_turn(&self, content: &Content, shown_as: Option<&PlatformId>) -> Result<(), Duration> {
        let new = Delivery::new(DeliveryId(0), self.chat.clone(), content.clone());
        self.channel.spare_turn(&Delivery { shown_as: shown_as.cloned(), ..new })
    }

    /// Sends a new message.
    async fn send_first(
        self,
        id: DeliveryId,
        nonce: String,
        content: Content,
        is_complete: bool,
    ) -> ShowResult {
        let first = Delivery { nonce, ..self.delivery(id, &content) };
        let sent = self.deliver(first).await;
        tracing::debug!(%id, ok = sent.is_ok(), "the preview is sent");
        let refused =
            |hold: Duration| Showing::Refused { not_before: self.parts.clock.now().after(hold) };
        let (state, showing) = match sent {
            Ok(Receipt { platform_id: Some(platform_id) }) => {
                shown(id, content.clone(), platform_id, is_complete)
            }
            Err(SendError::RetryAfter(hold)) => (PreviewState::Over, refused(hold)),
            Err(
                SendError::Failed(_)
                | SendError::Unreachable
                | SendError::Gone
                | SendError::Refused(_),
            ) => (PreviewState::Over, Showing::Refused { not_before: Timestamp(0) }),
            Ok(Receipt { platform_id: None })
            | Err(SendError::Unknown(_) | SendError::Partly(_)) => {
                (PreviewState::Over, Showing::Unknown)
            }
        };
        self.record_showing(id, &showing).await;
        let content = (state != PreviewState::Over).then_some(content);
        ShowResult { state, content, hold: None }
    }

    /// Edits the message. A skipped or refused edit is repeated after an interval.
    async fn edit_message(
        self,
        id: DeliveryId,
        platform_id: PlatformId,
        content: Content,
        is_complete: bool,
    ) -> ShowResult {
        let state = PreviewState::In(id, platform_id.clone());
        if let Err(pause) = self.spare_turn(&content, Some(&platform_id)) {
            return ShowResult { state, content: None, hold: Some(pause) };
        }
        let shown_as = Some(platform_id.clone());
        match self.deliver(Delivery { shown_as, ..self.delivery(id, &content) }).await {
            Ok(_) => {
                let (state, showing) = shown(id, content.clone(), platform_id, is_complete);
                self.record_showing(id, &showing).await;
                ShowResult { state, content: Some(content), hold: None }
            }
            Err(SendError::RetryAfter(hold)) => {
                let not_before = self.parts.clock.now().after(hold);
                self.record_showing(id, &Showing::Refused { not_before }).await;
                ShowResult { state, content: None, hold: Some(hold) }
            }
            Err(SendError::Gone | SendError::Refused(_)) => {
                ShowResult::without_content(PreviewState::Over)
            }
            Err(SendError::Failed(_) | SendError::Unreachable) => {
                ShowResult::without_content(state)
            }
            Err(SendError::Unknown(_) | SendError::Partly(_)) => {
                ShowResult::without_content(state).with_unsure_message()
            }
        }
    }

    fn delivery(&self, id: DeliveryId, content: &Content) -> Delivery {
        let turn = Some(self.turn);
        Delivery { turn, ..Delivery::new(id, self.chat.clone(), content.clone()) }
    }

    async fn deliver(&self, delivery: Delivery) -> Result<Receipt, SendError> {
        let clock = self.parts.clock.as_ref();
        match within(clock, SHOW_LIMIT, catch_panic(self.channel.deliver(&delivery))).await {
            Ok(Ok(sent)) => sent,
            Ok(Err(panicked)) => Err(SendError::Unknown(panicked.to_string())),
            Err(elapsed) => Err(SendError::Unknown(elapsed.to_string())),
        }
    }

    /// Records the outcome in the log, since the end of the turn depends on it.
    async fn record_showing(&self, id: DeliveryId, showing: &Showing) {
        let outbox = &self.parts.outbox;
        match self.parts.with_retry(|| outbox.finish_preview(id, showing)).await {
            // The turn was ended meanwhile.
            Ok(()) | Err(StoreError::Stale(_)) => {}
            Err(error) => tracing::warn!(%id, %error, "cannot record the outcome of a preview"),
        }
    }
}

fn shown(
    id: DeliveryId,
    content: Content,
    platform_id: PlatformId,
    is_complete: bool,
) -> (PreviewState, Showing) {
    let message = platform_id.clone();
    if is_complete {
        (PreviewState::Complete(id, message), Showing::Complete { content, platform_id })
    } else {
        (PreviewState::In(id, message), Showing::Shown { content, platform_id })
    }
}
