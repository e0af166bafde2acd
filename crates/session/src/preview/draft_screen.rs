//! Shows a growing answer as a draft of the platform, as long as it fits into one message.

use avocet_protocol::chat::DraftError;
use avocet_protocol::clock::within;
use avocet_supervise::catch_panic;

use super::parts::PartUpdate;
use super::screen::{PreviewScreen, SHOW_LIMIT};
use super::state::{PreviewState, ShowResult};

impl PreviewScreen<'_> {
    /// Shows an update as a draft. Returns `None` if the update needs a message. The chat shows no
    /// drafts, the text continues in another message, or the turn has a message from before a wait
    /// or a restart.
    pub(super) async fn show_as_draft(&self, update: &PartUpdate) -> Option<ShowResult> {
        let PartUpdate { part, state, content, is_complete } = update;
        let may_begin = self.may_draft && *part == 0 && !is_complete;
        let is_known = match state {
            PreviewState::Nowhere => false,
            PreviewState::Draft => true,
            _ => return None,
        };
        if !may_begin || !self.channel.shows_drafts(self.chat) {
            return None;
        }
        if !is_known && !matches!(self.parts.outbox.preview(self.turn).await, Ok(None)) {
            return None;
        }
        let showing = catch_panic(self.channel.show_draft(self.chat, self.turn, content));
        match within(self.parts.clock.as_ref(), SHOW_LIMIT, showing).await {
            Ok(Ok(Ok(()))) => {
                let content = Some(content.clone());
                Some(ShowResult { state: PreviewState::Draft, content, hold: None })
            }
            Ok(Ok(Err(DraftError::Unsupported))) => None,
            Ok(Ok(Err(DraftError::Later(hold)))) => {
                Some(ShowResult { hold: Some(hold), ..ShowResult::without_content(state.clone()) })
            }
            Ok(Ok(Err(DraftError::Failed(error)))) => {
                tracing::debug!(error, "cannot show a draft");
                Some(ShowResult::without_content(state.clone()))
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "the channel panicked while it showed a draft");
                None
            }
            Err(_elapsed) => Some(ShowResult::without_content(state.clone())),
        }
    }
}
