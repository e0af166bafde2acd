//! Tavily (Tavily Search, `POST /search`).

use avocet_net::Url;
use serde_json::json;

use super::{CHECK_KEY, Provider, Request, SearchParameters, SearchResult, listed};

pub(super) const PROVIDER: Provider = Provider {
    name: "tavily",
    place: Some("https://api.tavily.com"),
    wants_key: true,
    if_refused: CHECK_KEY,
    request,
    parse,
};

fn request(asked: &SearchParameters<'_>) -> Option<Request> {
    let url = Url::parse(&format!("{}/search", asked.base)).ok()?;
    let headers = vec![("authorization", format!("Bearer {}", asked.key))];
    let body = json!({ "query": asked.query, "max_results": asked.count });
    Some(Request { url, headers, body: Some(body) })
}

fn parse(body: &str) -> Result<Vec<SearchResult>, String> {
    listed(body, "/results", "content")
}
