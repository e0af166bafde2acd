//! Brave Search (Web Search API, `GET /web/search`).

use avocet_net::Url;

use super::{CHECK_KEY, Provider, Request, SearchParameters, SearchResult, listed};
use crate::web::plain::plain;

pub(super) const PROVIDER: Provider = Provider {
    name: "brave",
    place: Some("https://api.search.brave.com/res/v1"),
    wants_key: true,
    if_refused: CHECK_KEY,
    request,
    parse,
};

fn request(asked: &SearchParameters<'_>) -> Option<Request> {
    let count = asked.count.to_string();
    let parameters = [("q", asked.query), ("count", &count), ("text_decorations", "false")];
    let url = Url::parse_with_params(&format!("{}/web/search", asked.base), parameters).ok()?;
    let headers = vec![
        ("accept", "application/json".to_owned()),
        ("x-subscription-token", asked.key.to_owned()),
    ];
    Some(Request { url, headers, body: None })
}

/// Titles and descriptions are HTML. Without results, `web` is missing.
fn parse(body: &str) -> Result<Vec<SearchResult>, String> {
    let found =
        listed(body, "/web/results", "description")?.into_iter().map(|found| SearchResult {
            title: plain(&found.title).text,
            snippet: plain(&found.snippet).text,
            ..found
        });
    Ok(found.collect())
}
