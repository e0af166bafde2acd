//! Shortens and cleans error messages of providers so that they can be shown.

use std::borrow::Cow;

use avocet_protocol::{Redactor, Secret, decode_json};
use serde_json::Value;

/// Maximum length of a shown error message, in characters.
const MAX_DETAIL: usize = 300;
/// Maximum length of the title of a page, in characters.
const MAX_TITLE: usize = 80;
/// Beginnings of a page, in lower case.
const PAGES: [&str; 5] = ["<!doctype", "<html", "<head", "<body", "<?xml"];

/// Finds the message of an error in the formats that servers use.
pub(crate) fn error_message(error: &Value) -> Option<&str> {
    let shapes = [
        &error["error"]["message"],
        &error["error"],
        &error["message"],
        &error["detail"],
        &error["detail"]["message"],
        &error["detail"][0]["msg"],
        &error["errors"][0]["message"],
        &error["error_description"],
        &error["error_msg"],
        &error["msg"],
        &error["base_resp"]["status_msg"],
    ];
    let mut texts = shapes.into_iter().filter_map(Value::as_str);
    texts.find(|text| !text.trim().is_empty())
}

/// Returns an error message in one short line. Removes our keys, because some providers repeat
/// them. A key of fewer than [`Redactor::SHORTEST`] characters, such as the "x" that some local
/// servers require, is no secret and occurs in ordinary words.
pub(crate) fn clean<'k>(text: &str, keys: impl IntoIterator<Item = &'k Secret>) -> String {
    let mut text = readable(text).split_whitespace().collect::<Vec<_>>().join(" ");
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
fn readable(text: &str) -> Cow<'_, str> {
    if let Some((status, body)) = text.split_once(": ")
        && !status.is_empty()
        && status.bytes().all(|byte| byte.is_ascii_digit())
    {
        return Cow::Owned(format!("{status}: {}", readable(body)));
    }
    let lower = text.to_ascii_lowercase();
    if let Some(start) = PAGES.iter().filter_map(|page| lower.find(page)).min() {
        let title = title(text, &lower).map(|title| format!(": {title}")).unwrap_or_default();
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
        error_message(&event).map(str::to_owned)
    });
    let said = said.unwrap_or_else(|| "a stream of events".to_owned());
    Cow::Owned(format!("{} {said}", before.join(" ")))
}

/// The title of a page, else its first heading.
fn title(page: &str, lower: &str) -> Option<String> {
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
    use super::*;

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
            assert_eq!(clean(text, []), expected, "{text}");
        }
    }

    #[test]
    fn clean_removes_keys_but_no_short_dummy_key() {
        let secret = |text: &str| Secret::new(text.to_owned());
        let (dummy, key) = (secret("x"), secret("sk-1234567"));
        let text = "the text of sk-1234567 is next";
        assert_eq!(clean(text, [&dummy, &key]), "the text of [secret] is next");
        assert_eq!(clean("none is open", [&secret("none")]), "none is open");
    }
}
