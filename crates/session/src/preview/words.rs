//! Prepares incomplete text for display: whole words, closed fences, one message.

use std::time::Duration;

use avocet_protocol::chat::Content;
use avocet_protocol::tool::WaitKind;
use avocet_protocol::turn::STOPPED;

/// Minimum length for a preview: in words, or in characters for languages without spaces between
/// words.
const FEW_WORDS: usize = 3;
const FEW_CHARS: usize = 24;

/// Mark for a text that continues.
pub(super) const GOES_ON: &str = "…";

/// Returns the event that a wait ends with.
pub(super) fn awaited_event(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Approval => "an approval",
        WaitKind::Answer => "an answer",
        WaitKind::Child => "another agent",
        WaitKind::Choice => "a decision",
    }
}

/// Returns the text without a last word that may still grow.
pub(super) fn complete_words(text: &str) -> &str {
    let is_last = |c: char| c.is_whitespace() || is_word_by_itself(c);
    let end = text
        .rfind(is_last)
        .map_or(0, |place| place + text[place..].chars().next().map_or(0, char::len_utf8));
    text[..end].trim_end()
}

/// Returns `true` for scripts without spaces between words: Chinese, Japanese, Korean, and their
/// punctuation.
fn is_word_by_itself(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns `true` if a text is so short that the whole reply may come before anyone has read it.
pub(super) fn are_few(words: &str) -> bool {
    words.split_whitespace().count() < FEW_WORDS && words.chars().count() < FEW_CHARS
}

/// Appends the continuation mark, after closing an open fence.
pub(crate) fn mark_unfinished(text: &str) -> String {
    append_mark(text, GOES_ON)
}

/// Appends the mark of an answer that a person has stopped.
pub(crate) fn mark_stopped(text: &str) -> String {
    if text.is_empty() { STOPPED.to_owned() } else { append_mark(text, STOPPED) }
}

fn append_mark(text: &str, mark: &str) -> String {
    match open_fence(text) {
        Some(fence) => format!("{text}\n{fence}\n{mark}"),
        None => format!("{text} {mark}"),
    }
}

/// Closes an open fence.
pub(super) fn close_fence(text: &str) -> String {
    match open_fence(text) {
        Some(fence) => format!("{text}\n{fence}"),
        None => text.to_owned(),
    }
}

/// Returns the line of a running tool, with the last progress report of the program behind it. The
/// report is a program's text, so its marks and links are shown as they are. The line ends with the
/// continuation mark, by which channels recognise an unfinished message.
pub(super) fn running_text(
    tool: &str,
    about: Option<&str>,
    time: Duration,
    report: Option<&str>,
) -> String {
    let time = match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    };
    let report = report.map(|text| format!(": `{text}`")).unwrap_or_default();
    format!("Running {} ({time}){report} {GOES_ON}", describe_call(tool, about))
}

/// Returns a tool and its main argument in Markdown.
pub(super) fn describe_call(tool: &str, about: Option<&str>) -> String {
    let tool = tool.strip_prefix("exec_").unwrap_or(tool);
    about.map_or_else(|| tool.to_owned(), |about| format!("{tool}: `{about}`"))
}

/// Returns the fence that is open at the end of the text (CommonMark, "Fenced code blocks").
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

/// Returns the part of a text that fits into one message, with the continuation mark; `None` if too
/// little is left to show.
pub(super) fn first_message(plan: impl Fn(&str) -> Vec<Content>, text: &str) -> Option<Content> {
    let only = |text: &str| <[Content; 1]>::try_from(plan(text)).ok().map(|[content]| content);
    let content = only(text).or_else(|| {
        let spaces = text.match_indices(char::is_whitespace).map(|(place, _)| place);
        let places: Vec<usize> = spaces.collect();
        let fits = |end: &usize| only(&mark_unfinished(text[..*end].trim_end())).is_some();
        let fitting = places.partition_point(fits);
        let end = places[fitting.checked_sub(1)?];
        only(&mark_unfinished(text[..end].trim_end()))
    });
    content.filter(|content| !content.text.trim().is_empty())
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
