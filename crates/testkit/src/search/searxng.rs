//! SearXNG's Search API, with answers in JSON.

use serde_json::json;

use super::{Hit, SearchRefusal, Searched, parameter, parameters, refused};
use crate::http::HttpRequest;

pub(super) fn check(request: &HttpRequest) -> Result<Searched, SearchRefusal> {
    let parameters = parameters(request, "/search")?;
    if parameter(&parameters, "format") != Some("json") {
        return refused(403, "<!doctype html><h1>Forbidden</h1>");
    }
    match parameter(&parameters, "q") {
        Some(query) if !query.is_empty() => Ok(Searched { query: query.to_owned(), count: None }),
        _ => refused(400, json!({ "error": "No query" }).to_string()),
    }
}

pub(super) fn answer(hits: &[Hit]) -> String {
    let result = |hit: &Hit| {
        json!({ "url": hit.url, "title": hit.title, "content": hit.snippet, "engine": "one",
            "parsed_url": ["https", "site.dev", "/", "", "", ""], "score": 1.0, "category": "general" })
    };
    let results: Vec<_> = hits.iter().map(result).collect();
    json!({ "query": "", "number_of_results": 0, "results": results, "answers": [],
        "suggestions": [], "unresponsive_engines": [] })
    .to_string()
}
