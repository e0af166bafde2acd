//! The title of a session in the editor: that of the list of sessions.

use agent_client_protocol::v1::schema::{SessionInfoUpdate, SessionUpdate};
use avocet_gateway::{Client, ClientError, ListSessions, MOST_ROWS};
use avocet_protocol::store::{SessionRow, SessionSummary};

use super::EditorSession;
use crate::list::moment;

/// Rows of the first page: a session whose turn has just ended is among the last used.
const FIRST_ROWS: u32 = 8;
/// The most pages that are read to find an older session.
const MOST_PAGES: u32 = 10;

impl EditorSession {
    /// Shows the title and the time of the last use, if the title is new.
    pub(super) async fn show_title(&mut self) {
        let Some(client) = self.client.clone() else { return };
        match self.find_summary(&client).await {
            Ok(Some(SessionSummary { title: Some(title), used_at, .. }))
                if self.title.as_ref() != Some(&title) =>
            {
                let update = SessionInfoUpdate::new().title(title.clone());
                let update = update.updated_at(moment(used_at));
                self.editor.update(SessionUpdate::SessionInfoUpdate(update));
                self.title = Some(title);
            }
            // The loss of the connection ends the prompt.
            Ok(_) | Err(ClientError::Lost) => {}
            Err(error) => {
                tracing::debug!(%error, session = %self.place.session, "cannot read the title");
            }
        }
    }

    /// Finds the session in the list of the daemon; `None` if it is not there, or too far back.
    async fn find_summary(
        &mut self,
        client: &Client,
    ) -> Result<Option<SessionSummary>, ClientError> {
        let mut page = ListSessions { limit: FIRST_ROWS, ..ListSessions::default() };
        for _ in 0..MOST_PAGES {
            let rows: Vec<SessionSummary> = self.call::<ListSessions>(client, &page).await?;
            let is_last = rows.len() < page.limit as usize;
            let last = rows
                .last()
                .map(|row| SessionRow { used_at: row.used_at, session: row.session.clone() });
            let found = rows.into_iter().find(|row| row.session == self.place.session);
            if found.is_some() || is_last {
                return Ok(found);
            }
            page = ListSessions { limit: MOST_ROWS, after: last, only: None };
        }
        Ok(None)
    }
}
