//! The API keys of a provider. If one key is refused or rate-limited, it rests, and the next one is
//! used. The same key is kept as long as it works, because providers cache per account.

use std::time::Duration;

use avocet_protocol::model::ModelError;
use avocet_text::Secret;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Deserialize;

/// The rest of a key that was refused, or whose credit is used up.
const REFUSED: Duration = Duration::from_mins(10);
/// The rest of a rate-limited key if the provider states none.
const LIMITED: Duration = Duration::from_mins(1);

const EMPTY: &str = "is empty; leave it out if the provider needs no key";

/// One key, or a list of keys that are used in turn.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(from = "OneOrMore")]
#[schemars(with = "OneOrMore")]
pub struct ApiKeys(Vec<Secret>);

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum OneOrMore {
    One(Secret),
    More(Vec<Secret>),
}

impl From<OneOrMore> for ApiKeys {
    fn from(keys: OneOrMore) -> Self {
        match keys {
            OneOrMore::One(key) => Self(vec![key]),
            OneOrMore::More(keys) => Self(keys),
        }
    }
}

impl From<Secret> for ApiKeys {
    fn from(key: Secret) -> Self {
        Self(vec![key])
    }
}

impl std::fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} keys", self.0.len())
    }
}

impl ApiKeys {
    /// Takes several keys, which are used in this order.
    #[must_use]
    pub fn from_keys(keys: Vec<Secret>) -> Self {
        Self(keys)
    }

    /// The first key, for requests that use only one.
    #[must_use]
    pub fn first_key(&self) -> Option<&Secret> {
        self.0.first()
    }
}

/// Checks the keys of a provider.
///
/// # Errors
/// The key `api_key`, and the reason.
pub(crate) fn check_keys(keys: Option<&ApiKeys>) -> Result<(), (&'static str, String)> {
    let Some(ApiKeys(keys)) = keys else { return Ok(()) };
    if keys.is_empty() {
        return Err(("api_key", format!("it {EMPTY}")));
    }
    for (place, key) in (1..).zip(keys) {
        if let Some(fault) = find_key_fault(key) {
            let subject =
                if keys.len() == 1 { "it".to_owned() } else { format!("key {place} of the list") };
            return Err(("api_key", format!("{subject} {fault}")));
        }
    }
    Ok(())
}

/// Returns the reason why a key cannot be sent in a header.
fn find_key_fault(key: &Secret) -> Option<&'static str> {
    let key = key.expose();
    if key.trim().is_empty() {
        Some(EMPTY)
    } else if key.contains(['\n', '\r']) {
        Some("contains a line break; remove it, or use ${file:PATH}, which ignores the last one")
    } else if key.contains(|c: char| c.is_whitespace() || c.is_control()) {
        Some("contains a space or a control character; copy the key alone")
    } else {
        None
    }
}

/// The keys of an endpoint and their rests.
#[derive(Debug, Default)]
pub(crate) struct KeyRing {
    keys: Vec<Secret>,
    rests: Mutex<KeyRests>,
}

#[derive(Debug, Default)]
struct KeyRests {
    /// For each key, the end of its rest on the clock.
    until: Vec<Duration>,
    /// The only key to use, for a check of each key.
    only: Option<usize>,
}

/// A key that is used for a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UsedKey<'r> {
    /// Its place in the list.
    place: usize,
    /// The key; `None` for a server without keys.
    pub(crate) key: Option<&'r Secret>,
}

impl KeyRing {
    pub(crate) fn new(keys: Option<&ApiKeys>) -> Self {
        let keys = keys.map(|ApiKeys(keys)| keys.clone()).unwrap_or_default();
        let until = vec![Duration::ZERO; keys.len()];
        Self { keys, rests: Mutex::new(KeyRests { until, only: None }) }
    }

    /// The number of keys.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// All keys, to remove them from texts.
    pub(crate) fn all_keys(&self) -> &[Secret] {
        &self.keys
    }

    /// Uses only the key at this place from now on.
    pub(crate) fn use_only(&self, place: usize) {
        self.rests.lock().only = Some(place);
    }

    /// Returns the first key that does not rest, or the one whose rest ends first.
    pub(crate) fn current_key(&self, now: Duration) -> UsedKey<'_> {
        let rests = self.rests.lock();
        let places = 0..self.keys.len();
        let place = rests.only.or_else(|| places.min_by_key(|place| rests.until[*place].max(now)));
        let place = place.unwrap_or_default();
        UsedKey { place, key: self.keys.get(place) }
    }

    /// Lets a key rest if the error is about the key. Returns `true` if another key can be used
    /// now.
    pub(crate) fn rest_key(&self, used: UsedKey<'_>, error: &ModelError, now: Duration) -> bool {
        let Some(rest) = rest_after(error) else { return false };
        let mut rests = self.rests.lock();
        if rests.only.is_some() || used.key.is_none() {
            return false;
        }
        rests.until[used.place] = now + rest;
        rests.until.iter().any(|until| *until <= now)
    }
}

impl UsedKey<'_> {
    /// The number of the key in the configured list, from 1.
    pub(crate) fn number(self) -> usize {
        self.place + 1
    }
}

/// The rest of a key after an error; `None` if the error is not about the key.
fn rest_after(error: &ModelError) -> Option<Duration> {
    match error {
        ModelError::Unauthorized { .. } => Some(REFUSED),
        ModelError::Refused { lasting: true, detail, .. } => {
            (!matches!(detail.status, Some(300..400 | 404))).then_some(REFUSED)
        }
        ModelError::Busy { detail, retry_after, .. } if detail.status == Some(429) => {
            Some(retry_after.unwrap_or(LIMITED).max(Duration::from_secs(1)))
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
