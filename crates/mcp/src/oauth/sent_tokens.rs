//! The tokens that were sent to a server, which may repeat them in its texts.

use std::collections::VecDeque;

use avocet_text::Secret;
use parking_lot::Mutex;

/// The most tokens that are kept.
const MOST: usize = 4;
/// Bytes of the shortest token that is removed. A shorter one may be a word of the text.
const SHORTEST: usize = 8;

/// The last tokens that were sent.
#[derive(Debug, Default)]
pub(crate) struct SentTokens(Mutex<VecDeque<Secret>>);

impl SentTokens {
    pub(crate) fn keep_token(&self, token: &Secret) {
        let mut list = self.0.lock();
        if !list.iter().any(|one| one.equals(token.expose().as_bytes())) {
            list.push_front(token.clone());
            list.truncate(MOST);
        }
    }

    /// Removes the tokens from a text of the server.
    pub(crate) fn redact_tokens(&self, text: String) -> String {
        let list = self.0.lock();
        let secrets = list.iter().map(Secret::expose).filter(|one| one.len() >= SHORTEST);
        secrets.fold(
            text,
            |text, one| {
                if text.contains(one) { text.replace(one, "[secret]") } else { text }
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redacted_removes_the_last_tokens_and_keeps_short_words() {
        let sent = SentTokens::default();
        for token in ["token-zero", "token-one", "token-two", "token-two", "token-three", "short"] {
            sent.keep_token(&Secret::new(token.to_owned()));
        }
        let text =
            sent.redact_tokens("token-zero token-one token-two token-three short".to_owned());
        assert_eq!(text, "token-zero [secret] [secret] [secret] short");
    }
}
