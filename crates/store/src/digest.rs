//! Digests of messages that other processes send with their own key. A key used again with another
//! text is a mistake, which is reported to the sender. Rows keep the digest of the original text,
//! since edits change the row's content.

use avocet_protocol::chat::Content;
use avocet_protocol::ids::TopicId;
use avocet_text::in_hexadecimal;
use sha2::{Digest, Sha256};

use crate::rows::to_json;
use crate::tx::Result;

/// Returns the SHA-256 of a content and its topic, in hexadecimal digits.
pub(crate) fn content_digest(topic: Option<&TopicId>, content: &Content) -> Result<String> {
    let topic = topic.map_or("", TopicId::as_str);
    let text = format!("{topic}\0{}", to_json(content)?);
    Ok(in_hexadecimal(&Sha256::digest(text)))
}

/// Returns `true` if a key was used for another message. Rows of older versions and of platforms
/// lack a digest and count as the same message.
pub(crate) fn is_other(known: Option<&str>, sent: Option<&str>) -> bool {
    known.zip(sent).is_some_and(|(known, sent)| known != sent)
}
