//! Finds links in a text, in any spelling, and decides if they can carry data.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use avocet_net::Url;
use regex::{Captures, Regex};

/// Common ports, which carry no data.
const USUAL_PORTS: [&str; 4] = ["80", "443", "8080", "8443"];
/// Schemes that address a person and have no host.
const TO_SOMEBODY: [&str; 6] = ["mailto", "sms", "smsto", "sip", "tel", "xmpp"];

/// Replaces ranges, which are in order, by blanks. The length stays the same.
pub(super) fn blank_ranges(text: &str, ranges: &[Range<usize>]) -> String {
    let mut blanked = String::with_capacity(text.len());
    let mut end = 0;
    for range in ranges {
        blanked.push_str(&text[end..range.start]);
        blanked.extend(std::iter::repeat_n(' ', range.len()));
        end = range.end;
    }
    blanked + &text[end..]
}

/// The hosts in a text, in lower case and ASCII: in URLs, in mail addresses, and alone.
pub(super) fn hosts_in_text(text: &str) -> BTreeSet<String> {
    let found: Vec<Range<usize>> = find_urls(text).collect();
    let in_urls = found.iter().filter_map(|range| host_of_link(&text[range.clone()]));
    let without = blank_ranges(text, &found);
    let alone = find_bare_hosts(&without).filter_map(|range| host_of_link(&without[range]));
    in_urls.chain(alone).collect()
}

pub(super) fn as_it_stands(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

fn compile_regex(pattern: &str) -> Regex {
    match Regex::new(pattern) {
        Ok(regex) => regex,
        Err(error) => panic!("the pattern is written in the source: {error}"),
    }
}

/// The ranges of URLs: after a scheme, with `www.`, or as a link target without a scheme.
pub(super) fn find_urls(text: &str) -> impl Iterator<Item = Range<usize>> {
    static URL: LazyLock<Regex> = LazyLock::new(|| {
        compile_regex(
            r#"(?ix) (?: https?:[/\\]*[^\s/\\<>"`'()] | [a-z][a-z0-9+.-]*:[/\\]{2,} | \bwww\d?\.
                | \b(?:mailto|sms|smsto|sip|tel|xmpp):[^\s<>"`'()]
                | \]\(\s*<?[/\\]{2} | \b(?:src|href)\s*=\s*["']?[/\\]{2} ) [^\s<>"`]* "#,
        )
    });
    URL.find_iter(text).filter_map(|found| {
        // Cut off the link syntax before a target.
        let lead = found.as_str().find(['/', '\\']).filter(|_| {
            found.as_str().starts_with(']')
                || found.as_str().contains('=') && !found.as_str().contains(':')
        });
        let start = found.start() + lead.unwrap_or(0);
        let url = trim_url(&text[start..found.end()]);
        (!url.is_empty()).then(|| start..start + url.len())
    })
}

/// The ranges of hosts and mail addresses without a scheme, and the path after a host.
pub(super) fn find_bare_hosts(text: &str) -> impl Iterator<Item = Range<usize>> {
    static BARE: LazyLock<Regex> = LazyLock::new(|| {
        compile_regex(
            r#"(?x) (?:[\p{L}\p{N}._%+-]+@)? (?:[\p{L}\p{N}_-]+\.)+[\p{L}\p{N}-]{2,}
                (?: :[0-9]{1,5}\b )? (?: [/?\#][^\s<>"`]* )? "#,
        )
    });
    BARE.find_iter(text).filter_map(|found| {
        // Parts of paths and mentions are skipped.
        let is_part = text[..found.start()].ends_with(['/', '\\', '@', '$', '~'])
            || text[found.end()..].starts_with('_');
        let link = trim_url(found.as_str());
        (!is_part).then(|| found.start()..found.start() + link.len())
    })
}

/// Strips punctuation that ends a sentence, and brackets opened before the URL.
fn trim_url(url: &str) -> &str {
    let count = |url: &str, c| url.matches(c).count();
    let (mut round, mut square) = (count(url, ')'), count(url, ']'));
    let (opened_round, opened_square) = (count(url, '('), count(url, '['));
    let mut url = url;
    while let Some(last) = url.chars().next_back() {
        let ends = match last {
            ')' if round > opened_round => {
                round -= 1;
                true
            }
            ']' if square > opened_square => {
                square -= 1;
                true
            }
            '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*' | '_' | '~' | '|' | '\\' => true,
            c => !c.is_ascii() && !c.is_alphanumeric(),
        };
        if !ends {
            break;
        }
        url = &url[..url.len() - last.len_utf8()];
    }
    url
}

struct UrlParts<'u> {
    /// In lower case; empty if there is none.
    scheme: String,
    /// The host as written, with the user name before it.
    host: &'u str,
    port: &'u str,
    /// The path, the query and the fragment.
    behind: &'u str,
}

