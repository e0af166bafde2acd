//! Decides which hosts and addresses a call or an answer may use without a question.
//!
//! A host's name reaches its DNS servers even if the connection is then refused. A name that the
//! model chooses can therefore carry data by itself. After it has read untrusted text, the model
//! may connect without a question only to:
//!
//! - a host that is *named*: in a person's own words (forwarded and quoted text excluded), in the
//!   configuration, by an approval, or by a call that the model made before it read untrusted text;
//! - a URL that occurred word for word in the text it has read, if its site (the registered name)
//!   is the site of a host that is named or was reached: a page's links on its own site;
//! - a URL exactly as the operator's search engine returned it, if the query was made before the
//!   model read untrusted text, or consists of words that people have said. The engine chose the
//!   URL then, so the author of a page can neither choose it nor add a label to it. After any other
//!   query the author can: the query may be a word that only the author's pages contain.
//!
//! At most [`NEW_HOSTS`] unnamed hosts may be reached in a turn, because the choice among several
//! links carries data, too.
//!
//! A link in an answer or a message makes no connection by itself: a person has to follow it.
//! There, a host also counts as known if it occurred in the text read, or if it is a bare site
//! ([`is_site`]).

use std::collections::BTreeSet;

use avocet_net::Url;
use avocet_protocol::tool::{ChoiceBits, Seen};

use super::choices::{bits_of_label, words_of_text};
use super::sites::{is_site, site_of_host, without_www};
use super::urls;

/// Unnamed hosts that a turn may reach without a question.
pub(crate) const NEW_HOSTS: usize = 5;

/// The hosts and addresses known at the time of a call or an answer.
#[derive(Debug)]
pub(crate) struct KnownHosts<'a> {
    seen: &'a Seen,
    /// Hosts of the configuration; a leading `*.` stands for all names below it.
    configured: &'a [String],
    /// Without `www.`.
    named: BTreeSet<String>,
    /// Hosts that earlier calls have connected to.
    reached: BTreeSet<String>,
    /// Hosts of this turn's earlier calls.
    in_turn: BTreeSet<String>,
    /// URLs from a search engine whose query no page can have influenced.
    found: BTreeSet<String>,
}

/// The reason why a connection needs approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NewHost {
    /// Its host is not named.
    Unnamed,
    /// The turn has reached [`NEW_HOSTS`] unnamed hosts already.
    TooMany,
}

impl<'a> KnownHosts<'a> {
    /// Starts with the messages of people and the hosts of the configuration.
    pub(crate) fn new(seen: &'a Seen, configured: &'a [String]) -> Self {
        let mut known = Self {
            seen,
            configured,
            named: BTreeSet::new(),
            reached: BTreeSet::new(),
            in_turn: BTreeSet::new(),
            found: BTreeSet::new(),
        };
        seen.people.iter().for_each(|words| known.name_hosts(words));
        known
    }

    /// Names the hosts in a person's own words.
    pub(crate) fn name_hosts(&mut self, words: &str) {
        for host in urls::hosts_in_text(words) {
            self.name(&host);
        }
    }

    /// Marks a host and its site as named.
    pub(crate) fn name(&mut self, host: &str) {
        self.named.insert(without_www(host).to_owned());
        self.named.insert(site_of_host(host).to_owned());
    }

    /// Records a host that an earlier call connected to.
    pub(crate) fn add_reached(&mut self, host: &str) {
        self.reached.insert(host.to_owned());
    }

    /// Records a host of an earlier call of this turn.
    pub(crate) fn add_in_turn(&mut self, host: &str) {
        self.in_turn.insert(host.to_owned());
    }

    /// Records a search result whose query no page can have influenced.
    pub(crate) fn add_found(&mut self, url: &str) {
        self.found.extend(Url::parse(url).map(|url| url.as_str().to_owned()));
    }

    /// Returns `true` if people have said every word of a text.
    pub(crate) fn is_known(&self, text: &str) -> bool {
        let said = self.seen.people.iter().flat_map(|said| words_of_text(said));
        let said: BTreeSet<String> = said.collect();
        words_of_text(text).is_subset(&said)
    }

    /// Returns `true` if an address occurred word for word in the text read or said.
    pub(super) fn has_read(&self, address: &str) -> bool {
        self.seen.has_address(address)
    }

    /// Returns `true` if a link to a host may be shown to a person without a question.
    pub(super) fn may_be_linked(&self, host: &str) -> bool {
        self.is_named(host) || is_site(host) || self.seen.mentions(host)
    }

    /// The reason why a connection to a URL needs approval; `None` if it needs none.
    pub(super) fn new_host(&self, url: &str) -> Option<NewHost> {
        // The tool rejects a URL without a host itself, before any lookup.
        let url_read = Url::parse(url).ok()?;
        let host = url_read.host_str()?.trim_end_matches('.');
        if self.is_named(host) || self.reached.contains(host) {
            return None;
        }
        let is_read =
            self.seen.has_address(url) || (!urls::carries_data(url) && self.seen.mentions(host));
        let is_own_link = is_read && self.is_on_known_site(host);
        if !is_own_link && !self.found.contains(url_read.as_str()) {
            return Some(NewHost::Unnamed);
        }
        let others = self.in_turn.iter().filter(|other| *other != host && !self.is_named(other));
        (others.count() >= NEW_HOSTS).then_some(NewHost::TooMany)
    }

    /// Returns `true` if a host shares its site with one that is named or was reached.
    fn is_on_known_site(&self, host: &str) -> bool {
        let configured = self.configured.iter();
        let configured = configured.map(|host| host.strip_prefix("*.").unwrap_or(host));
        let known = self.named.iter().chain(&self.reached).map(String::as_str).chain(configured);
        known.map(site_of_host).any(|known| known == site_of_host(host))
    }

    /// Returns `true` if the host is named.
    pub(super) fn is_named(&self, host: &str) -> bool {
        self.is_exactly_named(host) || self.label_of(host).is_some()
    }

    fn is_exactly_named(&self, host: &str) -> bool {
        self.named.contains(without_www(host)) || self.configured.iter().any(|one| one == host)
    }

    /// The part of a host in place of the `*` of a pattern in the configuration.
    fn label_of<'h>(&self, host: &'h str) -> Option<&'h str> {
        let above = self.configured.iter().filter_map(|pattern| pattern.strip_prefix("*."));
        above
            .filter_map(|above| host.strip_suffix(above)?.strip_suffix('.'))
            .min_by_key(|one| one.len())
    }

    /// The bits of the choice of an address that is in no text, and that needs no approval. Its host
    /// is then among those that are named or were reached.
    pub(crate) fn bits_of_unlisted(&self, url: &str) -> ChoiceBits {
        let Some(host) = urls::host_of_link(url) else { return ChoiceBits::ZERO };
        match self.label_of(&host).filter(|_| !self.is_exactly_named(&host)) {
            Some(label) if !self.reached.contains(&host) => bits_of_label(label),
            _ => {
                let names = [self.named.len(), self.reached.len(), self.configured.len()];
                ChoiceBits::of_options(names.into_iter().sum())
            }
        }
    }
}

#[cfg(test)]
#[path = "known_tests.rs"]
mod tests;
