//! Attachments of a message, kept by reference after a check that each can be read and sent.

use avocet_protocol::chat::{
    Attachment, AttachmentKind, AttachmentSource, ChatAddress, MAX_SENT_FILE_BYTES,
};
use avocet_protocol::tool::ToolError;
use avocet_sandbox::WorkspaceRoots;

use super::files::tool_error;

/// Image types that platforms display, by file extension.
const PICTURES: [(&str, &str); 4] =
    [("jpeg", "image/jpeg"), ("jpg", "image/jpeg"), ("png", "image/png"), ("webp", "image/webp")];

/// The chat that receives the files, and the largest file that it accepts.
pub(super) struct FileRecipient {
    pub(super) address: ChatAddress,
    /// The platform's limit in bytes. `None` if only our own limit applies.
    pub(super) max_file_bytes: Option<u64>,
}

/// Checks every file before the call finishes, so that the model gets an error for a file that the
/// platform would refuse.
pub(super) fn check_attachments(
    roots: &WorkspaceRoots,
    paths: &[String],
    to: &FileRecipient,
) -> Result<Vec<Attachment>, ToolError> {
    paths.iter().map(|path| check_attachment(roots, path, to)).collect()
}

fn check_attachment(
    roots: &WorkspaceRoots,
    given: &str,
    to: &FileRecipient,
) -> Result<Attachment, ToolError> {
    let workspace = roots.root_of(given).map_err(tool_error)?;
    let path = workspace.resolve_path(given).map_err(tool_error)?;
    let unfit = |why: String| Err(ToolError::ExecutionFailed(format!("{} {why}", path.as_given())));
    // Our own limit bounds the memory of a send, whatever the platform allows.
    let limit = to.max_file_bytes.map_or(MAX_SENT_FILE_BYTES, |max| max.min(MAX_SENT_FILE_BYTES));
    match workspace.file_size(&path).map_err(tool_error)? {
        0 => unfit("is empty, and empty files cannot be sent".to_owned()),
        bytes if bytes > limit => unfit(format!(
            "is {bytes} bytes long; files of at most {limit} bytes can be sent to {}",
            to.address
        )),
        bytes => Ok(describe_file(&path.to_string(), bytes)),
    }
}

fn describe_file(path: &str, bytes: u64) -> Attachment {
    let name = path.rsplit('/').next().unwrap_or(path);
    let end = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let picture = PICTURES.iter().find(|(known, _)| *known == end);
    let kind = picture.map_or(AttachmentKind::Document, |_| AttachmentKind::Image);
    Attachment {
        name: Some(name.to_owned()),
        media_type: picture.map(|(_, media_type)| (*media_type).to_owned()),
        bytes: Some(bytes),
        ..Attachment::new(kind, AttachmentSource::Workspace(path.to_owned()))
    }
}
