//! Finds data leaks in a text before it leaves the machine: configured secrets, well-known keys,
//! assigned passwords, links that carry data, and hosts that no person has named. Does no I/O; the
//! time is proportional to the length of the text.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use avocet_protocol::tool::Leaving;
use avocet_text::{FoundSecret, Redactor};
use regex::Regex;

mod choices;
mod known;
mod links;
mod sites;
mod urls;

pub(crate) use choices::{ReadTexts, without_fragment, words_of_text};
pub(crate) use known::KnownHosts;
pub(crate) use links::read_links;
pub(crate) use sites::site_of_host;
pub(crate) use urls::host_of_link;

use known::{NEW_HOSTS, NewHost};

/// A finding in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundLeak {
    pub(crate) kind: LeakKind,
    /// The part that a person may see. Of a secret: its first four characters and its length. Of a
    /// URL: everything except secrets.
    pub(crate) shown: String,
}

impl fmt::Display for FoundLeak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, shown } = self;
        match kind {
            LeakKind::Secret => write!(f, "a secret of the configuration, {shown}"),
            LeakKind::Key(name) => write!(f, "{name}, {shown}"),
            LeakKind::Password => write!(f, "a likely password, {shown}"),
            LeakKind::Url => write!(f, "data in the address {shown}"),
            LeakKind::Host(NewHost::Unnamed) => {
                write!(f, "{shown}, a host that is in no message and no setting")
            }
            LeakKind::Host(NewHost::TooMany) => {
                write!(f, "{shown}, one more unnamed host after {NEW_HOSTS} in this turn")
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LeakKind {
    /// A secret of the configuration.
    Secret,
    /// A text with the shape of this kind of key.
    Key(&'static str),
    /// A value that looks random and is labelled a password, a token or the like.
    Password,
    /// A URL that can carry data, and that was neither read nor written by a person.
    Url,
    /// A host to connect to.
    Host(NewHost),
}

impl LeakKind {
    /// Returns `true` if the leak concerns the destination of a call, which can be allowed for the
    /// session.
    pub(crate) fn is_place(self) -> bool {
        matches!(self, Self::Url | Self::Host(_))
    }
}

/// The reason why these leaks need approval.
pub(crate) fn why_approval(leaks: &[FoundLeak]) -> String {
    let (carried, reached) = (list_carried(leaks), list_leaks(leaks, is_host));
    if reached.is_empty() {
        return format!("it would carry {carried}");
    }
    if carried.is_empty() {
        return format!("it would look up {reached}");
    }
    format!("it would carry {carried} and look up {reached}")
}

/// Lists the leaks that are parts of a text, for a sentence.
pub(crate) fn list_carried(leaks: &[FoundLeak]) -> String {
    list_leaks(leaks, |leak| !is_host(leak))
}

fn is_host(leak: &FoundLeak) -> bool {
    matches!(leak.kind, LeakKind::Host(_))
}

fn list_leaks(leaks: &[FoundLeak], is_wanted: fn(&FoundLeak) -> bool) -> String {
    let listed = leaks.iter().filter(|leak| is_wanted(leak)).map(FoundLeak::to_string);
    listed.collect::<Vec<_>>().join(" and ")
}

/// Finds the leaks in a call or an answer, each once: `secrets` in any encoding, links that carry
/// data, and new hosts.
#[must_use]
pub(crate) fn find_leaks(
    leaving: &Leaving,
    secrets: &Redactor,
    known: &KnownHosts<'_>,
) -> Vec<FoundLeak> {
    let text = leaving.text();
    let mut leaks = Vec::new();
    let taken = secrets_in(text, secrets, &mut leaks);
    for value in passwords_in(text) {
        let is_taken = taken.iter().any(|range| range.start < value.end && value.start < range.end);
        if !is_taken {
            leaks.push(FoundLeak { kind: LeakKind::Password, shown: mask_secret(&text[value]) });
        }
    }
    let shown = |text: &str| secrets.redact(text).into_owned();
    let place = |kind, text: &str| FoundLeak { kind, shown: shown(text) };
    match leaving {
        Leaving::Text(_) | Leaving::Data(_) | Leaving::Query(_) => {
            let for_people = matches!(leaving, Leaving::Text(_));
            let links = links::leaking_links(text, for_people, known);
            leaks.extend(links.iter().map(|link| place(LeakKind::Url, link)));
        }
        Leaving::Url(url) => {
            let carries = urls::carries_data(url) && !known.has_read(url);
            leaks.extend(carries.then(|| place(LeakKind::Url, url)));
            let new = known.new_host(url).zip(host_of_link(url));
            leaks.extend(new.map(|(why, host)| place(LeakKind::Host(why), &host)));
        }
    }
    leaks
}

/// Adds secrets and keys to `leaks`; returns their ranges.
fn secrets_in(text: &str, secrets: &Redactor, leaks: &mut Vec<FoundLeak>) -> Vec<Range<usize>> {
    let mut seen = BTreeSet::new();
    let (mut taken, mut keys) = (Vec::new(), Vec::new());
    for found in secrets.find(text) {
        match found.what {
            FoundSecret::Configured(number) if seen.insert(number) => {
                let secret = secrets.secret(number);
                let shown = mask_secret(secret.as_ref().map_or("", |secret| secret.expose()));
                leaks.push(FoundLeak { kind: LeakKind::Secret, shown });
                taken.push(found.range);
            }
            FoundSecret::Configured(_) => {}
            FoundSecret::Key(name) => keys.push((name, found.range)),
        }
    }
    let mut seen = BTreeSet::new();
    for (name, range) in keys {
        let end = text.ceil_char_boundary(range.end);
        let key = &text[text.floor_char_boundary(range.start)..end];
        let is_configured = |one: &Range<usize>| one.start <= range.start && range.end <= one.end;
        if seen.insert((name, key)) && !taken.iter().any(is_configured) {
            leaks.push(FoundLeak { kind: LeakKind::Key(name), shown: mask_secret(key) });
        }
        taken.push(range);
    }
    taken
}

/// The first four characters and the length.
fn mask_secret(secret: &str) -> String {
    let first: String = secret.chars().take(4).collect();
    format!("{first}… ({} characters)", secret.chars().count())
}

/// Finds values that are assigned to a name such as `password`. Skips variable references and the
/// placeholders of documentation.
fn passwords_in(text: &str) -> impl Iterator<Item = Range<usize>> {
    static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r#"(?ix) (?: pass(?:word|wd|phrase)? | pwd | (?:client|auth|access|api|private)[_-]?
            (?:secret|token|key) | secret(?:[_-]?key)? | token | credentials? ) ["']? [\ \t]{0,8}
            (?: := | => | = | : ) [\ \t]{0,8} (?: "(?<a>[^"\s]{8,256})" | '(?<b>[^'\s]{8,256})' |
            (?<c>[^\s"'`,;()<>\[\]{}]{8,256}) )"#;
        match Regex::new(pattern) {
            Ok(regex) => regex,
            Err(error) => panic!("the pattern is written in the source: {error}"),
        }
    });
    let values = ASSIGNED.captures_iter(text).filter_map(|found| {
        ["a", "b", "c"].into_iter().find_map(|name| found.name(name)).map(|value| value.range())
    });
    values.filter(|value| is_random(&text[value.clone()]))
}

/// Returns `true` if a value looks random: letters and digits with enough entropy, and no words
/// that mark a placeholder.
fn is_random(value: &str) -> bool {
    const BITS: f64 = 3.0;
    const NONE: [&str; 12] = [
        "${",
        "$(",
        "<",
        "***",
        "...",
        "://",
        "change",
        "dummy",
        "example",
        "placeholder",
        "xxx",
        "your",
    ];
    let lower = value.to_ascii_lowercase();
    let has = |is: fn(&char) -> bool| value.chars().any(|c| is(&c));
    has(char::is_ascii_alphabetic)
        && has(char::is_ascii_digit)
        && !NONE.iter().any(|word| lower.contains(word))
        && entropy_of(value) >= BITS
}

/// Shannon entropy in bits per character.
#[expect(clippy::cast_precision_loss, reason = "a value has 256 characters at most")]
fn entropy_of(text: &str) -> f64 {
    let mut counts = std::collections::BTreeMap::new();
    text.chars().for_each(|c| *counts.entry(c).or_insert(0_u32) += 1);
    let all = text.chars().count() as f64;
    counts.values().map(|count| f64::from(*count) / all).map(|share| -share * share.log2()).sum()
}

#[cfg(test)]
#[path = "leaks_tests.rs"]
mod tests;
