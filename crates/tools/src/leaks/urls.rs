//! URLs in a text, in whatever way they are written, and whether they can carry data.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Labels before a site's own name that say what part of it is meant, and nothing else.
const USUAL: [&str; 46] = [
    "about",
    "api",
    "app",
    "archive",
    "blog",
    "cdn",
    "community",
    "crates",
    "dev",
    "developer",
    "developers",
    "doc",
    "docs",
    "download",
    "downloads",
    "en",
    "forum",
    "forums",
    "ftp",
    "gist",
    "git",
    "help",
    "home",
    "info",
    "learn",
    "mail",
    "maps",
    "media",
    "mobile",
    "news",
    "old",
    "packages",
    "play",
    "portal",
    "raw",
    "shop",
    "static",
    "status",
    "store",
    "support",
    "test",
    "translate",
    "web",
    "wiki",
    "ww2",
    "www",
];
/// Second-level names under which countries have names registered.
const SECOND_LEVEL: [&str; 10] = ["ac", "co", "com", "edu", "go", "gov", "ne", "net", "or", "org"];
/// Ports that say nothing.
const USUAL_PORTS: [&str; 4] = ["80", "443", "8080", "8443"];

/// The URLs that a text has leave with it: none that is known, and none that just names a site. Each
/// once.
pub(super) fn leaving(text: &str, known: &dyn Fn(&str) -> bool) -> BTreeSet<String> {
    let mut leaving = BTreeSet::new();
    // What is a URL as it stands is not read in another way, too.
    let mut rest = Cow::Borrowed(text);
    for read in
        [as_it_stands as fn(&str) -> Cow<'_, str>, as_markdown, percent_decoded, percent_decoded]
    {
        let reading = read(&rest);
        let found: Vec<Range<usize>> = urls(&reading).collect();
        let mut without = String::with_capacity(reading.len());
        let mut end = 0;
        for range in found {
            let url = &reading[range.clone()];
            if carries_data(url) && !known(url) {
                leaving.insert(url.to_owned());
            }
            without.push_str(&reading[end..range.start]);
            without.push(' ');
            end = range.end;
        }
        without.push_str(&reading[end..]);
        rest = Cow::Owned(without);
    }
    leaving
}

fn as_it_stands(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

fn regex(pattern: &str) -> Regex {
    match Regex::new(pattern) {
        Ok(regex) => regex,
        Err(error) => panic!("the pattern is written in the source: {error}"),
    }
}

/// Where URLs stand: behind a scheme, with `www.`, or as the target of a link without a scheme.
fn urls(text: &str) -> impl Iterator<Item = Range<usize>> {
    static URL: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r#"(?ix) (?: https?:[/\\]*[^\s/\\<>"`'()] | [a-z][a-z0-9+.-]*:[/\\]{2,} | \bwww\d?\.
                | \]\(\s*<?[/\\]{2} | \b(?:src|href)\s*=\s*["']?[/\\]{2} ) [^\s<>"`]* "#,
        )
    });
    URL.find_iter(text).filter_map(|found| {
        // The link around a target is not of it.
        let lead = found.as_str().find(['/', '\\']).filter(|_| {
            found.as_str().starts_with(']')
                || found.as_str().contains('=') && !found.as_str().contains(':')
        });
        let start = found.start() + lead.unwrap_or(0);
        let url = trimmed(&text[start..found.end()]);
        (!url.is_empty()).then(|| start..start + url.len())
    })
}

/// Without what ends a sentence, or closes what was opened before the URL.
fn trimmed(url: &str) -> &str {
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

/// Whether there is more in it than the name of a site that anybody could have named.
fn carries_data(url: &str) -> bool {
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
    if scheme == "file" || is_this_machine(host) {
        return false;
    }
    let is_usual_port = port.is_empty() || USUAL_PORTS.contains(&port);
    !(matches!(behind, "" | "/") && is_usual_port && is_plain_name(host))
}

fn is_this_machine(host: &str) -> bool {
    let is_loopback =
        |host: &str| host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    host.eq_ignore_ascii_case("localhost")
        || is_loopback(host.trim_start_matches('[').trim_end_matches(']'))
}

/// The name of a site, and before it nothing but usual labels: what somebody registered cannot be chosen
/// anew for every secret.
fn is_plain_name(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let labels: Vec<&str> = host.strip_suffix('.').unwrap_or(&host).split('.').collect();
    let is_label = |label: &&str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with("xn--")
    };
    let [before @ .., site, top] = &labels[..] else { return false };
    let is_country = top.len() == 2 && SECOND_LEVEL.contains(site);
    let before = match before {
        [before @ .., _] if is_country => before,
        before => before,
    };
    let languages = before.iter().filter(|label| label.len() == 2).count();
    let is_usual = |label: &&str| label.len() == 2 || USUAL.contains(label);
    labels.iter().all(is_label)
        && top.bytes().all(|byte| byte.is_ascii_alphabetic())
        && before.len() <= 2
        && languages <= 1
        && before.iter().all(is_usual)
}

/// As CommonMark reads a target: without the backslashes before punctuation, and with what entities stand
/// for.
fn as_markdown(text: &str) -> Cow<'_, str> {
    static ESCAPED: LazyLock<Regex> = LazyLock::new(|| {
        regex(
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
            (.., Some(name)) => named(name.as_str()),
            _ => None,
        };
        meant.map_or_else(|| found[0].to_owned(), String::from)
    })
}

/// The entities that a URL could be written with.
fn named(entity: &str) -> Option<char> {
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

fn percent_decoded(text: &str) -> Cow<'_, str> {
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
