//! Files: uploads for messages of the web console, and the files of messages and replies.

use std::sync::Arc;

use avocet_gateway::{Ask, ShowSession, check_rights};
use avocet_protocol::channel::{UploadSink, UploadedFile};
use avocet_protocol::chat::{Attachment, AttachmentSource, MAX_SENT_FILE_BYTES, SessionId};
use avocet_protocol::ids::{IdError, MessageId, TurnId};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::body_pieces::BodyPieces;
use crate::caller::HttpCaller;
use crate::download::{BYTES, MOST_NAME, answer_download, plain_file_name};
use crate::form::is_form;
use crate::input::{PathPart, QueryPart};
use crate::openai::files as uploaded;
use crate::problem::Problem;
use crate::state::HttpState;

/// The chat whose senders may upload.
const CHAT: &str = "web:console:main";

/// The name of an upload.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub(crate) struct UploadQuery {
    /// The name of the file for people. Default: `file`.
    #[cfg_attr(test, param(value_type = Option<String>, example = "report.pdf"))]
    name: String,
}

/// A stored upload. Messages in chats of the web console refer to it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct StoredFile {
    /// Its name for messages.
    reference: String,
    /// Its name for people.
    name: String,
    /// Its media type (RFC 6838).
    media_type: String,
    /// Its size in bytes.
    bytes: u64,
}

/// Store a file. The bytes alone are for a message in a chat of the web console, and are removed after
/// a week without use. A form is a file of OpenAI's API, for later requests of the same token.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/files", tag = "web console", params(UploadQuery),
    request_body(content((Option<String> = "application/octet-stream"), (Option<uploaded::FileForm> = "multipart/form-data")), description = "The bytes of the file, at most [attachments] max_megabytes, or a form with the file. Without a body, the file is empty"),
    responses(
        (status = 200, description = "The file of the form is stored", body = uploaded::FileObject),
        (status = 201, description = "The file is stored", body = StoredFile),
        (status = 413, description = "The file is too large", body = Problem, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = Problem, content_type = "application/problem+json"),
        Problem,
    ),
))]
pub(crate) async fn upload(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    QueryPart(UploadQuery { name }): QueryPart<UploadQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    if is_form(&headers) {
        let stored = uploaded::store_form(&state, &caller, &headers, body).await;
        return stored.map(|file| Json(file).into_response()).map_err(Problem::for_all_clients);
    }
    let chat = SessionId::parse(CHAT).map_err(|error| Problem::unavailable(error.to_string()))?;
    check_rights::<Ask>(&state.parts, &caller.0, &Ask::new(chat, String::new())).await?;
    let _place = state.long_request()?;
    let UploadedFile { reference, bytes } = store(&state, body).await?;
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = media_type.filter(|media| media.len() <= MOST_NAME).unwrap_or(BYTES);
    let (name, media_type) = (plain_file_name(&name), media_type.to_owned());
    Ok((StatusCode::CREATED, Json(StoredFile { reference, name, media_type, bytes }))
        .into_response())
}

/// Writes a body into a new upload.
async fn store(state: &HttpState, body: Body) -> Result<UploadedFile, Problem> {
    let mut upload = state.parts.uploads.begin().await?;
    let mut pieces = BodyPieces::new(body, state.parts.clock.clone());
    while let Some(piece) = pieces.next_piece().await? {
        if let Err(error) = upload.write(&piece).await {
            pieces.drop_rest().await;
            return Err(error.into());
        }
    }
    Ok(UploadSink::finish(upload).await?)
}

/// Read a file of a reply, as the workspace has it now.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/sessions/{session}/files/{turn}/{index}", tag = "sessions",
    params(
        ("session" = String, Path, description = "The session"),
        ("turn" = String, Path, description = "The number of the turn, such as `t12`"),
        ("index" = usize, Path, description = "The place among the files that the turn has sent, from 0"),
    ),
    responses(
        (status = 200, description = "The bytes of the file", body = String, content_type = "application/octet-stream"),
        Problem,
    ),
))]
pub(crate) async fn of_reply(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart((session, turn, index)): PathPart<(String, String, usize)>,
) -> Result<Response, Problem> {
    let turn = turn.parse::<TurnId>().map_err(|error| malformed(&error))?;
    let session = readable_session(&state, &caller, &session).await?;
    let _place = state.long_request()?;
    let sent = state.parts.query.sent_files(&session, turn).await;
    let sent = sent.map_err(|error| Problem::unavailable(error.to_string()))?;
    let missing = || Problem::not_found(format!("{turn} of {session} has sent no file {index}"));
    let file = sent.get(index).ok_or_else(missing)?;
    answer_file(&state, Some(turn), file).await?.ok_or_else(missing)
}

/// Read a file of a message, as the workspace has it now.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/sessions/{session}/received/{message}/{index}", tag = "sessions",
    params(
        ("session" = String, Path, description = "The session"),
        ("message" = String, Path, description = "The message, such as `m12`"),
        ("index" = usize, Path, description = "The place among the files of the message, from 0"),
    ),
    responses(
        (status = 200, description = "The bytes of the file", body = String, content_type = "application/octet-stream"),
        Problem,
    ),
))]
pub(crate) async fn of_message(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart((session, message, index)): PathPart<(String, String, usize)>,
) -> Result<Response, Problem> {
    let message = message.parse::<MessageId>().map_err(|error| malformed(&error))?;
    let session = readable_session(&state, &caller, &session).await?;
    let _place = state.long_request()?;
    let received = state.parts.query.received_files(&session, message).await;
    let (turn, files) = received.map_err(|error| Problem::unavailable(error.to_string()))?;
    let missing = || Problem::not_found(format!("{message} of {session} has no file {index} here"));
    let file = files.get(index).ok_or_else(missing)?;
    answer_file(&state, turn, file).await?.ok_or_else(missing)
}

fn malformed(error: &IdError) -> Problem {
    Problem::bad_request(error.to_string())
}

/// Reads the name of a session, whose turns the caller may read.
async fn readable_session(
    state: &HttpState,
    caller: &HttpCaller,
    session: &str,
) -> Result<SessionId, Problem> {
    let session = SessionId::parse(session).map_err(|error| malformed(&error))?;
    let show = ShowSession::new(session);
    check_rights::<ShowSession>(&state.parts, &caller.0, &show).await?;
    Ok(show.session)
}

/// Returns a file as a download; `None` if the workspace has never had it.
async fn answer_file(
    state: &HttpState,
    turn: Option<TurnId>,
    file: &Attachment,
) -> Result<Option<Response>, Problem> {
    let AttachmentSource::Workspace(path) = &file.source else { return Ok(None) };
    let unreadable = |error: avocet_protocol::tool::FilesError| {
        Problem::not_found(format!("the file cannot be read any more: {error}"))
    };
    let workspace = state.parts.workspaces.find_workspace(turn).await.map_err(unreadable)?;
    let bytes = workspace.read(path, MAX_SENT_FILE_BYTES).await.map_err(unreadable)?;
    let name = file.name.as_deref().unwrap_or(path);
    Ok(Some(answer_download(name, file.media_type.as_deref(), bytes)))
}
