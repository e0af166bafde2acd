//! Tavily (Tavily Search, `POST /search`).

use avocet_net::Url;
use serde_json::json;

use super::{
    CHECK_KEY, SearchParameters, SearchProvider, SearchRequest, SearchResult, results_in_json,
};

pub(super) const PROVIDER: SearchProvider = SearchProvider {
    name: "tavily",
    place: Some("https://api.tavily.com"),
    wants_key: true,
    if_refused: CHECK_KEY,
    request: build_request,
    parse: parse_results,
};

fn build_request(asked: &SearchParameters<'_>) -> Option<SearchRequest> {
    let url = Url::parse(&format!("{}/search", asked.base)).ok()?;
    let headers = vec![("authorization", format!("Bearer {}", asked.key))];
    let body = json!({ "query": asked.query, "max_results": asked.count });
    Some(SearchRequest { url, headers, body: Some(body) })
}

fn parse_results(body: &str) -> Result<Vec<SearchResult>, String> {
    results_in_json(body, "/results", "content")
}
