//! Shortens and cleans error messages of providers so that they can be shown.

use std::borrow::Cow;

use avocet_protocol::model::decode_json;
use avocet_text::{Redactor, Secret};
use serde_json::Value;

/// Maximum length of a shown error message, in characters.
const MAX_DETAIL: usize = 300;
/// Maximum length of the title of a page, in characters.
const MAX_TITLE: usize = 80;
/// Beginnings of a page, in lower case.
const PAGES: [&str; 5] = ["<!doctype", "<html", "<head", "<body", "<?xml"];

/// Finds the message of an error in the formats that servers use: a text, JSON in a text (gateways),
/// a list with one error (Google), or a list of wrong fields (servers in Python). OpenRouter adds
/// the words of the provider that it asked.
pub(crate) fn error_message(error: &Value) -> Option<Cow<'_, str>> {
    let error = if error.is_array() { &error[0] } else { error };
    let shapes = [
        &error["error"]["message"],
        &error["error"],
        &error["message"],
        &error["detail"],
        &error["errors"][0]["message"],
        &error["error_description"],
        &error["error_msg"],
        &error["msg"],
        &error["base_resp"]["status_msg"],
    ];
    let message = shapes.into_iter().find_map(message_text)?;
    let raw = error["error"]["metadata"]["raw"].as_str().filter(|raw| !raw.trim().is_empty());
    Some(match raw.and_then(message_text_of) {
        Some(raw) => Cow::Owned(format!("{message}: {raw}")),
        None => message,
    })
}

/// Returns the message of an error, or its whole body if it has none.
pub(crate) fn error_text<'e>(error: &'e Value, body: &'e str) -> Cow<'e, str> {
    error_message(error).unwrap_or(Cow::Borrowed(body))
}

fn message_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => message_text_of(text),
        Value::Array(fields) => wrong_fields(fields).map(Cow::Owned),
        Value::Object(inner) => inner.get("detail").or(inner.get("message")).and_then(message_text),
        _ => None,
    }
}

/// The message in a text, which may be JSON with an error.
fn message_text_of(text: &str) -> Option<Cow<'_, str>> {
    if text.trim_start().starts_with(['{', '['])
        && let Ok(inner @ (Value::Object(_) | Value::Array(_))) = decode_json(text.as_bytes())
        && let Some(message) = error_message(&inner)
    {
        return Some(Cow::Owned(message.into_owned()));
    }
    (!text.trim().is_empty()).then_some(Cow::Borrowed(text))
}

/// The places and faults of wrong fields. Their values are left out: a value may be anything that
/// the conversation has.
fn wrong_fields(fields: &[Value]) -> Option<String> {
    let faults = fields.iter().filter_map(|field| {
        let message = field["msg"].as_str()?;
        let place = field["loc"].as_array().into_iter().flatten().map(|part| match part {
            Value::String(name) => name.clone(),
            other => other.to_string(),
        });
        let place = place.collect::<Vec<_>>().join(".");
        Some(if place.is_empty() { message.to_owned() } else { format!("{place}: {message}") })
    });
    let faults: Vec<String> = faults.collect();
    (!faults.is_empty()).then(|| faults.join("; "))
}

/// Returns an error message in one short line. Removes our keys, because some providers repeat
/// them. A key of fewer than [`Redactor::SHORTEST`] characters, such as the "x" that some local
/// servers require, is no secret and occurs in ordinary words.
pub(crate) fn clean_detail<'k>(text: &str, keys: impl IntoIterator<Item = &'k Secret>) -> String {
    let mut text = replace_page(text).split_whitespace().collect::<Vec<_>>().join(" ");
    for key in keys {
        if key.expose().chars().count() >= Redactor::SHORTEST {
            text = text.replace(key.expose(), "[secret]");
        }
    }
    if text.chars().count() > MAX_DETAIL {
        text = text.chars().take(MAX_DETAIL).collect();
        text.push('…');
    }
    text
}

