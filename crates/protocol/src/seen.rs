//! What a model has read and done in a conversation, for judging what its next call or answer gives away.

use crate::{CallId, CallResult, ToolCall, Trust};

/// What a model has read and done in a conversation. What it wrote itself is left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// The own words of people who may speak, without what they forward or quote.
    pub people: Vec<String>,
    /// All other text: untrusted results, and messages with everything that they pass on.
    pub texts: Vec<String>,
    /// The calls of the conversation, in order, those of the open step included.
    pub calls: Vec<SeenCall>,
}

/// A call that a model has made.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenCall {
    /// Which call.
    pub id: CallId,
    /// What the model wrote.
    pub call: ToolCall,
    /// The least trust of the request in which the model made it.
    pub trust: Trust,
    /// Whether a person has allowed it.
    pub is_allowed: bool,
    /// Its result, if it succeeded.
    pub result: Option<CallResult>,
}

impl Seen {
    /// Whether this address stood in one of the texts, word for word, and did not go on there. It carries
    /// nothing away that the author of the text did not know.
    #[must_use]
    pub fn has(&self, address: &str) -> bool {
        let goes_on = |c: char| c.is_alphanumeric() || "-._~/?#@!$&*+;=%".contains(c);
        let ends = |rest: &str| {
            // A full stop or the like belongs to the sentence.
            let rest = rest.trim_start_matches(['.', ';', '!', '?']);
            !rest.starts_with(goes_on)
        };
        self.stands(address, |_, rest| ends(rest))
    }

    /// Whether this host stood in one of the texts, alone or in an address.
    #[must_use]
    pub fn mentions(&self, host: &str) -> bool {
        let is_of_name = |c: char| c.is_alphanumeric() || c == '-';
        self.stands(host, |before, rest| {
            let goes_on = rest.strip_prefix('.').unwrap_or(rest).starts_with(is_of_name);
            !before.ends_with(|c| is_of_name(c) || c == '.') && !goes_on
        })
    }

    /// Whether a word stands in one of the texts where this holds of what is before and behind it.
    fn stands(&self, word: &str, holds: impl Fn(&str, &str) -> bool) -> bool {
        let stands_in = |text: &String| {
            let mut found = text.match_indices(word);
            found.any(|(at, found)| holds(&text[..at], &text[at + found.len()..]))
        };
        !word.is_empty() && self.people.iter().chain(&self.texts).any(stands_in)
    }
}

/// Texts that others than people who may speak have written.
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
    fn has_finds_an_address_that_stood_there_whole() {
        for address in ["https://a.example/x?y=1", "https://b.example/z", "https://c.example/"] {
            assert!(seen().has(address), "{address}");
        }
        for address in
            ["https://a.example/x?y=", "https://a.example/", "https://b.example", "htt", ""]
        {
            assert!(!seen().has(address), "{address}");
        }
        let people = vec!["https://a.example/".to_owned()];
        assert!(Seen { people, ..seen() }.has("https://a.example/"));
    }

    #[test]
    fn mentions_finds_a_host_that_stood_there_whole() {
        for host in ["a.example", "b.example", "c.example", "www.d.example"] {
            assert!(seen().mentions(host), "{host}");
        }
        for host in ["d.example", "a.exam", "x.a.example", "example", ""] {
            assert!(!seen().mentions(host), "{host}");
        }
    }
}
