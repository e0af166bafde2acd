//! OpenAI's API "Files": files that later requests name by their ids.

use std::sync::Arc;
use std::time::Duration;

use avocet_gateway::{Ask, check_method_rights};
use avocet_protocol::bus::ProgramFile;
use avocet_protocol::channel::{UploadSink, UploadedFile};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};

use super::error::OpenAiError;
use crate::body_pieces::BodyPieces;
use crate::caller::HttpCaller;
use crate::download::{answer_download, plain_file_name};
use crate::form::{UploadField, UploadForm};
use crate::input::{PathPart, QueryPart};
use crate::problem::Problem;
use crate::state::HttpState;

/// The beginning of a file's id. The rest is its reference.
const FILE: &str = "file-";
/// The purposes of files that messages refer to.
const PURPOSES: [&str; 3] = ["user_data", "assistants", "vision"];
/// The seconds for which a file is kept: the least that a client may ask for, and the most, which is
/// also the default.
const KEPT_SECONDS: (u64, u64) = (3600, 7 * 24 * 3600);
/// The bytes that a form may have beside its file.
const FORM_BYTES: u64 = 1024 * 1024;
/// Characters of the longest media type.
const MAX_MEDIA_TYPE: usize = 200;
/// The most files of a page, and the default.
const PAGE: usize = 10_000;

/// A form with a file, as the clients of OpenAI send it.
#[cfg(test)]
#[derive(Debug, utoipa::ToSchema)]
#[expect(dead_code, reason = "only its schema is used; the form is read while it arrives")]
pub(crate) struct FileForm {
    /// The bytes, with a name.
    #[cfg_attr(test, schema(value_type = String, format = Binary))]
    file: Vec<u8>,
    /// `user_data`, `assistants` or `vision`. Default: `user_data`.
    #[cfg_attr(test, schema(example = "user_data"))]
    purpose: Option<String>,
}

/// A file of OpenAI's API.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct FileObject {
    id: String,
    object: &'static str,
    /// The size in bytes.
    bytes: u64,
    /// The time of the upload, in seconds since 1970.
    created_at: i64,
    /// The time of the removal, in seconds since 1970.
    expires_at: i64,
    filename: String,
    purpose: String,
    status: &'static str,
}

/// A page of files.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct FilePage {
    object: &'static str,
    data: Vec<FileObject>,
    first_id: Option<String>,
    last_id: Option<String>,
    /// `true` if there are files after the last one.
    has_more: bool,
}

/// A file that was deleted.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct DeletedFile {
    id: String,
    object: &'static str,
    deleted: bool,
}

/// The choice of files for a list.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub(crate) struct FileQuery {
    /// Only files with this purpose.
    purpose: Option<String>,
    /// The most files of the page, from 1 to 10,000. Default: 10,000.
    #[cfg_attr(test, param(minimum = 1, maximum = 10_000))]
    limit: Option<usize>,
    /// `desc` for the newest first, `asc` for the oldest first. Default: `desc`.
    order: Option<FileOrder>,
    /// The last file of the page before.
    after: Option<String>,
}

/// The order of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum FileOrder {
    Asc,
    Desc,
}

impl From<ProgramFile> for FileObject {
    fn from(file: ProgramFile) -> Self {
        Self {
            id: format!("{FILE}{}", file.reference),
            object: "file",
            bytes: file.bytes,
            created_at: file.created_at.0 / 1000,
            expires_at: file.expires_at.0 / 1000,
            filename: file.name,
            purpose: file.purpose,
            status: "processed",
        }
    }
}

#[derive(Debug)]
struct FormTexts {
    purpose: String,
    kept: Duration,
}

/// A file of a form whose bytes have arrived.
struct ArrivedFile {
    bytes: Box<dyn UploadSink>,
    name: String,
    media_type: Option<String>,
}

/// Stores the file of a form. A client sees its own files only.
///
/// # Errors
/// The client may not ask the agent, or the form is malformed, too large or lacks its file.
pub(crate) async fn store_form(
    state: &HttpState,
    caller: &HttpCaller,
    headers: &HeaderMap,
    body: Body,
) -> Result<FileObject, Problem> {
    check_method_rights::<Ask>(&caller.0)?;
    let _place = state.long_request()?;
    let mut pieces = BodyPieces::new(body, state.parts.clock.clone());
    let limit = state.parts.program_files.max_bytes().saturating_add(FORM_BYTES);
    let read = match UploadForm::from_pieces(headers, &mut pieces, limit) {
        Ok(form) => read_form(state, form).await,
        Err(problem) => Err(problem),
    };
    let (FormTexts { purpose, kept }, arrived) = match read {
        Ok(read) => read,
        Err(problem) => {
            pieces.drop_rest().await;
            return Err(problem);
        }
    };
    let ArrivedFile { bytes, name, media_type } = arrived;
    let UploadedFile { reference, bytes } = bytes.finish().await?;
    let created_at = state.parts.clock.now();
    let expires_at = created_at.after(kept);
    let owner = caller.0.sender.clone();
    let file =
        ProgramFile { reference, owner, name, media_type, purpose, bytes, created_at, expires_at };
    state.parts.program_files.describe_file(&file).await?;
    Ok(file.into())
}

