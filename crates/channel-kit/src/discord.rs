//! Writes styled text in Discord's dialect of Markdown; all other characters are escaped.

mod escape;
mod marks;
mod writer;

pub use marks::DiscordMark;
use writer::{WrittenMarkdown, write};

use crate::render::{read_written, render_with_headings};
use crate::split::Limit;
use crate::styled::Styled;
use avocet_protocol::chat::{Content, Style, StyleRange};

/// The longest content of a message, in characters (Discord API, "Create Message").
pub const MAX_CONTENT: usize = 2000;

/// Renders the text of a message, with Discord's headings and small print. A planned message is
/// rendered already.
#[must_use]
pub fn styled(content: &Content) -> Styled {
    match &content.styles {
        Some(_) => Styled::from_content(content),
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
    write_readable(styled).0.chars().count()
}

/// Writes Discord's Markdown that shows exactly the text and its styles. All other characters with
/// a meaning are escaped, so that the text mentions no user. Links stand in angle brackets, so that
/// Discord shows no preview.
/// Marks of channels, emojis and times stay, which notify no one.
///
/// [`styled`] reads the same text from the result, with no-break spaces for the indentation of
/// lines. Discord cannot show three things as they are:
///
/// - A link stands in brackets behind its text if its scheme is not `http` or `https`, or if the
///   text looks like an address.
/// - Emphasis that begins or ends inside a word beside a punctuation mark is dropped.
/// - A style is dropped if the text could not be read with it. The log names it, and the other
///   styles stay.
#[must_use]
pub fn markdown(styled: &Styled) -> String {
    let (markdown, dropped) = write_readable(styled);
    if !dropped.is_empty() {
        let styles: Vec<&Style> = dropped.iter().map(|range| &range.style).collect();
        tracing::debug!(
            count = styles.len(),
            ?styles,
            "Discord cannot show some styles of a text; sending it without them"
        );
    }
    markdown
}

/// Writes a text with all styles that leave it readable. Returns the dropped ranges, too.
fn write_readable(styled: &Styled) -> (String, Vec<StyleRange>) {
    let all = write(styled);
    if reads_back(&all) {
        return (all.markdown, Vec::new());
    }
    let (mut wanted, doubtful): (Vec<_>, Vec<_>) =
        styled.styles.iter().cloned().partition(|range| !is_doubtful(styled, range));
    // Blocks come first, because more is lost without them.
    wanted.sort_by_key(|range| !is_block(range));
    let mut readable = ReadableStyles { text: &styled.text, kept: Vec::new(), dropped: doubtful };
    if reads_back(&write(&Styled::plain(styled.text.as_str()))) {
        readable.keep_readable(&wanted);
    } else {
        // The styles are not the reason.
        readable.kept = wanted;
    }
    let kept = Styled { text: styled.text.clone(), styles: readable.kept };
    (write(&kept).markdown, readable.dropped)
}

/// Finds the styles with which a text stays readable.
struct ReadableStyles<'a> {
    text: &'a str,
    kept: Vec<StyleRange>,
    dropped: Vec<StyleRange>,
}

impl ReadableStyles<'_> {
    /// Keeps all of `ranges` if the text stays readable. Otherwise each half is tried, down to single
    /// ranges.
    fn keep_readable(&mut self, ranges: &[StyleRange]) {
        let before = self.kept.len();
        self.kept.extend_from_slice(ranges);
        let styled = Styled { text: self.text.to_owned(), styles: self.kept.clone() };
        if reads_back(&write(&styled)) {
            return;
        }
        self.kept.truncate(before);
        match ranges {
            [] => {}
            [range] => self.dropped.push(range.clone()),
            ranges => {
                let (first, second) = ranges.split_at(ranges.len() / 2);
                self.keep_readable(first);
                self.keep_readable(second);
            }
        }
    }
}

/// Returns `true` if the Markdown reads back as the same lines. Delimiters can get another meaning
/// next to each other.
fn reads_back(written: &WrittenMarkdown) -> bool {
    let read = read_written(&written.markdown).text;
    visible_lines(&read).eq(visible_lines(&written.shown))
}

/// Returns the lines that have text, without the white space at their ends, which is invisible.
fn visible_lines(text: &str) -> impl Iterator<Item = String> {
    let lines = text.lines().map(|line| line.replace('\u{a0}', " "));
    lines.map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty())
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
