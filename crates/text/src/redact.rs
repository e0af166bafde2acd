//! Removes secrets from text before it is written: configured secrets in any encoding, and text
//! with the shape of a well-known key.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
use parking_lot::RwLock;
use serde_json::Value;

use crate::Secret;
use crate::hexadecimal::in_hexadecimal;
use crate::key_shapes::shapes_in;
use crate::views::{is_blank, views};

/// The text that replaces a secret.
pub const REDACTED: &str = "[secret]";

/// Size in bytes of the part of a text that is searched at once.
const WINDOW: usize = 64 * 1024;
/// Bytes of the next window that are searched too: longer than any secret in any encoding.
const OVERLAP: usize = 32 * 1024;

/// Finds secrets in texts, in linear time. Clones share the secrets.
#[derive(Clone, Default)]
pub struct Redactor {
    known: Arc<RwLock<Arc<KnownSecrets>>>,
}

/// The secrets of a redactor.
#[derive(Default)]
struct KnownSecrets {
    secrets: Vec<Secret>,
    /// Every form of every secret; `None` without secrets, or if the automaton is too large.
    forms: Option<AhoCorasick>,
    /// For each form, the index of its secret.
    owners: Vec<usize>,
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its position in bytes.
    pub range: Range<usize>,
    /// The kind of secret.
    pub what: FoundSecret,
}

/// The kind of a secret that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundSecret {
    /// A configured secret, by its index in the redactor.
    Configured(usize),
    /// Text with the shape of this kind of key.
    Key(&'static str),
}

impl Redactor {
    /// The least length of a secret in characters. Shorter secrets occur in ordinary words.
    pub const SHORTEST: usize = 8;

