//! Writes styled text in Discord's dialect of Markdown; all other characters are escaped.

mod escape;
mod writer;

use writer::{WrittenMarkdown, write};

use crate::render::render_with_headings;
use crate::split::Limit;
use crate::styled::Styled;
use avocet_protocol::{Content, Style, StyleRange};

/// The longest content of a message, in characters (Discord API, "Create Message").
pub const MAX_CONTENT: usize = 2000;

/// Renders the text of a message, with Discord's headings and small print. A planned message is
/// rendered already.
#[must_use]
pub fn styled(content: &Content) -> Styled {
    match &content.styles {
        Some(_) => Styled::of(content),
        // The files are sent along, so the text leaves them out.
        None => {
            let text = Content { attachments: Vec::new(), ..content.clone() }.as_text();
            render_with_headings(&text)
        }
    }
}

/// The size limit of one message.
#[must_use]
pub fn limit() -> Limit {
    Limit::new(MAX_CONTENT, size)
}

/// The length in characters of the result of [`markdown`].
#[must_use]
pub fn size(styled: &Styled) -> usize {
    markdown(styled).chars().count()
}

/// Writes Discord's Markdown that shows exactly the text and its styles. All other characters with
/// a meaning are escaped, so that the text mentions no user. Links stand in angle brackets, so that
/// Discord shows no preview.
///
/// [`styled`] reads the same text from the result, with no-break spaces for the indentation of
/// lines. Discord cannot show two things as they are:
///
/// - A link stands in brackets behind its text if its scheme is not `http` or `https`, or if the
///   text looks like an address.
/// - Emphasis that begins or ends inside a word beside a punctuation mark is dropped.
#[must_use]
pub fn markdown(styled: &Styled) -> String {
    let attempts: [fn(&Styled, &StyleRange) -> bool; 3] =
        [|_, _| true, |styled, range| !is_doubtful(styled, range), |_, range| is_block(range)];
    let mut styled = styled.clone();
    for keeps in attempts {
        let styles = styled.styles.iter().filter(|range| keeps(&styled, range));
        styled.styles = styles.cloned().collect();
        let WrittenMarkdown { markdown, shown } = write(&styled);
        if reads_back(&markdown, &shown) {
            return markdown;
        }
    }
    styled.styles.clear();
    write(&styled).markdown
}

/// Returns `true` if the Markdown reads back as the same text. Delimiters can get another meaning
/// next to each other.
fn reads_back(markdown: &str, shown: &str) -> bool {
    let space = |c: char| if c == '\u{a0}' { ' ' } else { c };
    render_with_headings(markdown).text.chars().map(space).eq(shown.trim_end().chars().map(space))
}

fn is_block(range: &StyleRange) -> bool {
    matches!(range.style, Style::Pre { .. } | Style::Quote | Style::Heading { .. } | Style::Small)
}

/// Returns `true` if CommonMark's flanking rules reject a delimiter of this range: it stands
/// between a letter outside and a mark inside.
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
