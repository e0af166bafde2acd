//! Escapes text so that Discord and CommonMark show it literally.

use super::marks::DiscordMark;

/// Characters that have a meaning anywhere.
const EVERYWHERE: &str = "\\*_`~|<[]";

/// The place of a text in the written Markdown.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextPosition {
    /// `true` if a line begins with the text.
    pub(super) at_line_start: bool,
    /// `true` for the text of a link. Elsewhere addresses of web pages get angle brackets.
    pub(super) in_link: bool,
}

/// Writes `text`, a part of a line, escaped.
pub(super) fn push(out: &mut String, text: &str, position: TextPosition) {
    let mut rest = text;
    if position.at_line_start {
        rest = push_line_start(out, text);
    }
    while let Some(c) = rest.chars().next() {
        let address = if !position.in_link && c == 'h' { leading_address(rest) } else { None };
        if let Some(address) = address {
            out.push('<');
            out.push_str(address);
            out.push('>');
            rest = &rest[address.len()..];
            continue;
        }
        if c == '<'
            && let Some(length) = quiet_mark(rest)
        {
            out.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        let after = &rest[c.len_utf8()..];
        if means_something(c, after) {
            out.push('\\');
        }
        out.push(c);
        rest = after;
    }
}

/// Returns the length of the mark that `text` begins with, if Discord may show it in its own way: it
/// notifies no one.
fn quiet_mark(text: &str) -> Option<usize> {
    let (mark, length) = DiscordMark::read_leading(text)?;
    let is_quiet = match mark {
        DiscordMark::Channel(_) | DiscordMark::Emoji(_) | DiscordMark::Time => true,
        DiscordMark::Role(_) => false,
    };
    is_quiet.then_some(length)
}

fn means_something(c: char, after: &str) -> bool {
    let entity = |c: char| c.is_ascii_alphabetic() || c == '#';
    EVERYWHERE.contains(c)
        || (c == '@' && mentions_all(after))
        || (c == '&' && after.starts_with(entity))
        || (c == '!' && after.is_empty())
}

/// Returns `true` if an `@` before `text` makes it a mention.
fn mentions_all(text: &str) -> bool {
    text.starts_with("everyone") || text.starts_with("here")
}

/// Returns the position in an address at which the server would read a mention of everybody.
pub(super) fn find_mention(url: &str) -> Option<usize> {
    url.match_indices('@').map(|(at, _)| at).find(|&at| mentions_all(&url[at + 1..]))
}

/// Returns a link's target with its mentions percent-encoded.
pub(super) fn escape_target(url: &str) -> String {
    url.replace("@everyone", "%40everyone").replace("@here", "%40here")
}

/// Escapes a mark that begins a block at the start of a line: headings, quotes, lists, rules,
/// indented code. Returns the rest of the line.
fn push_line_start<'a>(out: &mut String, line: &'a str) -> &'a str {
    let text = line.trim_start_matches([' ', '\t']);
    for c in line[..line.len() - text.len()].chars() {
        out.push_str(if c == '\t' { "\u{a0}\u{a0}\u{a0}\u{a0}" } else { "\u{a0}" });
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, after) = text.split_at(digits);
    out.push_str(number);
    let numbered = digits > 0 && after.starts_with(['.', ')']);
    if numbered || (digits == 0 && after.starts_with(['#', '>', '-', '+', '=', ':'])) {
        let (mark, after) = after.split_at(1);
        out.push('\\');
        out.push_str(mark);
        return after;
    }
    after
}

/// Returns the web address that `text` begins with, without the punctuation behind it.
fn leading_address(text: &str) -> Option<&str> {
    let after = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
    let ends = |c: char| c.is_whitespace() || c.is_control() || "<>\\`|\"".contains(c);
    let length = after.find(ends).unwrap_or(after.len());
    let length = find_mention(&after[..length]).unwrap_or(length);
    let whole = &text[..text.len() - after.len() + length];
    let has_bracket = whole.contains('(');
    let is_behind = |c: char| ".,:;!?'*_~]".contains(c) || (c == ')' && !has_bracket);
    let address = whole.trim_end_matches(is_behind);
    (address.len() > "https://".len()).then_some(address)
}

#[cfg(test)]
#[path = "escape_tests.rs"]
mod tests;
