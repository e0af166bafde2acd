//! The context window that a refusal names, in the wordings of the providers. A window is never
//! guessed from other numbers.

use serde_json::Value;

/// Words right before the size of the window.
const BEFORE: [&str; 11] = [
    "maximum context length is ",
    "maximum context length of ",
    "maximum prompt length is ",
    "maximum number of tokens allowed (",
    "context length of only ",
    "context length of ",
    "available context size (",
    "context window of ",
    "context window (",
    "context limit of ",
    "model's context limit is ",
];
/// Words right after the size of the window.
const AFTER: [&str; 2] = [" maximum context length", " maximum"];
/// Sizes that a window can have.
const POSSIBLE: std::ops::RangeInclusive<u64> = 256..=100_000_000;

/// Returns the window that an error about a too long request names. `error` is its JSON, if any.
pub(super) fn window_in_error(says: &str, error: &Value) -> Option<u64> {
    let in_json = error["error"]["n_ctx"].as_u64();
    let says = says.to_lowercase().replace(['`', '\''], "");
    let text = without_separators(&says);
    let after_words = BEFORE.iter().filter_map(|words| {
        let (_, rest) = text.split_once(&words.replace('\'', ""))?;
        leading_number(rest)
    });
    let before_words = AFTER.iter().filter_map(|words| trailing_number(text.split_once(words)?.0));
    let compared =
        text.contains("context limit").then(|| leading_number(text.rsplit_once("> ")?.1));
    let found =
        in_json.into_iter().chain(after_words).chain(before_words).chain(compared.flatten());
    found.into_iter().find(|tokens| POSSIBLE.contains(tokens))
}

/// Removes commas and underscores between digits.
fn without_separators(text: &str) -> String {
    let bytes = text.as_bytes();
    let is_digit = |place: Option<usize>| {
        place.and_then(|place| bytes.get(place)).is_some_and(u8::is_ascii_digit)
    };
    let keep = |place: usize, c: char| {
        !(matches!(c, ',' | '_') && is_digit(place.checked_sub(1)) && is_digit(Some(place + 1)))
    };
    text.char_indices().filter(|(place, c)| keep(*place, *c)).map(|(_, c)| c).collect()
}

fn leading_number(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

fn trailing_number(text: &str) -> Option<u64> {
    let digits = text.len() - text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    text[text.len() - digits..].parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn named_finds_the_window_in_the_words_of_each_provider_and_guesses_none() {
        let table = [
            (
                "This model's maximum context length is 8192 tokens. However, you requested 9000 \
              tokens (8000 in the messages, 1000 in the completion).",
                Some(8192),
            ),
            (
                "This endpoint's maximum context length is 131,072 tokens. However, you requested \
              about 150000 tokens",
                Some(131_072),
            ),
            ("prompt is too long: 210000 tokens > 200000 maximum", Some(200_000)),
            (
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, \
              decrease input length",
                Some(200_000),
            ),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed \
              (1048576).",
                Some(1_048_576),
            ),
            (
                "request (10045 tokens) exceeds the available context size (8192 tokens), try \
              increasing it",
                Some(8192),
            ),
            (
                "Trying to keep the first 5000 tokens when context the overflows. However, the model \
              is loaded with context length of only 4096 tokens",
                Some(4096),
            ),
            (
                "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 \
              maximum context length",
                Some(32_768),
            ),
            (
                "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
                Some(131_072),
            ),
            ("Your input exceeds the context window of this model.", None),
            ("input length exceeds the context length", None),
            ("too many tokens: 9000", None),
            ("the maximum context length is 0", None),
            ("maximum context length is 99999999999999999999999", None),
        ];
        for (says, expected) in table {
            assert_eq!(window_in_error(says, &Value::Null), expected, "{says}");
        }
        let says = "the request exceeds the available context size, try increasing it";
        let error = json!({ "error": { "message": says, "n_prompt_tokens": 9000, "n_ctx": 4096 } });
        assert_eq!(window_in_error(says, &error), Some(4096));
    }
}