    /// Makes a redactor for these secrets, and for each word in them that is long enough. Shorter
    /// secrets are left out.
    #[must_use]
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        Self { known: Arc::new(RwLock::new(Arc::new(KnownSecrets::from_secrets(secrets)))) }
    }

    /// Adds secrets to those that are known, such as the new ones of a changed configuration.
    pub fn add_secrets(&self, secrets: impl IntoIterator<Item = Secret>) {
        let mut known = self.known.write();
        let is_new = |secret: &Secret| {
            let new = secret.expose().as_bytes();
            !known.secrets.iter().any(|old| old.equals(new))
        };
        let new: Vec<Secret> = secrets.into_iter().filter(is_new).collect();
        *known = Arc::new(KnownSecrets::from_secrets(known.secrets.iter().cloned().chain(new)));
    }

    fn known_secrets(&self) -> Arc<KnownSecrets> {
        self.known.read().clone()
    }

    /// Returns the text without secrets.
    #[must_use]
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut ranges: Vec<_> = self.find(text).into_iter().map(|found| found.range).collect();
        if ranges.is_empty() {
            return Cow::Borrowed(text);
        }
        ranges.sort_by_key(|range| range.start);
        let (mut clean, mut end) = (String::with_capacity(text.len()), 0);
        for range in ranges {
            let (from, to) =
                (text.floor_char_boundary(range.start), text.ceil_char_boundary(range.end));
            if from >= end {
                clean.push_str(&text[end..from]);
                clean.push_str(REDACTED);
            }
            end = end.max(to);
        }
        clean.push_str(&text[end..]);
        Cow::Owned(clean)
    }

    /// Removes the secrets from every text in a JSON value, including the names of members.
    pub fn redact_json(&self, value: &mut Value) {
        let clean = |text: &mut String| {
            if let Cow::Owned(clean) = self.redact(text) {
                *text = clean;
            }
        };
        match value {
            Value::String(text) => clean(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.redact_json(value)),
            Value::Object(object) => {
                let members = std::mem::take(object).into_iter().map(|(mut name, mut value)| {
                    clean(&mut name);
                    self.redact_json(&mut value);
                    (name, value)
                });
                *object = members.collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns the beginning of a text in one line, without secrets, at most `limit` characters
    /// long.
    #[must_use]
    pub fn summary(&self, text: &str, limit: usize) -> String {
        const READ: usize = 64 * 1024;
        let read = &text[..text.floor_char_boundary(READ)];
        let clean = self.redact(read);
        let line: String = clean.split_whitespace().collect::<Vec<_>>().join(" ");
        // The read part may end within a secret, which is not found then.
        let whole = read.len() == text.len();
        match line.chars().count() {
            count if count <= limit && whole => line,
            count if count <= limit => "…".to_owned(),
            _ => line.chars().take(limit.saturating_sub(1)).chain(['…']).collect(),
        }
    }

    /// Finds every secret in a text, possibly several times. The text is read in windows, because
    /// its decoded views take about a hundred times its size in memory.
    #[must_use]
    pub fn find(&self, text: &str) -> Vec<Found> {
        let known = self.known_secrets();
        let (mut found, mut start) = (Vec::new(), 0);
        loop {
            let end = text.ceil_char_boundary(start + WINDOW + OVERLAP);
            let here = known.find_in(&text[start..end]).into_iter();
            found.extend(here.map(|one| {
                let range = one.range.start + start..one.range.end + start;
                Found { range, ..one }
            }));
            if end == text.len() {
                return found;
            }
            start = text.floor_char_boundary(start + WINDOW);
        }
    }

    /// Returns the secret with this index; `None` for an unknown index.
    #[must_use]
    pub fn secret(&self, number: usize) -> Option<Secret> {
        self.known_secrets().secrets.get(number).cloned()
    }
}

impl KnownSecrets {
    fn from_secrets(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let long = |text: &str| text.chars().count() >= Redactor::SHORTEST;
        let secrets: Vec<Secret> =
            secrets.into_iter().filter(|secret| long(secret.expose().trim())).collect();
        let (mut patterns, mut owners) = (Vec::new(), Vec::new());
        for (number, secret) in secrets.iter().enumerate() {
            let whole = secret.expose().trim();
            let words = whole.split_whitespace().filter(|word| long(word) && *word != whole);
            for form in std::iter::once(whole).chain(words).flat_map(forms) {
                patterns.push(form);
                owners.push(number);
            }
        }
        // Building fails only if there are more states than a `u32` can count. The shapes of keys
        // are still found then.
        let forms = (!patterns.is_empty()).then(|| AhoCorasick::new(patterns).ok()).flatten();
        Self { secrets, forms, owners }
    }

    fn find_in(&self, text: &str) -> Vec<Found> {
        let mut found = Vec::new();
        for view in views(text) {
            let configured = self.forms.iter().flat_map(|forms| {
                let owner = |at: usize| FoundSecret::Configured(self.owners[at]);
                let hits = forms.find_overlapping_iter(&*view.bytes);
                hits.map(move |hit| (owner(hit.pattern().as_usize()), hit.range()))
            });
            let keys = shapes_in(&view.bytes).map(|(name, range)| (FoundSecret::Key(name), range));
            found.extend(
                configured
                    .chain(keys)
                    .map(|(what, range)| Found { what, range: view.origin(range) }),
            );
        }
        found
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor")
            .field("secrets", &self.known_secrets().secrets.len())
            .finish_non_exhaustive()
    }
}

/// Returns the forms in which a secret may be written: unchanged, backwards, in hexadecimal digits,
/// in base64 with any text before and after it. Escapes and percent encoding are decoded in the
/// text instead.
fn forms(secret: &str) -> Vec<Vec<u8>> {
    let backwards: String = secret.chars().rev().collect();
    let mut forms = vec![secret.as_bytes().to_vec(), backwards.into_bytes()];
    if secret.contains(is_blank) {
        forms.push(secret.replace(is_blank, "").into_bytes());
    }
    let digits = in_hexadecimal(secret.as_bytes());
    forms.push(digits.to_ascii_uppercase().into_bytes());
    forms.push(digits.into_bytes());
    for engine in [&BASE64_STANDARD_NO_PAD, &BASE64_URL_SAFE_NO_PAD] {
        forms.extend((0..3).map(|before| in_base64(secret.as_bytes(), before, engine)));
    }
    forms.sort();
    forms.dedup();
    forms
}

/// Returns the base64 characters that depend only on the secret, if `before` bytes (modulo 3)
/// precede it.
fn in_base64(secret: &[u8], before: usize, engine: &impl Engine) -> Vec<u8> {
    let text = engine.encode([&[0, 0][..before], secret].concat());
    let from = (before * 8).div_ceil(6);
    let to = (before + secret.len()) * 8 / 6;
    text.as_bytes()[from..to].to_vec()
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
