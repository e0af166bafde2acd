//! Recognises the answer of a scheduled task that has nothing to report: our own word, or the word
//! that the checklists of OpenClaw and nanobot ask for.

use std::borrow::Cow;

use avocet_protocol::schedule::NOTHING_NEW;

/// The word of the checklists of other programs.
const HEARTBEAT_OK: &str = "HEARTBEAT_OK";
/// The most characters beside [`HEARTBEAT_OK`] that are dropped with it, as OpenClaw does by default.
const MAX_BESIDE: usize = 300;

/// Returns `true` for the word that a scheduled task answers with if it has no news, also in bold,
/// with a full stop or in tags. `HEARTBEAT_OK` may begin or end a short text.
pub(crate) fn is_silence(text: &str) -> bool {
    let text = without_markup(text);
    let text = trim_signs(&text);
    // Small models write the word as words: "Heartbeat OK".
    let words = text.replace([' ', '-'], "_");
    if [HEARTBEAT_OK, NOTHING_NEW].iter().any(|word| words.eq_ignore_ascii_case(word)) {
        return true;
    }
    let beside = split_word_off(text).map(|rest| trim_signs(rest).chars().count());
    beside.is_some_and(|count| count <= MAX_BESIDE)
}

/// The text beside [`HEARTBEAT_OK`] at its start or end.
fn split_word_off(text: &str) -> Option<&str> {
    let (length, whole) = (HEARTBEAT_OK.len(), text.len());
    let is_word =
        |part: Option<&str>| part.is_some_and(|part| part.eq_ignore_ascii_case(HEARTBEAT_OK));
    let is_apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    if is_word(text.get(..length)) && is_apart(text[length..].chars().next()) {
        return Some(&text[length..]);
    }
    let start = whole.checked_sub(length)?;
    let is_end = is_word(text.get(start..)) && is_apart(text[..start].chars().next_back());
    is_end.then(|| &text[..start])
}

fn trim_signs(text: &str) -> &str {
    text.trim_matches(|c: char| !c.is_alphanumeric())
}

/// Removes tags, and the backslashes that keep Markdown from reading `_`.
fn without_markup(text: &str) -> Cow<'_, str> {
    if !text.contains(['<', '\\']) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once('<') {
        plain.push_str(before);
        match tag.split_once('>') {
            Some((_, after)) => rest = after,
            None => {
                plain.push('<');
                rest = tag;
            }
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain.replace("\\_", "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_silence_knows_the_words_alone_and_with_markup() {
        for text in [
            "NOTHING_NEW",
            "**NOTHING_NEW**.",
            "HEARTBEAT_OK",
            " heartbeat_ok\n",
            "**HEARTBEAT_OK**",
            "`HEARTBEAT_OK`.",
            "HEARTBEAT\\_OK",
            "<b>HEARTBEAT_OK</b>",
            "✅ HEARTBEAT_OK 🦞",
            "Heartbeat OK.",
            "heartbeat-ok",
            "Nothing new.",
            "```text\nHEARTBEAT_OK\n```",
            "> HEARTBEAT_OK",
            "【HEARTBEAT_OK】",
            "{\"status\": \"HEARTBEAT_OK\"}",
            "HEARTBEAT_OK - all is well, nothing needs you.",
            "I checked the inbox: 0 new mails.\n\nHEARTBEAT_OK",
        ] {
            assert!(is_silence(text), "{text:?}");
        }
        let long = "x".repeat(301);
        for text in [
            "",
            "The server answered HEARTBEAT_OK to my question",
            "HEARTBEAT_OKAY",
            "Heartbeat OK? The lamp is on.",
            "Nothing new at home, but the server is down.",
            "MY_HEARTBEAT_OK",
            "rain. NOTHING_NEW",
            "a < b",
            &format!("{long} HEARTBEAT_OK"),
            &format!("HEARTBEAT_OK {long}"),
        ] {
            assert!(!is_silence(text), "{text:?}");
        }
    }
}