async fn read_form(
    state: &HttpState,
    mut form: UploadForm<'_>,
) -> Result<(FormTexts, ArrivedFile), Problem> {
    let mut texts =
        FormTexts { purpose: PURPOSES[0].to_owned(), kept: Duration::from_secs(KEPT_SECONDS.1) };
    let mut arrived = None;
    while let Some(field) = form.next_field().await? {
        match field.name.as_str() {
            "file" if arrived.is_none() => arrived = Some(store_file(state, field).await?),
            "file" => return Err(Problem::bad_request("the form has more than one `file`")),
            "purpose" => texts.purpose = read_purpose(field.read_text().await?)?,
            "expires_after[anchor]" => {
                let anchor = field.read_text().await?;
                if anchor != "created_at" {
                    return Err(Problem::bad_request(format!(
                        "`expires_after[anchor]` is {anchor:?}; it can be `created_at` only"
                    )));
                }
            }
            "expires_after[seconds]" => texts.kept = read_seconds(&field.read_text().await?)?,
            name => {
                return Err(Problem::bad_request(format!(
                    "there is no parameter `{name}` in a form with a file; leave it out"
                )));
            }
        }
    }
    let arrived = arrived.ok_or_else(|| {
        Problem::bad_request("the form has no part with the name `file`, which has the bytes")
    })?;
    Ok((texts, arrived))
}

async fn store_file(state: &HttpState, mut field: UploadField<'_>) -> Result<ArrivedFile, Problem> {
    let mut bytes = state.parts.program_files.begin_file().await?;
    while let Some(piece) = field.next_piece().await? {
        bytes.write(&piece).await?;
    }
    let name = plain_file_name(field.file_name.as_deref().unwrap_or_default());
    let media_type = field.media_type.take();
    let media_type = media_type.map(|media| media.trim().to_owned());
    let media_type = media_type.filter(|media| !media.is_empty() && media.len() <= MAX_MEDIA_TYPE);
    Ok(ArrivedFile { bytes, name, media_type })
}

fn read_purpose(purpose: String) -> Result<String, Problem> {
    if PURPOSES.contains(&purpose.as_str()) {
        return Ok(purpose);
    }
    Err(Problem::bad_request(format!(
        "`purpose` is {purpose:?}; supported are {}",
        PURPOSES.join(", ")
    )))
}

fn read_seconds(text: &str) -> Result<Duration, Problem> {
    let (least, most) = KEPT_SECONDS;
    let seconds = text.trim().parse().ok().filter(|seconds| (least..=most).contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| {
        Problem::bad_request(format!(
            "`expires_after[seconds]` is {text:?}; it can be a number from {least} to {most}"
        ))
    })
}

/// Returns a file of the caller by its id. `param` is the parameter with the id.
///
/// # Errors
/// The caller has no such file, or it cannot be read.
pub(crate) async fn find_file(
    state: &HttpState,
    caller: &HttpCaller,
    id: &str,
    param: &str,
) -> Result<ProgramFile, OpenAiError> {
    check_method_rights::<Ask>(&caller.0).map_err(Problem::from)?;
    let found = match id.strip_prefix(FILE) {
        Some(reference) => {
            let files = &state.parts.program_files;
            files.find_file(&caller.0.sender, reference).await.map_err(Problem::from)?
        }
        None => None,
    };
    found.ok_or_else(|| {
        let detail = format!(
            "`{param}`: there is no file {id:?}; a file is seen by the token that has uploaded it, \
             and ends at its `expires_at`"
        );
        Problem::not_found(detail).into()
    })
}

/// List the files of this token.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/files", tag = "openai", params(FileQuery),
    responses((status = 200, description = "A page of files", body = FilePage), OpenAiError),
))]
pub(crate) async fn list_files(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    query: Result<QueryPart<FileQuery>, Problem>,
) -> Result<Json<FilePage>, OpenAiError> {
    let QueryPart(query) = query?;
    check_method_rights::<Ask>(&caller.0).map_err(Problem::from)?;
    let files = state.parts.program_files.list_files(&caller.0.sender).await;
    Ok(Json(page(files.map_err(Problem::from)?, &query)?))
}

