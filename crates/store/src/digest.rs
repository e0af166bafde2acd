//! Digests of what other processes send with a key of their own: the same key with another text is a mistake that
//! they have to hear of. The row keeps the digest of what was sent, since edits change the row's content.

use avocet_protocol::{Content, TopicId};
use sha2::{Digest, Sha256};

use crate::rows::to_json;
use crate::tx::Result;

/// SHA-256 of a content and the topic for which it is, in hexadecimal digits.
pub(crate) fn of(topic: Option<&TopicId>, content: &Content) -> Result<String> {
    let topic = topic.map_or("", TopicId::as_str);
    let said = format!("{topic}\0{}", to_json(content)?);
    Ok(Sha256::digest(said).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether a key was used for something else. A row without a digest is that of an older version, or of a platform,
/// whose messages change: it is taken to be the same.
pub(crate) fn is_other(known: Option<&str>, sent: Option<&str>) -> bool {
    known.zip(sent).is_some_and(|(known, sent)| known != sent)
}
