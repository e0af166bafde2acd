//! Converts a reply into files of the outbox.

use avocet_protocol::channel::SendError;
use avocet_protocol::chat::{Choice, Content, Delivery, LoadedFile};
use avocet_text::sanitise;

/// Characters of an attachment's name. File systems limit a name to 255 bytes.
const MAX_NAME: usize = 50;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutboxFile {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Splits a reply into its text, of any length, and its attachments: each becomes one file.
pub(crate) fn plan(reply: &Content) -> Vec<Content> {
    let text = Content { attachments: Vec::new(), ..reply.clone() };
    let attachments = reply
        .attachments
        .iter()
        .map(|attachment| Content { attachments: vec![attachment.clone()], ..Content::default() });
    let is_needed = !text.is_empty() || !text.choices.is_empty() || reply.attachments.is_empty();
    is_needed.then_some(text).into_iter().chain(attachments).collect()
}

/// Makes the file of a chunk. Its name begins with the number of the delivery, so that names sort
/// in the order of the answers. The nonce makes it the same name for every send of this chunk only.
pub(crate) fn file(delivery: &Delivery) -> Result<OutboxFile, SendError> {
    let Delivery { id, nonce, content, files, .. } = delivery;
    let stem = format!("{:010}-{nonce}", id.0);
    match (&content.attachments[..], &files[..]) {
        ([], []) => Ok(OutboxFile { name: format!("{stem}.txt"), bytes: text(content).into() }),
        ([_], [LoadedFile { name, bytes }]) => {
            Ok(OutboxFile { name: format!("{stem}-{}", plain(name)), bytes: bytes.to_vec() })
        }
        _ => Err(SendError::Refused("only one file of the workspace can be a chunk".to_owned())),
    }
}

/// Returns the Markdown of a chunk, with its choices below it. A message `1` selects the first.
fn text(content: &Content) -> String {
    let mut text = content.text.trim_end().to_owned();
    for (number, Choice { label, says }) in (1..).zip(&content.choices) {
        text.push_str(&format!("\n{number}. {label}: {says}"));
    }
    text.push('\n');
    text
}

/// Returns the name of an attachment without directories and control characters. Of a long name,
/// the end is kept, which has the extension.
fn plain(name: &str) -> String {
    let name = sanitise(name).text.replace(|c: char| c == '/' || c.is_control(), "_");
    let cut = name.chars().count().saturating_sub(MAX_NAME);
    name.chars().skip(cut).collect()
}
