//! Tavily's Search API.

use serde_json::{Value, json};

use super::{Hit, KEY, SearchRefusal, Searched, refused};
use crate::http::HttpRequest;

pub(super) fn check(request: &HttpRequest) -> Result<Searched, SearchRefusal> {
    let refuse = |status: u16, error: &str| {
        refused(status, json!({ "detail": { "error": error } }).to_string())
    };
    if (request.method.as_str(), request.path.as_str()) != ("POST", "/search") {
        return refuse(404, "Not Found");
    }
    let key = request.header("authorization").unwrap_or_default();
    if key != format!("Bearer {KEY}") {
        return refuse(401, &format!("Unauthorized: missing or invalid API key: {key}"));
    }
    if request.header("content-type") != Some("application/json") {
        return refuse(422, "Input should be a valid dictionary");
    }
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let query = body["query"].as_str().unwrap_or_default().to_owned();
    let count = body["max_results"].as_u64().unwrap_or(5);
    if query.is_empty() {
        return refuse(400, "Query is missing.");
    }
    if count > 20 {
        return refuse(400, "Max results cannot be greater than 20.");
    }
    Ok(Searched { query, count: usize::try_from(count).ok() })
}

pub(super) fn answer(hits: &[Hit]) -> String {
    let result = |hit: &Hit| {
        json!({ "title": hit.title, "url": hit.url, "content": hit.snippet, "score": 0.9,
            "raw_content": null })
    };
    let results: Vec<_> = hits.iter().map(result).collect();
    json!({ "query": "", "answer": null, "images": [], "results": results, "response_time": 0.5 })
        .to_string()
}
