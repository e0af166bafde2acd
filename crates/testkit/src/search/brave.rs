//! Brave's Web Search API.

use serde_json::json;

use super::{Hit, KEY, SearchRefusal, Searched, escaped, parameter, parameters, refused};
use crate::http::HttpRequest;

pub(super) fn check(request: &HttpRequest) -> Result<Searched, SearchRefusal> {
    let refuse = |status: u16, code: &str, detail: &str| {
        let error = json!({ "id": "0", "status": status, "code": code, "detail": detail });
        refused(status, json!({ "type": "ErrorResponse", "error": error }).to_string())
    };
    let parameters = parameters(request, "/res/v1/web/search")?;
    match request.header("x-subscription-token") {
        Some(KEY) => {}
        Some(key) => {
            let detail = format!("The provided subscription token is invalid: {key}");
            return refuse(422, "SUBSCRIPTION_TOKEN_INVALID", &detail);
        }
        None => return refuse(422, "VALIDATION", "x-subscription-token is required"),
    }
    if !matches!(request.header("accept"), Some("application/json" | "*/*")) {
        return refuse(406, "NOT_ACCEPTABLE", "only JSON is answered");
    }
    let query = parameter(&parameters, "q").unwrap_or_default().to_owned();
    let count = parameter(&parameters, "count").unwrap_or("20").parse().unwrap_or(0);
    if query.is_empty() || query.chars().count() > 400 || !(1..=20).contains(&count) {
        return refuse(422, "VALIDATION", "Unable to validate request parameter(s)");
    }
    if parameter(&parameters, "text_decorations") != Some("false") {
        return refuse(422, "VALIDATION", "the test wants text without decorations");
    }
    Ok(Searched { query, count: Some(count) })
}

/// Without results, the answer has no `web`.
pub(super) fn answer(hits: &[Hit]) -> String {
    let result = |hit: &Hit| {
        let (title, description) = (escaped(&hit.title), escaped(&hit.snippet));
        json!({ "type": "search_result", "title": title, "url": hit.url, "description": description,
            "language": "en", "meta_url": { "scheme": "https" } })
    };
    let mut answer =
        json!({ "type": "search", "query": { "original": "", "more_results_available": true } });
    if !hits.is_empty() {
        let results: Vec<_> = hits.iter().map(result).collect();
        answer["web"] = json!({ "type": "search", "results": results });
    }
    answer.to_string()
}
