//! The polite reply to a message of an unsupported kind. Without it the sender would wait in vain.

use avocet_protocol::Content;

/// Creates the reply. `kind` includes the article: `a story`.
#[must_use]
pub fn unreadable(kind: &str) -> Content {
    Content::text(format!(
        "I cannot read this kind of message: {kind}. Send me a text, a photo, a voice message or a \
         file."
    ))
}