fn split_url(url: &str) -> UrlParts<'_> {
    let (scheme, rest) = match url.split_once(':') {
        Some((scheme, rest)) if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            (scheme.to_ascii_lowercase(), rest)
        }
        _ => (String::new(), url),
    };
    let rest = rest.trim_start_matches(['/', '\\']);
    let (host, behind) = rest.split_at(rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len()));
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port))
            if !host.ends_with(':') && port.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            (host, port)
        }
        _ => (host, ""),
    };
    UrlParts { scheme, host, port, behind }
}

/// Returns `true` if a link can carry data beside a plain host name: a path, a user, or a host in
/// an alphabet or a spelling that allows many variants.
pub(super) fn carries_data(url: &str) -> bool {
    let UrlParts { scheme, host, port, behind } = split_url(url);
    if TO_SOMEBODY.contains(&scheme.as_str()) {
        return true;
    }
    if scheme == "file" || is_this_machine(host) {
        return false;
    }
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let is_name = host.bytes().all(is_of_name) && !host.bytes().all(|byte| byte.is_ascii_digit());
    let is_usual_port = port.is_empty() || USUAL_PORTS.contains(&port);
    !matches!(behind, "" | "/") || !is_usual_port || !is_name
}

/// The host of a link in its DNS form: lower case and ASCII. `None` if it has none or is this
/// machine.
pub(crate) fn host_of_link(url: &str) -> Option<String> {
    let UrlParts { scheme, host, .. } = split_url(url);
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    if scheme == "file" || TO_SOMEBODY.contains(&&*scheme) && scheme != "mailto" {
        return None;
    }
    let read = Url::parse(&format!("http://{host}/")).ok()?;
    let read = read.host_str()?.trim_end_matches('.').to_owned();
    (!is_this_machine(&read)).then_some(read)
}

fn is_this_machine(host: &str) -> bool {
    let is_loopback =
        |host: &str| host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    host.eq_ignore_ascii_case("localhost")
        || is_loopback(host.trim_start_matches('[').trim_end_matches(']'))
}

/// Decodes a text as CommonMark decodes a link target: backslashes before punctuation are removed
/// and entities are replaced.
pub(super) fn as_markdown(text: &str) -> Cow<'_, str> {
    static ESCAPED: LazyLock<Regex> = LazyLock::new(|| {
        compile_regex(
            r"\\(?<p>[[:punct:]])|&\#(?<d>[0-9]{1,7});|&\#[xX](?<x>[0-9a-fA-F]{1,6});|&(?<n>[a-zA-Z]{2,6});",
        )
    });
    ESCAPED.replace_all(text, |found: &Captures<'_>| {
        let code =
            |digits: &str, base| u32::from_str_radix(digits, base).ok().and_then(char::from_u32);
        let meant = match (found.name("p"), found.name("d"), found.name("x"), found.name("n")) {
            (Some(punctuation), ..) => punctuation.as_str().chars().next(),
            (_, Some(digits), ..) => code(digits.as_str(), 10),
            (_, _, Some(digits), _) => code(digits.as_str(), 16),
            (.., Some(name)) => named_entity(name.as_str()),
            _ => None,
        };
        meant.map_or_else(|| found[0].to_owned(), String::from)
    })
}

/// The entities that a URL could be written with.
fn named_entity(entity: &str) -> Option<char> {
    Some(match entity {
        "amp" => '&',
        "bsol" => '\\',
        "colon" => ':',
        "equals" => '=',
        "num" => '#',
        "period" => '.',
        "quest" => '?',
        "sol" => '/',
        _ => return None,
    })
}

pub(super) fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let (mut decoded, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        let is_hex = |digits: &&str| digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        match digits.filter(|_| byte == b'%').filter(is_hex) {
            Some(digits) => {
                decoded.push(u8::from_str_radix(digits, 16).unwrap_or(byte));
                at += 3;
            }
            None => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&decoded).into_owned())
}
