//! Counts the bits that the choice of an address tells. A pure function of the texts that the model
//! had read.
//!
//! ```text
//! an address that a text lists as a link, among n         log2(n)
//!   which ends at the k-th place where it could end       + 2 log2(k)
//! a part of a text that is no link by itself              2 log2(length): a start and an end
//! a host without a path that a text mentions, among n     log2(n)
//! m links of one text in an answer, among its n           log2(n / m)
//! a host that only the configuration, an approval or an
//!   earlier call names, among n of them                   log2(n)
//! a host below a `*.` of the configuration                log2(38) for each character of the `*`
//! a word of a search that a text has, among n words       log2(n)
//!   that no text has                                      8 for each 8 characters, begun
//!   that a person has typed                               0
//! ```
//!
//! The author of a text chose its n links, and the model one of them. Nobody else learns more from a
//! request than which one it was: log2(n) bits. So the only link of a page is free.
//!
//! **n is at least the number of texts with links.** Otherwise 26 mails with one link each would be
//! a free alphabet. With this, the count is never less than half of the true information, which
//! is the logarithm of the product of both numbers.
//!
//! **An address has no sure end.** [`Seen::has_address`] accepts each end at a word, so that
//! `x,a,b,c` lists four addresses. The first possible end is the link, and later ones cost more.
//!
//! **A page that was fetched is no option any more**: a request for it tells nothing new. So the page's
//! own address in its text is none, either.
//!
//! **A fragment is never sent**, so addresses that differ in it are one.
//!
//! **A link in an answer needs a person who follows it.** Of m links that are shown, the person
//! chooses one; so the choice of the model is counted as that of m among n, as if the person
//! followed one link of each text.
//!
//! **A word of a search that no text has is the model's own.** Prose tells about one bit for each letter
//! (Shannon, "Prediction and Entropy of Printed English", 1951). A short word could be a letter of
//! something else, so it costs as much as a long one. n is at least the number of texts, as above.

use std::collections::{BTreeMap, BTreeSet};

use avocet_protocol::tool::{ChoiceBits, Seen};

/// Letters, digits, the hyphen and the dot: the characters of a host's name.
const NAME_CHARACTERS: usize = 38;

/// The texts that a model has read, with the number of addresses in each.
#[derive(Debug)]
pub(crate) struct ReadTexts<'a> {
    /// Texts of people, which are also among the others as the model read them.
    people: Vec<ReadText<'a>>,
    /// In the order of reading.
    texts: Vec<ReadText<'a>>,
}

/// A text that the model has read.
#[derive(Debug)]
struct ReadText<'a> {
    text: &'a str,
    /// Its different links, without those of pages that the turn has fetched.
    links: BTreeSet<&'a str>,
}

/// A place among other addresses, of which the model chose it.
#[derive(Debug, Clone, Copy)]
struct ListedPlace {
    /// The number of addresses in its text.
    options: usize,
    /// The bits of the choice of an end.
    end: ChoiceBits,
    /// The number of its text.
    text: usize,
}

impl ListedPlace {
    fn bits(self) -> ChoiceBits {
        ChoiceBits::of_options(self.options) + self.end
    }
}

impl<'a> ReadTexts<'a> {
    pub(crate) fn new(seen: &'a Seen) -> Self {
        let read = |text: &'a String| ReadText { text, links: distinct_links(text) };
        Self {
            people: seen.people.iter().map(read).collect(),
            texts: seen.texts.iter().map(read).collect(),
        }
    }

    /// Takes an address out of all lists, because it has been fetched: a choice among the others is
    /// left.
    pub(crate) fn remove_address(&mut self, address: &str) {
        for read in self.people.iter_mut().chain(&mut self.texts) {
            read.links.remove(without_fragment(address));
        }
    }

    /// The bits of a request to `address` by a model that had read the first `read` texts. `None` if
    /// they do not contain it.
    pub(crate) fn bits_of_address(&self, address: &str, read: usize) -> Option<ChoiceBits> {
        let at_least = self.count_offers(read);
        let links = self.places(read, |text| place_of_link(text, address));
        // A text may mention a host many times without a link.
        let names = || {
            let host = bare_host(address)?;
            cheapest(self.places(read, |text| place_of_name(text, host)))
        };
        let place = cheapest(links).or_else(names)?;
        Some(ListedPlace { options: place.options.max(at_least), ..place }.bits())
    }

