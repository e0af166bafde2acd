//! Addresses that a message does not show: behind words, and behind buttons. A person sees them by
//! pressing the words, and the model gets them as text.

use serde_json::Value;

use crate::numbers::read_integer;
use crate::raw_chat::Fields;

/// The most addresses of a message that become text: as many as the platform marks in a message, and
/// as many as a keyboard has buttons.
const MAX_ADDRESSES: usize = 100;

/// Returns the text or caption of a message with the address behind each link that does not show it
/// (Bot API, `text_link`). Offsets count UTF-16 units; invalid ones are skipped.
pub(crate) fn add_addresses(text: &str, message: &Fields) -> String {
    let field = if message.contains_key("text") { "entities" } else { "caption_entities" };
    let entities = message.get(field).and_then(Value::as_array).into_iter().flatten();
    let links = entities.filter(|entity| entity["type"] == "text_link").take(MAX_ADDRESSES);
    let mut links: Vec<(usize, &str)> =
        links.filter_map(|link| hidden_address(text, link)).collect();
    links.sort_by_key(|(end, _)| *end);
    let (mut shown, mut done) = (String::new(), 0);
    for (end, url) in links {
        shown.push_str(&text[done..end]);
        shown.push_str(&format!(" ({url})"));
        done = end;
    }
    shown.push_str(&text[done..]);
    shown
}

/// Returns the byte after a link's words, and its address. `None` if the words are the address.
fn hidden_address<'e>(text: &str, link: &'e Value) -> Option<(usize, &'e str)> {
    let url = link["url"].as_str().filter(|url| !url.is_empty())?;
    let offset =
        |field: &str| read_integer(&link[field]).and_then(|units| usize::try_from(units).ok());
    let start = byte_at(text, offset("offset")?)?;
    let end = byte_at(text, offset("offset")?.checked_add(offset("length")?)?)?;
    let bare = |address: &str| {
        let address = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"));
        address.map(|address| address.trim_end_matches('/').to_owned())
    };
    let words = text.get(start..end)?.trim();
    let is_shown = words == url || bare(url).is_some_and(|url| words.trim_end_matches('/') == url);
    (!is_shown).then_some((end, url))
}

/// Returns the byte offset of a UTF-16 offset; `None` outside of the text or within a character.
fn byte_at(text: &str, units: usize) -> Option<usize> {
    let mut passed = 0;
    for (byte, c) in text.char_indices() {
        if passed >= units {
            return (passed == units).then_some(byte);
        }
        passed += c.len_utf16();
    }
    (passed == units).then_some(text.len())
}

/// Returns a line for each button with an address; `None` without such buttons.
pub(crate) fn describe_buttons(message: &Fields) -> Option<String> {
    let rows = message.get("reply_markup")?.get("inline_keyboard")?.as_array()?.iter();
    let buttons = rows.filter_map(Value::as_array).flatten().filter_map(|button| {
        let (text, url) = (button["text"].as_str()?, button["url"].as_str()?);
        Some(format!("[button: {text} ({url})]"))
    });
    let buttons: Vec<String> = buttons.take(MAX_ADDRESSES).collect();
    (!buttons.is_empty()).then(|| buttons.join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn link(offset: usize, length: usize, url: &str) -> Value {
        json!({ "type": "text_link", "offset": offset, "length": length, "url": url })
    }

    #[test]
    fn add_addresses_puts_hidden_addresses_behind_their_words() {
        let (a, b) = ("https://a.example/x", "https://b.example/");
        let table = [
            (
                "see 🐦 here, or there",
                vec![link(7, 4, a), link(16, 5, b)],
                "see 🐦 here (https://a.example/x), or there (https://b.example/)",
            ),
            (
                "later first",
                vec![link(6, 5, a), link(0, 5, b)],
                "later (https://b.example/) first (https://a.example/x)",
            ),
            ("b.example", vec![link(0, 9, b)], "b.example"),
            ("https://a.example/x", vec![link(0, 19, a)], "https://a.example/x"),
            ("https://c.example", vec![link(0, 17, a)], "https://c.example (https://a.example/x)"),
            ("🐦", vec![link(1, 1, a), link(0, 9, a), link(usize::MAX, 2, a)], "🐦"),
            ("odd", vec![json!({ "type": "text_link", "offset": "x" }), json!(5)], "odd"),
            ("bold", vec![json!({ "type": "bold", "offset": 0, "length": 4, "url": a })], "bold"),
        ];
        for (text, entities, expected) in table {
            let message = json!({ "text": text, "entities": entities });
            assert_eq!(add_addresses(text, message.as_object().unwrap()), expected);
            let photo = json!({ "caption": text, "caption_entities": entities });
            assert_eq!(add_addresses(text, photo.as_object().unwrap()), expected);
        }
    }

    #[test]
    fn describe_buttons_names_buttons_with_addresses_only() {
        let keyboard = json!({ "inline_keyboard": [
            [{ "text": "Read", "url": "https://a.example/" }, { "text": "Like", "callback_data": "1" }],
            [{ "text": "More", "url": "https://b.example/" }], 5] });
        let message = json!({ "text": "news", "reply_markup": keyboard });
        let expected = "[button: Read (https://a.example/)]\n[button: More (https://b.example/)]";
        assert_eq!(describe_buttons(message.as_object().unwrap()).as_deref(), Some(expected));
        for nothing in [json!({}), json!({ "reply_markup": { "inline_keyboard": [[]] } })] {
            assert_eq!(describe_buttons(nothing.as_object().unwrap()), None);
        }
    }
}
