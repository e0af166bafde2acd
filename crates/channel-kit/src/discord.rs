//! Discord's terms: its dialect of Markdown, with everything else in the text made inert.

mod escape;
mod writer;

use writer::{Written, write};

use crate::render::render;
use crate::split::Limit;
use crate::styled::Styled;
use avocet_protocol::{Style, StyleRange};

/// The longest content of a message, in characters (Discord API, "Create Message").
pub const MAX_CONTENT: usize = 2000;

/// What fits into one message.
#[must_use]
pub fn limit() -> Limit {
    Limit::new(MAX_CONTENT, size)
}

/// The length in characters of what [`markdown`] returns.
#[must_use]
pub fn size(styled: &Styled) -> usize {
    markdown(styled).chars().count()
}

/// Writes Discord's Markdown that shows the text and its styles, and nothing else: all other
/// characters that mean something are escaped, so that nobody is mentioned, and links stand in angle
/// brackets, so that they have no preview.
///
/// [`render`] reads the same text from it, with no-break spaces for the indentation of lines. Two things
/// Discord cannot show as they are: a link of another kind than `http`, or behind a text that looks
/// like an address, stands behind its text, in brackets; and emphasis that begins or ends inside a word
/// beside a punctuation mark goes.
#[must_use]
pub fn markdown(styled: &Styled) -> String {
    let attempts: [fn(&Styled, &StyleRange) -> bool; 3] =
        [|_, _| true, |styled, range| !is_doubtful(styled, range), |_, range| is_block(range)];
    let mut styled = styled.clone();
    for keeps in attempts {
        let styles = styled.styles.iter().filter(|range| keeps(&styled, range));
        styled.styles = styles.cloned().collect();
        let Written { markdown, shown } = write(&styled);
        if reads(&markdown, &shown) {
            return markdown;
        }
    }
    styled.styles.clear();
    write(&styled).markdown
}

/// Delimiters can mean something else where they meet; what is read back decides.
fn reads(markdown: &str, shown: &str) -> bool {
    let space = |c: char| if c == '\u{a0}' { ' ' } else { c };
    render(markdown).text.chars().map(space).eq(shown.trim_end().chars().map(space))
}

fn is_block(range: &StyleRange) -> bool {
    matches!(range.style, Style::Pre { .. } | Style::Quote)
}

/// CommonMark's rules of flanking: a delimiter between a letter outside and a mark inside is none.
fn is_doubtful(styled: &Styled, range: &StyleRange) -> bool {
    let emphasis = matches!(range.style, Style::Bold | Style::Italic | Style::Strike);
    let part = &styled.text[range.range()];
    let is_mark = |c: Option<char>| c.is_some_and(|c| !c.is_alphanumeric());
    let is_letter = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace());
    let before = is_letter(styled.text[..range.start].chars().next_back());
    let after = is_letter(styled.text[range.end..].chars().next());
    emphasis
        && ((before && is_mark(part.chars().next()))
            || (after && is_mark(part.chars().next_back())))
}

#[cfg(test)]
#[path = "discord_tests.rs"]
mod tests;
