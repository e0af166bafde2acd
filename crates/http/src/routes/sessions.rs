//! Conversations: the list, the search, their turns and other messages, their labels, their settings, their deletion,
//! and their events.

use std::sync::Arc;

use avocet_gateway::{
    BranchSession, ChangeSession, DeleteSession, ListSent, ListSessions, SearchSessions,
    SetSessionOption, ShowOptions, ShowSession,
};
use avocet_protocol::store::SessionRow;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::caller::HttpCaller;
use crate::input::{JsonBody, PathPart, QueryPart};
use crate::problem::Problem;
use crate::sse;
use crate::state::HttpState;

/// The page of the list of sessions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub(crate) struct SessionsQuery {
    /// The most rows, from 1 to 500. Default: 50.
    #[cfg_attr(test, param(minimum = 1, maximum = 500))]
    limit: u32,
    /// The last row of the page before, as `USED_AT/SESSION`.
    #[cfg_attr(test, param(value_type = Option<String>))]
    after: Option<String>,
    /// The group to list: `pinned`, `archived`, or `other` for the rest. Default: all.
    #[cfg_attr(test, param(value_type = Option<String>))]
    only: Option<String>,
}

impl Default for SessionsQuery {
    fn default() -> Self {
        Self { limit: 50, after: None, only: None }
    }
}

/// The page of a session's turns.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub(crate) struct TurnsQuery {
    /// The most turns, from 1 to 500; a page may have fewer. Default: 50.
    #[cfg_attr(test, param(minimum = 1, maximum = 500))]
    turns: u32,
    /// The oldest turn of the page before, such as `t12`. An empty page is the end.
    before: Option<String>,
}

impl Default for TurnsQuery {
    fn default() -> Self {
        Self { turns: 50, before: None }
    }
}

/// The words of a search.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub(crate) struct SearchQuery {
    /// The words; texts with any of them are found.
    words: String,
    /// The most rows, from 1 to 500. Default: 20.
    #[serde(default = "found_rows")]
    #[cfg_attr(test, param(minimum = 1, maximum = 500))]
    limit: u32,
}

fn found_rows() -> u32 {
    20
}

/// The page of the messages outside of a session's turns.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub(crate) struct SentQuery {
    /// The most rows, from 1 to 500. Default: 50.
    #[cfg_attr(test, param(minimum = 1, maximum = 500))]
    limit: u32,
    /// The oldest message of the page before, such as `o12`.
    before: Option<String>,
}

impl Default for SentQuery {
    fn default() -> Self {
        Self { limit: 50, before: None }
    }
}

/// A deleted conversation.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct DeletedTurns {
    /// The number of deleted turns.
    #[cfg_attr(test, schema(value_type = u64))]
    turns: Value,
}

/// List conversations, the last used first.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/sessions", tag = "sessions", params(SessionsQuery),
    responses((status = 200, description = "A page; one with fewer rows than `limit` is the last"), Problem),
))]
pub(crate) async fn list(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    QueryPart(SessionsQuery { limit, after, only }): QueryPart<SessionsQuery>,
) -> Result<Json<Value>, Problem> {
    let after = after.map(|after| after.parse::<SessionRow>()).transpose();
    let after = after.map_err(|error| Problem::bad_request(format!("after: {error}")))?;
    let params = json!({ "limit": limit, "after": after, "only": only });
    state.call::<ListSessions>(&caller, params).await.map(Json)
}

/// Show the turns of a conversation, oldest first.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/sessions/{session}", tag = "sessions",
    params(("session" = String, Path, example = "terminal:local:me", description = "The session"), TurnsQuery),
    responses((status = 200, description = "A page of turns"), Problem),
))]
pub(crate) async fn show(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(session): PathPart<String>,
    QueryPart(TurnsQuery { turns, before }): QueryPart<TurnsQuery>,
) -> Result<Json<Value>, Problem> {
    let params = json!({ "session": session, "turns": turns, "before": before });
    state.call::<ShowSession>(&caller, params).await.map(Json)
}

/// Search all conversations, the best match first. Each row has the part of the text around the words.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/search", tag = "sessions", params(SearchQuery),
    responses((status = 200, description = "The texts with their sessions and turns"), Problem),
))]
pub(crate) async fn search(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    QueryPart(SearchQuery { words, limit }): QueryPart<SearchQuery>,
) -> Result<Json<Value>, Problem> {
    let params = json!({ "words": words, "limit": limit });
    state.call::<SearchSessions>(&caller, params).await.map(Json)
}

/// List the messages that the chat of a conversation got from outside of its turns, the newest first:
/// answers to commands, reports and sent texts.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/sessions/{session}/sent", tag = "sessions",
    params(("session" = String, Path, description = "The session"), SentQuery),
    responses((status = 200, description = "A page; one with fewer rows than `limit` is the last"), Problem),
))]
pub(crate) async fn sent(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(session): PathPart<String>,
    QueryPart(SentQuery { limit, before }): QueryPart<SentQuery>,
) -> Result<Json<Value>, Problem> {
    let params = json!({ "session": session, "limit": limit, "before": before });
    state.call::<ListSent>(&caller, params).await.map(Json)
}

