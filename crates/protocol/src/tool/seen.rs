//! The text and calls that a model has seen, for judging what its next call or answer reveals.

use crate::access::Trust;
use crate::ids::CallId;
use crate::model::ToolCall;
use crate::turn::CallResult;

/// The text and calls that a model has seen in a conversation. The model's own text is left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// Text that admitted people wrote themselves, without forwarded or quoted text.
    pub people: Vec<String>,
    /// All other text, in the order in which the model read it: untrusted results, and messages with
    /// everything that they forward or quote.
    pub texts: Vec<String>,
    /// The calls of the conversation, in order, including those of the open step.
    pub calls: Vec<SeenCall>,
}

/// A call that a model has made.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenCall {
    /// Its place in the log: turn, step and ordinal.
    pub id: CallId,
    /// The call as the model wrote it.
    pub call: ToolCall,
    /// The least trust of the request in which the model made it.
    pub trust: Trust,
    /// The number of [`Seen::texts`] that the model had read when it made the call.
    pub read: usize,
    /// `true` if a person has approved it.
    pub is_allowed: bool,
    /// `true` if it never ran, because a person or a rule refused it.
    pub is_refused: bool,
    /// Its result, if it succeeded.
    pub result: Option<CallResult>,
}

impl Seen {
    /// Returns `true` if one of the texts contains exactly this address, without a continuation.
    /// Such an address reveals only facts that the author of the text knew.
    #[must_use]
    pub fn has_address(&self, address: &str) -> bool {
        self.stands(address, |_, rest| Self::ends_address(rest))
    }

    /// Returns `true` if an address can end before `rest`, because that does not continue it.
    #[must_use]
    pub fn ends_address(rest: &str) -> bool {
        let goes_on = |c: char| c.is_alphanumeric() || "-._~/?#@!$&*+;=%".contains(c);
        // A full stop or the like belongs to the sentence.
        !rest.trim_start_matches(['.', ';', '!', '?']).starts_with(goes_on)
    }

    /// Returns `true` if one of the texts contains this host, alone or in an address.
    #[must_use]
    pub fn mentions(&self, host: &str) -> bool {
        let is_of_name = |c: char| c.is_alphanumeric() || c == '-';
        self.stands(host, |before, rest| {
            let goes_on = rest.strip_prefix('.').unwrap_or(rest).starts_with(is_of_name);
            !before.ends_with(|c| is_of_name(c) || c == '.') && !goes_on
        })
    }

    /// Returns `true` if one of the texts contains `word` and `holds` accepts the text before and
    /// after it.
    fn stands(&self, word: &str, holds: impl Fn(&str, &str) -> bool) -> bool {
        let stands_in = |text: &String| {
            let mut found = text.match_indices(word);
            found.any(|(at, found)| holds(&text[..at], &text[at + found.len()..]))
        };
        !word.is_empty() && self.people.iter().chain(&self.texts).any(stands_in)
    }
}

/// Collects texts that were not written by admitted people.
impl FromIterator<String> for Seen {
    fn from_iter<I: IntoIterator<Item = String>>(texts: I) -> Self {
        Self { texts: texts.into_iter().collect(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 2] = [
        "see https://a.example/x?y=1. And (https://b.example/z), www.d.example.",
        "\"https://c.example/\"",
    ];

    fn seen() -> Seen {
        TEXTS.into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn has_finds_only_whole_addresses() {
        for address in ["https://a.example/x?y=1", "https://b.example/z", "https://c.example/"] {
            assert!(seen().has_address(address), "{address}");
        }
        for address in
            ["https://a.example/x?y=", "https://a.example/", "https://b.example", "htt", ""]
        {
            assert!(!seen().has_address(address), "{address}");
        }
        let people = vec!["https://a.example/".to_owned()];
        assert!(Seen { people, ..seen() }.has_address("https://a.example/"));
    }

    #[test]
    fn mentions_finds_only_whole_hosts() {
        for host in ["a.example", "b.example", "c.example", "www.d.example"] {
            assert!(seen().mentions(host), "{host}");
        }
        for host in ["d.example", "a.exam", "x.a.example", "example", ""] {
            assert!(!seen().mentions(host), "{host}");
        }
    }
}
