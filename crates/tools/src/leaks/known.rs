//! Which hosts and addresses are known where a call or an answer is judged.
//!
//! The name of a host is sent to those who serve it before a connection is refused or made, so that a name
//! which the model chooses carries data by itself. With untrusted text before it, the model may therefore
//! connect without a question only to:
//!
//! - a host that is *named*: in the own words of a person who may speak (not in what they forward or quote), in
//!   the configuration, by an approval, or by a call that the model made before it had read untrusted text;
//! - a URL that stood word for word in what it has read, if it is on the same site (the same registered name)
//!   as a host that is named or was reached: a page's links on its own site;
//! - a URL exactly as a search engine of the operator's has returned it, if the query was made before the model
//!   had read untrusted text, or consists of words that people have said. The engine has chosen the URL then,
//!   and the author of a page can neither choose it nor add a label to it. After another query they can: it may
//!   be a word that only their pages contain.
//!
//! Of hosts that are not named, [`NEW_HOSTS`] may be reached in a turn, since which of several links is
//! followed tells something, too.
//!
//! A link in an answer or a message is no connection: a person has to follow it. There a host is known as well if
//! it stood in what was read, or if it is a site alone ([`is_site`]).

use std::collections::BTreeSet;

use avocet_net::Url;
use avocet_protocol::Seen;

use super::sites::{is_site, site, without_www};
use super::urls;

/// Hosts that nobody has named and that may be reached in a turn without a question.
pub(crate) const NEW_HOSTS: usize = 5;

/// What is known where a call or an answer is judged.
#[derive(Debug)]
pub(crate) struct Known<'a> {
    seen: &'a Seen,
    /// Hosts of the configuration; `*.` before one stands for all names below it.
    configured: &'a [String],
    /// Without `www.`.
    named: BTreeSet<String>,
    /// Hosts that earlier calls have connected to.
    reached: BTreeSet<String>,
    /// Hosts of this turn's earlier calls.
    in_turn: BTreeSet<String>,
    /// URLs that a search engine has found for a query that no page can have chosen.
    found: BTreeSet<String>,
}

/// Why a connection needs an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NewHost {
    /// Its host is not named.
    Unnamed,
    /// It would be one more than [`NEW_HOSTS`] that are not named.
    TooMany,
}

impl<'a> Known<'a> {
    /// What people have said and the operator has configured.
    pub(crate) fn new(seen: &'a Seen, configured: &'a [String]) -> Self {
        let mut known = Self {
            seen,
            configured,
            named: BTreeSet::new(),
            reached: BTreeSet::new(),
            in_turn: BTreeSet::new(),
            found: BTreeSet::new(),
        };
        seen.people.iter().for_each(|words| known.hear(words));
        known
    }

    /// A person's own words: the hosts in them are named.
    pub(crate) fn hear(&mut self, words: &str) {
        for host in urls::hosts(words) {
            self.name(&host);
        }
    }

    /// A host is named, and with it its site.
    pub(crate) fn name(&mut self, host: &str) {
        self.named.insert(without_www(host).to_owned());
        self.named.insert(site(host).to_owned());
    }

    /// An earlier call has connected to a host.
    pub(crate) fn reach(&mut self, host: &str) {
        self.reached.insert(host.to_owned());
    }

    /// An earlier call of this turn was about a host.
    pub(crate) fn count(&mut self, host: &str) {
        self.in_turn.insert(host.to_owned());
    }

    /// A search engine has found a URL for a query that no page can have chosen.
    pub(crate) fn find(&mut self, url: &str) {
        self.found.extend(Url::parse(url).map(|url| url.as_str().to_owned()));
    }

    /// Whether all words of a text stand in what people have said.
    pub(crate) fn is_said(&self, text: &str) -> bool {
        let words = |text: &str| -> BTreeSet<String> {
            let lower = text.to_lowercase();
            let words = lower.split(|c: char| !c.is_alphanumeric());
            words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
        };
        let said: BTreeSet<String> = self.seen.people.iter().flat_map(|said| words(said)).collect();
        words(text).is_subset(&said)
    }

    /// Whether an address stood word for word in what was read or said.
    pub(super) fn has_read(&self, address: &str) -> bool {
        self.seen.has(address)
    }

    /// Whether a person may be shown a link to a host without a question.
    pub(super) fn may_be_linked(&self, host: &str) -> bool {
        self.is_named(host) || is_site(host) || self.seen.mentions(host)
    }

    /// Why a URL may not be connected to without a question; `None` if it may.
    pub(super) fn new_host(&self, url: &str) -> Option<NewHost> {
        // What is no URL of a host is refused by the tool, and nothing is looked up.
        let url_read = Url::parse(url).ok()?;
        let host = url_read.host_str()?.trim_end_matches('.');
        if self.is_named(host) || self.reached.contains(host) {
            return None;
        }
        let is_read = self.seen.has(url) || (!urls::says_more(url) && self.seen.mentions(host));
        let is_own_link = is_read && self.is_on_known_site(host);
        if !is_own_link && !self.found.contains(url_read.as_str()) {
            return Some(NewHost::Unnamed);
        }
        let others = self.in_turn.iter().filter(|other| *other != host && !self.is_named(other));
        (others.count() >= NEW_HOSTS).then_some(NewHost::TooMany)
    }

    /// Whether a host is on the site of one that is named or was reached.
    fn is_on_known_site(&self, host: &str) -> bool {
        let configured = self.configured.iter();
        let configured = configured.map(|host| host.strip_prefix("*.").unwrap_or(host));
        let known = self.named.iter().chain(&self.reached).map(String::as_str).chain(configured);
        known.map(site).any(|known| known == site(host))
    }

    fn is_named(&self, host: &str) -> bool {
        let is_configured = |pattern: &String| match pattern.strip_prefix("*.") {
            Some(above) => host.strip_suffix(above).is_some_and(|below| below.ends_with('.')),
            None => pattern == host,
        };
        self.named.contains(without_www(host)) || self.configured.iter().any(is_configured)
    }
}

#[cfg(test)]
#[path = "known_tests.rs"]
mod tests;
