//! Files as they go with a message: by reference, and only what could be read.

use avocet_protocol::{
    Attachment, AttachmentKind, AttachmentSource, MAX_SENT_FILE_BYTES, ToolError,
};
use avocet_sandbox::Roots;

use super::files::tool_error;

/// The pictures that platforms show, by the ends of their names.
const PICTURES: [(&str, &str); 4] =
    [("jpeg", "image/jpeg"), ("jpg", "image/jpeg"), ("png", "image/png"), ("webp", "image/webp")];

/// Looks at every file, so that the model hears now what cannot be sent.
pub(super) fn attachments(roots: &Roots, paths: &[String]) -> Result<Vec<Attachment>, ToolError> {
    paths.iter().map(|path| attachment(roots, path)).collect()
}

fn attachment(roots: &Roots, given: &str) -> Result<Attachment, ToolError> {
    let workspace = roots.of(given).map_err(tool_error)?;
    let path = workspace.resolve(given).map_err(tool_error)?;
    let unfit = |why: String| Err(ToolError::ExecutionFailed(format!("{} {why}", path.as_given())));
    match workspace.size(&path).map_err(tool_error)? {
        0 => unfit("is empty, and empty files cannot be sent".to_owned()),
        bytes if bytes > MAX_SENT_FILE_BYTES => unfit(format!(
            "is {bytes} bytes long; files of at most {MAX_SENT_FILE_BYTES} bytes can be sent"
        )),
        bytes => Ok(described(&path.to_string(), bytes)),
    }
}

fn described(path: &str, bytes: u64) -> Attachment {
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
