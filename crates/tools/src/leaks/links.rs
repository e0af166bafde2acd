//! Finds the links in a text that may leak data.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::known::KnownHosts;
use super::sites::{is_site, is_top_level};
use super::urls::{
    as_it_stands, as_markdown, blank_ranges, carries_data, find_bare_hosts, find_urls,
    host_of_link, percent_decoded,
};

/// The links in a text that may leak data to their servers. A link leaks if it was never read word
/// for word and either has more than a host or has an unknown host.
pub(super) fn leaking_links(
    text: &str,
    for_people: bool,
    known: &KnownHosts<'_>,
) -> BTreeSet<String> {
    let mut links = links_in(text, for_people);
    links.retain(|link| leaks(link, known));
    links
}

/// The links in a text that were read in another text: the author of that text knows them, but not
/// which of them are chosen here.
pub(crate) fn read_links(text: &str, for_people: bool, known: &KnownHosts<'_>) -> BTreeSet<String> {
    let mut links = links_in(text, for_people);
    // The name of a whole site cannot be chosen anew for each piece of data.
    let is_free = |link: &str| {
        let is_free = |host: String| known.is_named(&host) || is_site(&host);
        !carries_data(link) && host_of_link(link).is_none_or(is_free)
    };
    links.retain(|link| !leaks(link, known) && !is_free(link));
    links
}

fn leaks(link: &str, known: &KnownHosts<'_>) -> bool {
    let tells =
        carries_data(link) || host_of_link(link).is_some_and(|host| !known.may_be_linked(&host));
    tells && !known.has_read(link) && !is_read_address(link, known)
}

/// The links in a text, in any spelling. With `for_people`, hosts and mail addresses without a scheme
/// count too, because clients turn them into links.
fn links_in(text: &str, for_people: bool) -> BTreeSet<String> {
    let mut links = BTreeSet::new();
    // A URL that one reading finds is blanked, so that the next readings skip it.
    let mut rest = Cow::Borrowed(text);
    for read in
        [as_it_stands as fn(&str) -> Cow<'_, str>, as_markdown, percent_decoded, percent_decoded]
    {
        let reading = read(&rest);
        let found: Vec<Range<usize>> = find_urls(&reading).collect();
        links.extend(found.iter().map(|range| reading[range.clone()].to_owned()));
        rest = Cow::Owned(blank_ranges(&reading, &found));
    }
    if for_people {
        let shown = displayed_text(text);
        let shown = blank_ranges(&shown, &find_urls(&shown).collect::<Vec<_>>());
        let bare = find_bare_hosts(&shown).map(|range| &shown[range]);
        links.extend(bare.filter(|link| is_on_top_level(link)).map(str::to_owned));
    }
    links
}

/// Returns `true` if the top-level domain of a link's host exists. Clients ignore others.
fn is_on_top_level(link: &str) -> bool {
    let host = host_of_link(link);
    host.is_some_and(|host| host.rsplit('.').next().is_some_and(is_top_level))
}

/// A Markdown text as displayed, and the targets of its links after it: channels show a target without
/// a scheme as text. Code blocks are left out, because clients make no links there.
fn displayed_text(text: &str) -> String {
    let (mut shown, mut in_code) = (String::with_capacity(text.len()), false);
    let mut targets = String::new();
    for event in Parser::new(text) {
        if let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = &event {
            targets.push('\n');
            targets.push_str(dest_url);
        }
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Text(_) if in_code => {}
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                shown.push_str(&text);
            }
            // Emphasis and links join the words on both sides; everything else separates them.
            Event::Start(Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. })
            | Event::End(
                TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link,
            ) => {}
            _ => shown.push('\n'),
        }
    }
    shown + &targets
}

/// Returns `true` for `mailto:` with an address that was read without `mailto:`.
fn is_read_address(url: &str, known: &KnownHosts<'_>) -> bool {
    let address = url.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("mailto:"));
    address.is_some_and(|_| !url.contains('?') && known.has_read(&url[7..]))
}
