//! The files of a request: their bytes come with it, from an earlier upload, or from an address.

use avocet_gateway::PublishedFile;
use avocet_protocol::chat::AttachmentKind;
use bytes::Bytes;

use super::error::OpenAiError;
use super::files::find_file;
use crate::caller::HttpCaller;
use crate::deliveries::ChatFiles;
use crate::download::plain_file_name;
use crate::problem::Problem;
use crate::state::HttpState;

/// The most bytes of all files of a request.
const MAX_FILES_BYTES: u64 = 64 * 1024 * 1024;

/// The most files of a request that are fetched from addresses.
const MAX_ADDRESSES: usize = 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestFile {
    pub(crate) source: FileSource,
    pub(crate) kind: AttachmentKind,
    pub(crate) name: Option<String>,
    pub(crate) media_type: Option<String>,
    /// The parameter with the file.
    pub(crate) param: String,
}

/// The place of a file's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileSource {
    Bytes(Bytes),
    /// The id of an upload.
    Uploaded(String),
    /// An address on the web.
    Address(String),
}

/// Reads the files of a request. Returns their descriptions, and their bytes by their references.
///
/// # Errors
/// A file does not exist or cannot be fetched, or all files together are too large.
pub(crate) async fn load_files(
    state: &HttpState,
    caller: &HttpCaller,
    files: Vec<RequestFile>,
) -> Result<(Vec<PublishedFile>, ChatFiles), OpenAiError> {
    let is_address = |file: &&RequestFile| matches!(file.source, FileSource::Address(_));
    if let Some(file) = files.iter().filter(is_address).nth(MAX_ADDRESSES) {
        let reason = format!("at most {MAX_ADDRESSES} files of a request can be at addresses");
        return Err(OpenAiError::invalid(&file.param, reason));
    }
    let (mut published, mut kept) = (Vec::new(), ChatFiles::new());
    let mut total: u64 = 0;
    for file in files {
        let (file, bytes) = load_file(state, caller, file, MAX_FILES_BYTES - total).await?;
        total += bytes.len() as u64;
        kept.insert(file.reference.clone(), bytes);
        published.push(file);
    }
    Ok((published, kept))
}

async fn load_file(
    state: &HttpState,
    caller: &HttpCaller,
    file: RequestFile,
    room: u64,
) -> Result<(PublishedFile, Bytes), OpenAiError> {
    let RequestFile { source, mut kind, mut name, mut media_type, param } = file;
    let check_size = |bytes: u64| {
        let detail = format!(
            "`{param}`: the files of the request are longer than {MAX_FILES_BYTES} bytes together"
        );
        if bytes <= room { Ok(()) } else { Err(OpenAiError::from(Problem::too_large(detail))) }
    };
    let bytes = match source {
        FileSource::Bytes(bytes) => {
            check_size(bytes.len() as u64)?;
            bytes
        }
        FileSource::Uploaded(id) => {
            let found = find_file(state, caller, &id, &param).await?;
            check_size(found.bytes)?;
            let read = state.parts.program_files.read_file(&found).await;
            name = name.or(Some(found.name));
            media_type = media_type.or(found.media_type);
            let failed = |error| Problem::unavailable(format!("`{param}`: {id}: {error}"));
            read.map_err(failed)?.into()
        }
        FileSource::Address(url) => {
            let limit = room.min(state.parts.program_files.max_bytes());
            let fetched = state.parts.addresses.fetch_address(&url, limit).await;
            let fetched = fetched.map_err(|error| {
                OpenAiError::invalid(&param, format!("cannot fetch {url}: {error}"))
            })?;
            name = name.or_else(|| Some(plain_file_name(&fetched.name)));
            media_type = media_type.or(fetched.media_type);
            fetched.bytes.into()
        }
    };
    if media_type.as_ref().is_some_and(|media| media.starts_with("image/")) {
        kind = AttachmentKind::Image;
    }
    let reference = uuid::Uuid::new_v4().simple().to_string();
    let length = Some(bytes.len() as u64);
    Ok((PublishedFile { reference, kind, name, media_type, bytes: length }, bytes))
}
