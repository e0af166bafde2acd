//! Maps error codes to statuses (OpenAI API reference, "Error codes"), including those of
//! compatible servers. In the middle of a stream, the code is the only hint at a status.

use serde_json::Value;

/// The status that an error with this code or type would have had before the stream; `None` for
/// unknown words.
pub(crate) fn status_of_code(word: &str) -> Option<u16> {
    Some(match word {
        "authentication_error" | "invalid_api_key" => 401,
        "billing_error"
        | "billing_hard_limit_reached"
        | "billing_not_active"
        | "insufficient_quota" => 402,
        "permission_denied" | "permission_error" => 403,
        "model_not_found" | "not_found_error" => 404,
        "context_length_exceeded" | "exceed_context_size_error" | "request_too_large" => 413,
        "rate_limit_error"
        | "rate_limit_exceeded"
        | "requests"
        | "tokens"
        | "too_many_requests" => 429,
        "api_error" | "internal_error" | "internal_server_error" | "server_error" => 500,
        "overloaded_error" | "server_is_overloaded" | "slow_down" | "unavailable_error" => 503,
        "timeout" | "timeout_error" => 504,
        "content_filter" | "content_policy_violation" => 400,
        _ if word.starts_with("invalid_") || word.contains("image") => 400,
        _ => return None,
    })
}

/// The status that an error object names. Some servers send a number in `code` (OpenRouter
/// documentation, "Errors"; llama.cpp) or in `status_of_code`; a word in `type` may be more
/// precise.
pub(crate) fn of_error(error: &Value) -> Option<u16> {
    let numbers = [&error["code"], &error["status"], &error["status_code"], error];
    let number = numbers.into_iter().find_map(status_number);
    let words = [error["code"].as_str(), error["type"].as_str()];
    let word = words.into_iter().flatten().find_map(status_of_code);
    match (number, word) {
        (Some(_), Some(more @ (402 | 413))) => Some(more),
        (number, word) => number.or(word),
    }
}

fn status_number(code: &Value) -> Option<u16> {
    let number = code.as_u64().or_else(|| code.as_str()?.trim().parse().ok())?;
    u16::try_from(number).ok().filter(|code| (400..600).contains(code))
}
