//! Progress of a call, for clients that ask for it.

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};

/// Sends progress notifications of one call.
#[derive(Debug)]
pub(crate) struct CallProgress {
    peer: Peer<RoleServer>,
    /// `None` if the client did not request progress.
    token: Option<ProgressToken>,
    sent: u32,
}

impl CallProgress {
    pub(crate) fn new(peer: Peer<RoleServer>, token: Option<ProgressToken>) -> Self {
        Self { peer, token, sent: 0 }
    }

    /// Sends a text. The number only rises, because the end of a turn is unknown.
    pub(crate) async fn report_text(&mut self, text: &str) {
        let Some(token) = &self.token else { return };
        self.sent += 1;
        let progress =
            ProgressNotificationParam::new(token.clone(), f64::from(self.sent)).with_message(text);
        if let Err(error) = self.peer.notify_progress(progress).await {
            tracing::debug!(%error, "cannot send progress to the MCP client");
        }
    }
}