/// Replaces a page of a proxy, and events of a stream, by their message. The status before them
/// stays.
fn replace_page(text: &str) -> Cow<'_, str> {
    if let Some((status, body)) = text.split_once(": ")
        && !status.is_empty()
        && status.bytes().all(|byte| byte.is_ascii_digit())
    {
        return Cow::Owned(format!("{status}: {}", replace_page(body)));
    }
    let lower = text.to_ascii_lowercase();
    if let Some(start) = PAGES.iter().filter_map(|page| lower.find(page)).min() {
        let title =
            title_of_page(text, &lower).map(|title| format!(": {title}")).unwrap_or_default();
        return Cow::Owned(format!("{}a web page{title}", &text[..start]));
    }
    let is_event = |line: &str| line.starts_with("data:") || line.starts_with("event:");
    let Some(first) = text.lines().position(|line| is_event(line.trim_start())) else {
        return Cow::Borrowed(text);
    };
    let before: Vec<&str> = text.lines().take(first).collect();
    let said = text.lines().rev().find_map(|line| {
        let data = line.trim_start().strip_prefix("data:")?;
        let event: Value = decode_json(data.as_bytes()).ok()?;
        error_message(&event).map(Cow::into_owned)
    });
    let said = said.unwrap_or_else(|| "a stream of events".to_owned());
    Cow::Owned(format!("{} {said}", before.join(" ")))
}

/// The title of a page, else its first heading.
fn title_of_page(page: &str, lower: &str) -> Option<String> {
    ["title", "h1"].into_iter().find_map(|tag| {
        let open = lower.find(&format!("<{tag}"))?;
        let start = open + lower[open..].find('>')? + 1;
        let end = start + lower[start..].find(&format!("</{tag}"))?;
        let title: String = page[start..end].chars().filter(|c| !"<>".contains(*c)).collect();
        let title = title.trim();
        (!title.is_empty()).then(|| title.chars().take(MAX_TITLE).collect())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn error_message_finds_the_words_in_every_format_without_the_values_of_fields() {
        let inner = r#"{"error":{"message":"no"}}"#;
        let field = json!({ "type": "extra_forbidden", "msg": "Extra inputs are not permitted",
            "loc": ["body", "messages", 2, "assistant", "reasoning_content"], "input": "SECRET" });
        let place = "body.messages.2.assistant.reasoning_content: Extra inputs are not permitted";
        let table = [
            (json!({ "error": { "message": "no" } }), Some("no")),
            (json!({ "error": "no" }), Some("no")),
            (json!({ "message": "no" }), Some("no")),
            (json!({ "detail": "no" }), Some("no")),
            (json!([{ "error": { "message": "no" } }]), Some("no")),
            (json!({ "error": { "message": inner } }), Some("no")),
            (json!({ "error": { "message": "[1] is odd" } }), Some("[1] is odd")),
            (json!({ "detail": [field] }), Some(place)),
            (json!({ "object": "error", "message": { "detail": [field] } }), Some(place)),
            (
                json!({ "error": { "message": "Provider returned error", "code": 400,
                    "metadata": { "raw": inner } } }),
                Some("Provider returned error: no"),
            ),
            (json!({ "status": "odd" }), None),
            (json!([]), None),
        ];
        for (error, expected) in table {
            assert_eq!(error_message(&error).as_deref(), expected, "{error}");
        }
    }

    #[test]
    fn clean_replaces_pages_and_events_by_their_message() {
        let table = [
            (
                "502: <html>\n<head><title>502 Bad Gateway</title></head>",
                "502: a web page: 502 Bad Gateway",
            ),
            ("<!DOCTYPE html><h1>Sign in</h1>", "a web page: Sign in"),
            ("<?xml version=\"1.0\"?><Error/>", "a web page"),
            ("500: event: error\ndata: {\"error\":{\"message\":\"oops\"}}\n", "500: oops"),
            ("event: error\ndata: {\"error\":{\"message\":\"oops\"}}\n\ndata: [DONE]", "oops"),
            ("data: [DONE]", "a stream of events"),
            ("1 < 2 and\n3 > 2", "1 < 2 and 3 > 2"),
        ];
        for (text, expected) in table {
            assert_eq!(clean_detail(text, []), expected, "{text}");
        }
    }

    #[test]
    fn clean_removes_keys_but_no_short_dummy_key() {
        let secret = |text: &str| Secret::new(text.to_owned());
        let (dummy, key) = (secret("x"), secret("sk-1234567"));
        let text = "the text of sk-1234567 is next";
        assert_eq!(clean_detail(text, [&dummy, &key]), "the text of [secret] is next");
        assert_eq!(clean_detail("none is open", [&secret("none")]), "none is open");
    }
}
