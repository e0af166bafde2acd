//! Sites: the names that people can register, by the public suffix list
//! (<https://publicsuffix.org>). All names are in lower case and ASCII.

use std::net::IpAddr;

use public_suffix::{DEFAULT_PROVIDER, EffectiveTLDProvider, ListProvider, Table};

/// Second-level domains of countries under which names are registered.
const SECOND_LEVEL: [&str; 10] = ["ac", "co", "com", "edu", "go", "gov", "ne", "net", "or", "org"];
/// The longest registered name, in characters, that people read as a name. Longer ones can carry
/// data.
const LONGEST_NAME: usize = 24;

/// The registered name that a host belongs to, such as `example.co.uk`. For an IP address or a
/// public suffix, the host itself.
pub(crate) fn site_of_host(host: &str) -> &str {
    registered_name(host).unwrap_or(host)
}

/// The registered name that a host belongs to; `None` for an IP address or a public suffix.
fn registered_name(host: &str) -> Option<&str> {
    let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    DEFAULT_PROVIDER.effective_tld_plus_one(host).ok().filter(|_| !is_address)
}

/// Returns `true` if a host is a bare site, with or without `www.`: a registered name, which cannot
/// be chosen anew for each piece of data. Suffixes of hosting services are excluded, because
/// anybody gets a name there at once.
pub(super) fn is_site(host: &str) -> bool {
    let Some(site) = registered_name(host) else { return false };
    let Some((name, suffix)) = site.split_once('.') else { return false };
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with("xn--")
    };
    let is_suffix = match suffix.split_once('.') {
        None => suffix.bytes().all(|byte| byte.is_ascii_alphabetic()),
        Some((second, top)) => top.len() == 2 && SECOND_LEVEL.contains(&second),
    };
    without_www(host) == site
        && host.split('.').all(is_label)
        && is_suffix
        && name.len() <= LONGEST_NAME
}

/// A host without the `www.` before it.
pub(super) fn without_www(host: &str) -> &str {
    host.strip_prefix("www.").filter(|rest| rest.contains('.')).unwrap_or(host)
}

/// Returns `true` if the top-level domain exists.
pub(super) fn is_top_level(label: &str) -> bool {
    top_levels(&DEFAULT_PROVIDER, label)
}

/// Binary search among the first nodes of the list's table: the top-level domains, sorted.
fn top_levels<T: Table>(_: &ListProvider<T>, label: &str) -> bool {
    let text = |number: u32| {
        let node = T::NODES[number as usize];
        let length = (node & ((1 << T::NODES_BITS_TEXT_LENGTH) - 1)) as usize;
        let offset = node >> T::NODES_BITS_TEXT_LENGTH & ((1 << T::NODES_BITS_TEXT_OFFSET) - 1);
        &T::TEXT[offset as usize..][..length]
    };
    let (mut low, mut high) = (0, T::NUM_TLD);
    while low < high {
        let middle = low.midpoint(high);
        match text(middle).cmp(label) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Equal => return true,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    false
}

#[cfg(test)]
#[path = "sites_tests.rs"]
mod tests;