/// Returns the files that a query chooses from all of a client, which come with the newest first.
fn page(mut files: Vec<ProgramFile>, query: &FileQuery) -> Result<FilePage, OpenAiError> {
    let limit = query.limit.unwrap_or(PAGE);
    if !(1..=PAGE).contains(&limit) {
        return Err(OpenAiError::invalid("limit", format!("{limit} is not from 1 to {PAGE}")));
    }
    if query.order == Some(FileOrder::Asc) {
        files.reverse();
    }
    if let Some(after) = &query.after {
        let place = files.iter().position(|file| after.strip_prefix(FILE) == Some(&file.reference));
        let place =
            place.ok_or_else(|| OpenAiError::invalid("after", format!("there is no {after:?}")))?;
        files.drain(..=place);
    }
    files.retain(|file| query.purpose.as_ref().is_none_or(|purpose| file.purpose == *purpose));
    let has_more = files.len() > limit;
    files.truncate(limit);
    let data: Vec<FileObject> = files.into_iter().map(FileObject::from).collect();
    let id = |file: Option<&FileObject>| file.map(|file| file.id.clone());
    let (first_id, last_id) = (id(data.first()), id(data.last()));
    Ok(FilePage { object: "list", data, first_id, last_id, has_more })
}

/// Show a file.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/files/{id}", tag = "openai",
    params(("id" = String, Path, description = "The id, such as `file-0123456789abcdef0123456789abcdef`")),
    responses((status = 200, description = "The file", body = FileObject), OpenAiError),
))]
pub(crate) async fn show_file(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
) -> Result<Json<FileObject>, OpenAiError> {
    Ok(Json(find_file(&state, &caller, &id, "id").await?.into()))
}

/// Read the bytes of a file.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/files/{id}/content", tag = "openai",
    params(("id" = String, Path, description = "The id")),
    responses(
        (status = 200, description = "The bytes of the file", body = String, content_type = "application/octet-stream"),
        OpenAiError,
    ),
))]
pub(crate) async fn read_content(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
) -> Result<Response, OpenAiError> {
    let file = find_file(&state, &caller, &id, "id").await?;
    let _place = state.long_request()?;
    let bytes = state.parts.program_files.read_file(&file).await;
    let bytes = bytes.map_err(|error| Problem::unavailable(error.to_string()))?;
    Ok(answer_download(&file.name, file.media_type.as_deref(), bytes))
}

/// Delete a file. Messages that refer to it keep their own copies.
#[cfg_attr(test, utoipa::path(
    delete, path = "/v1/files/{id}", tag = "openai",
    params(("id" = String, Path, description = "The id")),
    responses((status = 200, description = "The file is deleted", body = DeletedFile), OpenAiError),
))]
pub(crate) async fn remove_file(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
) -> Result<Json<DeletedFile>, OpenAiError> {
    let file = find_file(&state, &caller, &id, "id").await?;
    state.parts.program_files.remove_file(&file).await.map_err(Problem::from)?;
    Ok(Json(DeletedFile { id, object: "file", deleted: true }))
}

#[cfg(test)]
mod tests {
    use avocet_protocol::clock::Timestamp;

    use super::*;

    fn file(number: i64, purpose: &str) -> ProgramFile {
        ProgramFile {
            reference: number.to_string(),
            owner: "http:phone".parse().unwrap(),
            name: "a".to_owned(),
            media_type: None,
            purpose: purpose.to_owned(),
            bytes: 1,
            created_at: Timestamp(number),
            expires_at: Timestamp(number + 1),
        }
    }

    #[test]
    fn page_follows_the_query() {
        let query = FileQuery::default;
        let table = [
            (query(), vec!["file-3", "file-2", "file-1"], false),
            (FileQuery { limit: Some(2), ..query() }, vec!["file-3", "file-2"], true),
            (FileQuery { after: Some("file-2".to_owned()), ..query() }, vec!["file-1"], false),
            (
                FileQuery { order: Some(FileOrder::Asc), limit: Some(1), ..query() },
                vec!["file-1"],
                true,
            ),
            (FileQuery { purpose: Some("vision".to_owned()), ..query() }, vec!["file-2"], false),
            (FileQuery { purpose: Some("batch".to_owned()), ..query() }, vec![], false),
        ];
        for (query, expected, has_more) in table {
            let files = vec![file(3, "user_data"), file(2, "vision"), file(1, "user_data")];
            let page = page(files, &query).unwrap();
            let ids: Vec<&str> = page.data.iter().map(|file| file.id.as_str()).collect();
            assert_eq!((ids, page.has_more), (expected, has_more), "{query:?}");
            assert_eq!(page.last_id, page.data.last().map(|file| file.id.clone()));
        }
        for query in [
            FileQuery { limit: Some(0), ..query() },
            FileQuery { after: Some("file-9".to_owned()), ..query() },
        ] {
            assert!(page(vec![file(1, "vision")], &query).is_err(), "{query:?}");
        }
    }
}