    /// The bits of the links in a text for people, who follow one of those that a text has listed.
    pub(crate) fn bits_of_links(&self, links: &BTreeSet<String>, read: usize) -> ChoiceBits {
        let at_least = self.count_offers(read);
        let mut shown: BTreeMap<usize, Vec<ListedPlace>> = BTreeMap::new();
        for link in links {
            let find = if scheme_at(link).is_some() { place_of_link } else { place_of_bare };
            if let Some(place) = cheapest(self.places(read, |text| find(text, link))) {
                shown.entry(place.text).or_default().push(place);
            }
        }
        let bits_of_text = |places: Vec<ListedPlace>| {
            let options = places.iter().map(|place| place.options).max().unwrap_or(1);
            let ends: ChoiceBits = places.iter().map(|place| place.end).sum();
            let all = ChoiceBits::of_options(options.max(at_least));
            all.saturating_sub(ChoiceBits::of_options(places.len())) + ends
        };
        shown.into_values().map(bits_of_text).sum()
    }

    /// The bits of the words in a search by a model that had read the first `read` texts. A word of a
    /// person, or of `searched`, tells nothing.
    pub(crate) fn bits_of_query(
        &self,
        query: &str,
        searched: &BTreeSet<String>,
        read: usize,
    ) -> ChoiceBits {
        let mut words = words_of_text(query);
        words.retain(|word| !searched.contains(word));
        let said = self.people.iter().flat_map(|one| words_of_text(one.text));
        let said: BTreeSet<String> =
            if words.is_empty() { BTreeSet::new() } else { said.collect() };
        words.retain(|word| !said.contains(word));
        if words.is_empty() {
            return ChoiceBits::ZERO;
        }
        let texts: BTreeSet<&str> = self.texts.iter().take(read).map(|one| one.text).collect();
        let lists: Vec<BTreeSet<String>> = texts.into_iter().map(words_of_text).collect();
        let bits_of_word = |word: &String| {
            let sizes = lists.iter().filter(|list| list.contains(word)).map(BTreeSet::len);
            let options = sizes.min().map(|size| size.max(lists.len()));
            options.map_or_else(|| bits_of_new_word(word), ChoiceBits::of_options)
        };
        words.iter().map(bits_of_word).sum()
    }

    /// The number of different texts with links.
    fn count_offers(&self, read: usize) -> usize {
        let offering = self.texts.iter().take(read).filter(|one| !one.links.is_empty());
        offering.map(|one| one.text).collect::<BTreeSet<_>>().len()
    }

