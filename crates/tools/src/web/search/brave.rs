//! Brave Search (Web Search API, `GET /web/search`).

use avocet_net::Url;

use super::{
    CHECK_KEY, SearchParameters, SearchProvider, SearchRequest, SearchResult, results_in_json,
};
use crate::web::plain::plain_page;

pub(super) const PROVIDER: SearchProvider = SearchProvider {
    name: "brave",
    place: Some("https://api.search.brave.com/res/v1"),
    wants_key: true,
    if_refused: CHECK_KEY,
    request: build_request,
    parse: parse_results,
};

fn build_request(asked: &SearchParameters<'_>) -> Option<SearchRequest> {
    let count = asked.count.to_string();
    let parameters = [("q", asked.query), ("count", &count), ("text_decorations", "false")];
    let url = Url::parse_with_params(&format!("{}/web/search", asked.base), parameters).ok()?;
    let headers = vec![
        ("accept", "application/json".to_owned()),
        ("x-subscription-token", asked.key.to_owned()),
    ];
    Some(SearchRequest { url, headers, body: None })
}

/// Titles and descriptions are HTML. Without results, `web` is missing.
fn parse_results(body: &str) -> Result<Vec<SearchResult>, String> {
    let found = results_in_json(body, "/web/results", "description")?.into_iter().map(|found| {
        SearchResult {
            title: plain_page(&found.title).text,
            snippet: plain_page(&found.snippet).text,
            ..found
        }
    });
    Ok(found.collect())
}
