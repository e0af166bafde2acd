//! From what is said to what a terminal shows: nothing that moves its cursor, buttons as text.

use avocet_protocol::{Choice, Content, REPEAT_MARK, sanitise};

/// The longest piece that is handed over at once, in bytes; a line of the socket holds more.
const MAX_CHUNK_BYTES: usize = 64 * 1024;

/// Cuts a reply at the ends of lines, or, where a line is too long, between characters.
pub(crate) fn plan(reply: &Content) -> Vec<Content> {
    let mut chunks = Vec::new();
    let mut rest = reply.text.as_str();
    while rest.len() > MAX_CHUNK_BYTES {
        let limit = rest.floor_char_boundary(MAX_CHUNK_BYTES);
        let end = rest[..limit].rfind('\n').map_or(limit, |at| at + 1);
        let (chunk, more) = rest.split_at(end);
        chunks.push(Content::text(chunk));
        rest = more;
    }
    let Content { attachments, choices, .. } = reply.clone();
    chunks.push(Content { text: rest.to_owned(), attachments, choices, ..Content::default() });
    chunks
}

/// A chunk as it is printed.
pub(crate) fn printed(text: &str, choices: &[Choice], repeat: bool) -> String {
    let mut printed = String::new();
    if repeat {
        printed.push_str(REPEAT_MARK);
        printed.push('\n');
    }
    printed.push_str(&safe(text));
    for Choice { label, says } in choices {
        printed.push_str(&format!("\n  [{}] {}", safe(label), safe(says)));
    }
    printed
}

/// A text from elsewhere cannot move the cursor, change colours or ring the bell.
pub(crate) fn safe(text: &str) -> String {
    sanitise(text).text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_cut_at_the_ends_of_lines() {
        let short = Content { choices: vec![Choice::new("a", "b")], ..Content::text("short") };
        assert_eq!(plan(&short), [short]);
        let line = format!("{}\n", "ü".repeat(500));
        let text = line.repeat(200);
        let chunks = plan(&Content::text(&text));
        assert!(chunks.iter().all(|chunk| chunk.text.len() <= MAX_CHUNK_BYTES));
        assert!(chunks.iter().rev().skip(1).all(|chunk| chunk.text.ends_with('\n')));
        let whole: String = chunks.into_iter().map(|chunk| chunk.text).collect();
        assert_eq!(whole, text);
        let one_line = "ü".repeat(MAX_CHUNK_BYTES);
        let whole: String =
            plan(&Content::text(&one_line)).into_iter().map(|chunk| chunk.text).collect();
        assert_eq!(whole, one_line);
    }

    #[test]
    fn what_is_printed_is_safe_and_marked() {
        let choices = [Choice::new("Skip", "/skip w3")];
        assert_eq!(
            printed("hi\u{1b}[2J\u{7}", &choices, true),
            "(sent again; it may have arrived before)\nhi[2J\n  [Skip] /skip w3"
        );
    }
}
