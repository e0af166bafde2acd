//! A text that is still being written, made fit to be shown: whole words, closed fences, one message.

use avocet_protocol::Content;

/// Words below which a text is not worth showing before it is complete, and characters for
/// languages that do not part their words.
const FEW_WORDS: usize = 3;
const FEW_CHARS: usize = 24;

/// What shows that a text goes on.
const GOES_ON: &str = "…";

/// The text without a word that may still grow.
pub(super) fn complete_words(text: &str) -> &str {
    let is_last = |c: char| c.is_whitespace() || is_word_by_itself(c);
    let end = text
        .rfind(is_last)
        .map_or(0, |place| place + text[place..].chars().next().map_or(0, char::len_utf8));
    text[..end].trim_end()
}

/// Characters of scripts without spaces between words: Chinese, Japanese, Korean, and their
/// punctuation.
fn is_word_by_itself(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether a text is so short that the whole of it may come before anybody has read it.
pub(super) fn are_few(words: &str) -> bool {
    words.split_whitespace().count() < FEW_WORDS && words.chars().count() < FEW_CHARS
}

/// The text with a sign that it goes on, behind its last fence.
pub(crate) fn unfinished(text: &str) -> String {
    match open_fence(text) {
        Some(fence) => format!("{text}\n{fence}\n{GOES_ON}"),
        None => format!("{text} {GOES_ON}"),
    }
}

/// The fence that the text ends in (CommonMark, "Fenced code blocks").
fn open_fence(text: &str) -> Option<&str> {
    text.lines().map(str::trim).fold(None, |open, line| {
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'));
        let info = mark.map_or(line, |mark| line.trim_start_matches(mark));
        let fence = &line[..line.len() - info.len()];
        match open {
            None if fence.len() >= 3 && !info.contains('`') => Some(fence),
            Some(open) if info.is_empty() && fence.starts_with(open) => None,
            open => open,
        }
    })
}

/// The first message of a text, cut so that it ends as one that goes on; none if there is nothing
/// to show.
pub(super) fn first_message(plan: impl Fn(&str) -> Vec<Content>, text: &str) -> Option<Content> {
    let only = |text: &str| <[Content; 1]>::try_from(plan(text)).ok().map(|[content]| content);
    let content = only(text).or_else(|| {
        let spaces = text.match_indices(char::is_whitespace).map(|(place, _)| place);
        let places: Vec<usize> = spaces.collect();
        let fits = |end: &usize| only(&unfinished(text[..*end].trim_end())).is_some();
        let fitting = places.partition_point(fits);
        let end = places[fitting.checked_sub(1)?];
        only(&unfinished(text[..end].trim_end()))
    });
    content.filter(|content| !content.text.trim().is_empty())
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
