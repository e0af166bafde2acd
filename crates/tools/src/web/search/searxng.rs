//! SearXNG, a self-hosted search server (Search API, `GET /search?format=json`).

use avocet_net::Url;

use super::{SearchParameters, SearchProvider, SearchRequest, SearchResult, results_in_json};

pub(super) const PROVIDER: SearchProvider = SearchProvider {
    name: "searxng",
    place: None,
    wants_key: false,
    if_refused: "the operator has to allow JSON answers: `json` in `search.formats` of its \
        settings.yml",
    request: build_request,
    parse: parse_results,
};

/// SearXNG itself needs no key, but a proxy in front of it may.
fn build_request(asked: &SearchParameters<'_>) -> Option<SearchRequest> {
    let parameters = [("q", asked.query), ("format", "json")];
    let url = Url::parse_with_params(&format!("{}/search", asked.base), parameters).ok()?;
    let mut headers = vec![("accept", "application/json".to_owned())];
    if !asked.key.is_empty() {
        headers.push(("authorization", format!("Bearer {}", asked.key)));
    }
    Some(SearchRequest { url, headers, body: None })
}

fn parse_results(body: &str) -> Result<Vec<SearchResult>, String> {
    results_in_json(body, "/results", "content")
}
