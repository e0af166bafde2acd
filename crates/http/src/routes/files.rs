//! Files: uploads for messages of the web console, and the files of replies.

use std::sync::Arc;

use avocet_gateway::{Ask, ShowSession, check_rights};
use avocet_protocol::{
    AttachmentSource, MAX_SENT_FILE_BYTES, SessionId, TurnId, UploadSink, UploadedFile,
};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};

use crate::body_pieces::BodyPieces;
use crate::caller::HttpCaller;
use crate::form::is_form;
use crate::input::{PathPart, QueryPart};
use crate::openai::files::{FileForm, FileObject, store_form};
use crate::problem::Problem;
use crate::state::HttpState;

/// The chat whose senders may upload.
const CHAT: &str = "web:console:main";
/// Characters of the longest name.
const MOST_NAME: usize = 200;
/// The media type of a file of an unknown or unsafe kind.
pub(crate) const BYTES: &str = "application/octet-stream";

/// The name of an upload.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct UploadQuery {
    /// The name of the file for people. Default: `file`.
    #[param(value_type = Option<String>, example = "report.pdf")]
    name: String,
}

/// A stored upload. Messages in chats of the web console refer to it.
#[derive(Debug, Serialize, ToSchema)]
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
#[utoipa::path(
    post, path = "/v1/files", tag = "web console", params(UploadQuery),
    request_body(content((Option<String> = "application/octet-stream"), (Option<FileForm> = "multipart/form-data")), description = "The bytes of the file, at most [attachments] max_megabytes, or a form with the file. Without a body, the file is empty"),
    responses(
        (status = 200, description = "The file of the form is stored", body = FileObject),
        (status = 201, description = "The file is stored", body = StoredFile),
        (status = 413, description = "The file is too large", body = Problem, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = Problem, content_type = "application/problem+json"),
        Problem,
    ),
)]
pub(crate) async fn upload(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    QueryPart(UploadQuery { name }): QueryPart<UploadQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    if is_form(&headers) {
        let stored = store_form(&state, &caller, &headers, body).await;
        return stored.map(|file| Json(file).into_response()).map_err(Problem::for_all_clients);
    }
    check_rights::<Ask>(&state.parts, &caller.0, &json!({ "session": CHAT })).await?;
    let _place = state.long_request()?;
    let UploadedFile { reference, bytes } = store(&state, body).await?;
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = media_type.filter(|media| media.len() <= MOST_NAME).unwrap_or(BYTES);
    let (name, media_type) = (plain_name(&name), media_type.to_owned());
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

/// Returns the name of a file without directories and control characters.
pub(crate) fn plain_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain: String = last.chars().filter(|c| !c.is_control()).take(MOST_NAME).collect();
    match plain.trim() {
        "" | "." | ".." => "file".to_owned(),
        plain => plain.to_owned(),
    }
}

/// Read a file of a reply, as the workspace has it now.
#[utoipa::path(
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
)]
pub(crate) async fn of_reply(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart((session, turn, index)): PathPart<(String, String, usize)>,
) -> Result<Response, Problem> {
    let wrong = |error: avocet_protocol::IdError| Problem::bad_request(error.to_string());
    let session = SessionId::parse(&session).map_err(wrong)?;
    let turn: TurnId = turn.parse().map_err(wrong)?;
    let params = json!({ "session": session });
    check_rights::<ShowSession>(&state.parts, &caller.0, &params).await?;
    let _place = state.long_request()?;
    let sent = state.parts.query.sent_files(&session, turn).await;
    let sent = sent.map_err(|error| Problem::unavailable(error.to_string()))?;
    let missing = || Problem::not_found(format!("{turn} of {session} has sent no file {index}"));
    let file = sent.get(index).ok_or_else(missing)?;
    let AttachmentSource::Workspace(path) = &file.source else { return Err(missing()) };
    let unreadable = |error: avocet_protocol::FilesError| {
        Problem::not_found(format!("the file cannot be read any more: {error}"))
    };
    let workspace = state.parts.workspaces.of(Some(turn)).await.map_err(unreadable)?;
    let bytes = workspace.read(path, MAX_SENT_FILE_BYTES).await.map_err(unreadable)?;
    let name = file.name.as_deref().unwrap_or(path);
    Ok(as_download(name, file.media_type.as_deref(), bytes))
}

/// Returns the bytes as a download, which no browser runs as a page.
pub(crate) fn as_download(name: &str, media_type: Option<&str>, bytes: Vec<u8>) -> Response {
    let disposition = format!("attachment; filename*=UTF-8''{}", encoded(&plain_name(name)));
    let media_type = media_type.filter(|media| is_harmless(media));
    let headers = [
        (CONTENT_TYPE, media_type.unwrap_or(BYTES).to_owned()),
        (CONTENT_DISPOSITION, disposition),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox".to_owned()),
        (CACHE_CONTROL, "no-store".to_owned()),
    ];
    (headers, bytes).into_response()
}

/// Returns `true` for media types that cannot contain a script.
fn is_harmless(media_type: &str) -> bool {
    const SINGLE: [&str; 6] =
        ["application/pdf", "image/gif", "image/jpeg", "image/png", "image/webp", "text/plain"];
    let is_name =
        |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    SINGLE.contains(&media_type)
        || ["audio/", "video/"]
            .iter()
            .any(|kind| media_type.strip_prefix(kind).is_some_and(is_name))
}

/// Encodes a text for a parameter of a header (RFC 8187).
fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() || b"-._".contains(&byte) => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_name_has_no_directories_and_no_control_characters() {
        for (name, expected) in [
            ("report.pdf", "report.pdf"),
            ("", "file"),
            ("..", "file"),
            ("../../etc/passwd", "passwd"),
            ("C:\\a\\b.txt", "b.txt"),
            ("a\r\nSet-Cookie: b", "aSet-Cookie: b"),
            ("日本.txt", "日本.txt"),
        ] {
            assert_eq!(plain_name(name), expected);
        }
        assert_eq!(plain_name(&"ü".repeat(300)).chars().count(), MOST_NAME);
    }

    #[test]
    fn encoded_text_is_a_value_of_a_header() {
        assert_eq!(encoded("a b\"ü.txt"), "a%20b%22%C3%BC.txt");
    }

    #[test]
    fn is_harmless_refuses_media_types_with_scripts() {
        for (media_type, expected) in [
            ("image/png", true),
            ("audio/ogg", true),
            ("video/mp4", true),
            ("image/svg+xml", false),
            ("text/html", false),
            ("text/plain; charset=x", false),
            ("audio/x\r\nb", false),
        ] {
            assert_eq!(is_harmless(media_type), expected, "{media_type}");
        }
    }
}
