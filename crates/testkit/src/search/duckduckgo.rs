//! DuckDuckGo's page for browsers without scripts.

use std::fmt::Write;

use super::{Hit, SearchRefusal, Searched, escaped, parameter, parameters, refused};
use crate::http::HttpRequest;

pub(super) fn check(request: &HttpRequest) -> Result<Searched, SearchRefusal> {
    let parameters = parameters(request, "/html/")?;
    if request.header("user-agent").is_none() {
        return refused(403, "<h1>403 Forbidden</h1>");
    }
    match parameter(&parameters, "q") {
        Some(query) if !query.is_empty() => Ok(Searched { query: query.to_owned(), count: None }),
        _ => refused(302, ""),
    }
}

/// Begins with an advertisement. Every other link is a redirect.
pub(super) fn answer(hits: &[Hit]) -> String {
    let mut page = String::from(
        "<!DOCTYPE html><html><body><form><input name=\"q\"></form><div id=\"links\" class=\"results\">",
    );
    if hits.is_empty() {
        page.push_str("<div class=\"no-results\">No results.</div>");
    } else {
        let ad = "//duckduckgo.com/y.js?ad_domain=shop.dev&amp;u3=https%3A%2F%2Fshop.dev";
        write!(
            page,
            "<div class=\"result results_links results_links_deep result--ad\">\
            <a class=\"result__a\" href=\"{ad}\">Buy wheels</a></div>\
            <div class=\"result\"><a class=\"result__a\" href=\"{ad}\">Buy more</a></div>"
        )
        .unwrap();
    }
    for (place, hit) in hits.iter().enumerate() {
        let Hit { title, url, snippet } = hit;
        let href = match place % 2 {
            0 => format!("//duckduckgo.com/l/?uddg={}&rut=5f2e", encoded(url)),
            _ => url.clone(),
        };
        let (href, title, snippet) = (escaped(&href), escaped(title), escaped(snippet));
        write!(
            page,
            "<div class=\"result results_links results_links_deep web-result \">\
            <div class=\"links_main links_deep result__body\"><h2 class=\"result__title\">\
            <a rel=\"nofollow\" class=\"result__a\" href=\"{href}\">{title}</a></h2>\
            <a class=\"result__url\" href=\"{href}\">site.dev</a>\
            <a class=\"result__snippet\" href=\"{href}\">{snippet}</a></div></div>"
        )
        .unwrap();
    }
    page + "</div></body></html>"
}

fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => encoded.push(char::from(byte)),
            _ => write!(encoded, "%{byte:02X}").unwrap(),
        }
        encoded
    })
}