/// The labels of a conversation. What is left out stays as it is.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionLabelsBody {
    /// One line of at most 80 characters. An empty text removes the title.
    #[serde(default)]
    title: Option<String>,
    /// `true` to list the session as pinned.
    #[serde(default)]
    is_pinned: Option<bool>,
    /// `true` to archive the session. The next message ends that.
    #[serde(default)]
    is_archived: Option<bool>,
}

/// Name, pin or archive a conversation.
#[cfg_attr(test, utoipa::path(
    patch, path = "/v1/sessions/{session}", tag = "sessions", request_body = SessionLabelsBody,
    params(("session" = String, Path, example = "terminal:local:me", description = "The session")),
    responses((status = 204, description = "It is changed"), Problem),
))]
pub(crate) async fn change(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(session): PathPart<String>,
    JsonBody(labels): JsonBody<SessionLabelsBody>,
) -> Result<StatusCode, Problem> {
    let SessionLabelsBody { title, is_pinned, is_archived } = labels;
    let params = json!({
        "session": session, "title": title, "is_pinned": is_pinned, "is_archived": is_archived,
    });
    state.call::<ChangeSession>(&caller, params).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The place of a branch. Without `through` and `before`, all ended turns are copied.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct BranchBody {
    /// The new session.
    into: String,
    /// The last turn to copy, such as `t12`.
    #[serde(default)]
    through: Option<String>,
    /// The first turn to leave out, such as `t12`.
    #[serde(default)]
    before: Option<String>,
}

/// A branch of a conversation.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct CopiedTurns {
    /// The number of copied turns.
    #[cfg_attr(test, schema(value_type = u64))]
    turns: Value,
}

/// Copy the beginning of a conversation into a new one.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/sessions/{session}/branches", tag = "sessions", request_body = BranchBody,
    params(("session" = String, Path, example = "terminal:local:me", description = "The session")),
    responses(
        (status = 201, description = "The new session begins with these turns", body = CopiedTurns),
        (status = 409, description = "The new session exists, or the last turn has not ended", body = Problem, content_type = "application/problem+json"),
        Problem,
    ),
))]
pub(crate) async fn branch(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(session): PathPart<String>,
    JsonBody(BranchBody { into, through, before }): JsonBody<BranchBody>,
) -> Result<(StatusCode, Json<CopiedTurns>), Problem> {
    let params = json!({ "session": session, "into": into, "through": through, "before": before });
    let turns = state.call::<BranchSession>(&caller, params).await?;
    Ok((StatusCode::CREATED, Json(CopiedTurns { turns })))
}

/// List the settings of a conversation with their values: the model, the thinking effort, the mode.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/sessions/{session}/options", tag = "sessions",
    params(("session" = String, Path, description = "The session; it may be new")),
    responses((status = 200, description = "The settings"), Problem),
))]
pub(crate) async fn options(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(session): PathPart<String>,
) -> Result<Json<Value>, Problem> {
    state.call::<ShowOptions>(&caller, json!({ "session": session })).await.map(Json)
}

/// The value of a setting.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct OptionValue {
    /// One of the values that the setting lists.
    value: String,
}

/// Choose the value of a setting of a conversation.
#[cfg_attr(test, utoipa::path(
    put, path = "/v1/sessions/{session}/options/{option}", tag = "sessions",
    request_body = OptionValue,
    params(
        ("session" = String, Path, description = "The session; it may be new"),
        ("option" = String, Path, example = "model", description = "The name of the setting"),
    ),
    responses((status = 200, description = "All settings after the change"), Problem),
))]
pub(crate) async fn set_option(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart((session, option)): PathPart<(String, String)>,
    JsonBody(OptionValue { value }): JsonBody<OptionValue>,
) -> Result<Json<Value>, Problem> {
    let params = json!({ "session": session, "option": option, "value": value });
    state.call::<SetSessionOption>(&caller, params).await.map(Json)
}

/// Delete a conversation.
#[cfg_attr(test, utoipa::path(
    delete, path = "/v1/sessions/{session}", tag = "sessions",
    params(("session" = String, Path, example = "terminal:local:me", description = "The session")),
    responses(
        (status = 200, description = "It is deleted", body = DeletedTurns),
        (status = 409, description = "The session has work", body = Problem, content_type = "application/problem+json"),
        Problem,
    ),
))]
pub(crate) async fn remove(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(session): PathPart<String>,
) -> Result<Json<DeletedTurns>, Problem> {
    let turns = state.call::<DeleteSession>(&caller, json!({ "session": session })).await?;
    Ok(Json(DeletedTurns { turns }))
}

/// Follow the turns of a conversation from now on. The events are for display only: a slow client
/// misses some.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/sessions/{session}/stream", tag = "sessions",
    params(("session" = String, Path, example = "terminal:local:me", description = "The session")),
    responses(
        (status = 200, description = "Server-sent events; each is a turn event in JSON", body = String, content_type = "text/event-stream"),
        Problem,
    ),
))]
pub(crate) async fn stream(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(session): PathPart<String>,
) -> Result<Response, Problem> {
    let place = state.long_request()?;
    let events = state.follow(&caller, &session).await?;
    Ok(sse::stream_events(state, events, place))
}
