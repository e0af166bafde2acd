//! The polite line for what cannot be read. Whoever sent it would wait for ever otherwise.

use avocet_protocol::Content;

/// Says that a kind of message cannot be read; the kind comes with its article: `a story`.
#[must_use]
pub fn unreadable(kind: &str) -> Content {
    Content::text(format!(
        "I cannot read this kind of message: {kind}. Send me a text, a photo, a voice message or a \
         file."
    ))
}
