//! The list of the editor's sessions.

use agent_client_protocol::v1::schema::{ListSessionsRequest, ListSessionsResponse, SessionInfo};
use avocet_gateway::{Client, ListSessions};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::{SessionRow, SessionSummary};

use crate::editor::{failed, invalid};
use crate::place::EditorPlaces;

/// Rows of a page of the daemon. A page for the editor has those that are sessions of editors.
const PAGE: u32 = 200;

/// Answers `session/list`.
pub(crate) async fn list(
    client: &Client,
    places: &EditorPlaces,
    request: ListSessionsRequest,
) -> Result<ListSessionsResponse, agent_client_protocol::Error> {
    let mut after = match request.cursor.as_deref().map(str::parse::<SessionRow>) {
        Some(Err(error)) => return Err(invalid(error)),
        row => row.transpose().unwrap_or_default(),
    };
    loop {
        let page = ListSessions { limit: PAGE, after, only: None };
        let rows: Vec<SessionSummary> =
            client.call::<ListSessions>(&page).await.map_err(|error| failed(error.to_string()))?;
        let is_last = rows.len() < PAGE as usize;
        after = rows.last().map(|SessionSummary { used_at, session, .. }| SessionRow {
            used_at: *used_at,
            session: session.clone(),
        });
        let of_editors = rows.iter().filter_map(|row| info(row, places));
        let wanted = |info: &SessionInfo| {
            request.cwd.as_ref().is_none_or(|cwd| EditorPlaces::is_same(cwd, &info.cwd))
        };
        let sessions: Vec<SessionInfo> = of_editors.filter(wanted).collect();
        // An empty page would end the list in some editors.
        if is_last || !sessions.is_empty() {
            let next = after.filter(|_| !is_last).map(|row| row.to_string());
            return Ok(ListSessionsResponse::new(sessions).next_cursor(next));
        }
    }
}

fn info(row: &SessionSummary, places: &EditorPlaces) -> Option<SessionInfo> {
    let place = places.find_place(row.session.as_str())?;
    let cwd = place.cwd.unwrap_or(place.workspace);
    let info = SessionInfo::new(row.session.as_str().to_owned(), cwd).title(row.title.clone());
    Some(info.updated_at(moment(row.used_at)))
}

/// Writes a moment for the editor (ISO 8601); `None` if it is too far from the present.
pub(crate) fn moment(moment: Timestamp) -> Option<String> {
    jiff::Timestamp::from_millisecond(moment.0).ok().map(|moment| moment.to_string())
}