    fn places(
        &self,
        read: usize,
        find: impl Fn(&ReadText<'a>) -> Option<ListedPlace>,
    ) -> impl Iterator<Item = ListedPlace> {
        let texts = self.people.iter().chain(self.texts.iter().take(read)).enumerate();
        texts.filter_map(move |(number, text)| Some(ListedPlace { text: number, ..find(text)? }))
    }
}

fn cheapest(places: impl Iterator<Item = ListedPlace>) -> Option<ListedPlace> {
    places.min_by_key(|place| place.bits())
}

/// The bits of a host below a `*.` of the configuration: those of the part in place of the `*`.
pub(crate) fn bits_of_label(label: &str) -> ChoiceBits {
    ChoiceBits::of_options(NAME_CHARACTERS).saturating_mul(label.len())
}

/// The bits of a word that no text has.
fn bits_of_new_word(word: &str) -> ChoiceBits {
    const BYTE: u32 = 8;
    ChoiceBits::from_bits(BYTE).saturating_mul(word.chars().count().div_ceil(BYTE as usize))
}

/// The different words of a text, in small letters.
pub(crate) fn words_of_text(text: &str) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// An address as a server sees it: without the fragment.
pub(crate) fn without_fragment(address: &str) -> &str {
    address.split_once('#').map_or(address, |(before, _)| before)
}

/// The cheapest place of a link in a text; `None` if the text does not contain it.
fn place_of_link(read: &ReadText<'_>, link: &str) -> Option<ListedPlace> {
    let text = read.text;
    let ends_there = |at: &usize| Seen::ends_address(&text[at + link.len()..]);
    let found = text.match_indices(link).map(|(at, _)| at).filter(ends_there);
    let place = |at: usize| {
        let Some(scheme) = scheme_at(&text[at..]) else {
            let end = ChoiceBits::of_options(text.len()).saturating_mul(2);
            return ListedPlace { options: 1, end, text: 0 };
        };
        let ends = link_ends(&text[at..], scheme).take_while(|end| *end <= link.len()).count();
        let end = ChoiceBits::of_options(ends).saturating_mul(2);
        ListedPlace { options: read.links.len(), end, text: 0 }
    };
    (!link.is_empty()).then(|| cheapest(found.map(place))).flatten()
}

/// The place of a host among all words with a dot in a text.
fn place_of_name(read: &ReadText<'_>, host: &str) -> Option<ListedPlace> {
    let names = dotted_words(read.text);
    let end = ChoiceBits::ZERO;
    names.contains(host).then_some(ListedPlace { options: names.len(), end, text: 0 })
}

/// The place of a link or a mail address without a scheme.
fn place_of_bare(read: &ReadText<'_>, link: &str) -> Option<ListedPlace> {
    let bare = link.strip_prefix("mailto:").unwrap_or(link);
    let options = read.links.len() + dotted_words(read.text).len();
    let end = ChoiceBits::ZERO;
    read.text.contains(bare).then_some(ListedPlace { options, end, text: 0 })
}

/// The host of an address without a path.
fn bare_host(address: &str) -> Option<&str> {
    let scheme = scheme_at(address)?;
    let host = without_fragment(&address[scheme..]).trim_end_matches('/');
    (!host.contains(['/', '?', '\\'])).then_some(host.split(':').next()?)
}

/// The different links of a text, each up to its first possible end.
fn distinct_links(text: &str) -> BTreeSet<&str> {
    let starts = text.match_indices("://").filter_map(|(at, _)| {
        let before = &text.as_bytes()[..at];
        let is_before = |scheme: &str| {
            before
                .len()
                .checked_sub(scheme.len())
                .is_some_and(|start| before[start..].eq_ignore_ascii_case(scheme.as_bytes()))
        };
        ["https", "http"].into_iter().find(|scheme| is_before(scheme)).map(|one| at - one.len())
    });
    let links = starts.filter_map(|start| {
        let rest = &text[start..];
        let end = link_ends(rest, scheme_at(rest)?).next()?;
        Some(without_fragment(&rest[..end]))
    });
    links.collect()
}

/// The length of the scheme at the beginning of a text.
fn scheme_at(text: &str) -> Option<usize> {
    let begins = |scheme: &&str| {
        text.get(..scheme.len()).is_some_and(|one| one.eq_ignore_ascii_case(scheme))
    };
    ["https://", "http://"].into_iter().find(begins).map(str::len)
}

/// The lengths of all addresses at the beginning of a text that [`Seen::has_address`] accepts, except
/// of a host whose port follows.
fn link_ends(text: &str, scheme: usize) -> impl Iterator<Item = usize> {
    let after_each = text[scheme..].char_indices().map(move |(at, c)| scheme + at + c.len_utf8());
    let is_before_port = move |end: usize| {
        let port = text[end..].strip_prefix(':');
        port.is_some_and(|port| port.starts_with(|c: char| c.is_ascii_digit()))
            && !text[scheme..end].contains(['/', '?', '\\'])
    };
    after_each.filter(move |end| Seen::ends_address(&text[*end..]) && !is_before_port(*end))
}

/// The different words of a text that could be names of hosts.
fn dotted_words(text: &str) -> BTreeSet<&str> {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '-' || c == '.';
    let words = text.split(|c| !is_of_name(c)).flat_map(|word| word.split(".."));
    words.map(|word| word.trim_matches('.')).filter(|word| word.contains('.')).collect()
}

#[cfg(test)]
#[path = "choices_tests.rs"]
mod tests;
