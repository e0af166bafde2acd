//! Turns an answer in Markdown into the text that is spoken.

use std::sync::Arc;

use avocet_protocol::model::{Speak, VoiceMode};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The settings of spoken answers.
#[derive(Debug, Clone)]
pub struct SpokenAnswers {
    /// Makes the recordings.
    pub speak: Arc<dyn Speak>,
    /// The mode of sessions in which nobody has chosen one.
    pub when: VoiceMode,
}

/// Punctuation that is kept of a left-out address.
const MARKS: [char; 6] = ['.', '!', '?', ',', ';', ':'];
/// Characters that end a sentence.
const ENDS: [char; 7] = ['.', '!', '?', '…', '。', '！', '？'];
/// Characters that begin an address behind a bracket or quotation mark.
const OPENING: [char; 5] = ['(', '<', '[', '"', '“'];
const CLOSING: [char; 5] = [')', '>', ']', '"', '”'];

/// Returns the spoken text of an answer, with at most `most` characters; `None` if it has no words.
///
/// Marks of Markdown, blocks of code, HTML, footnotes and addresses are left out. Each paragraph, item
/// of a list and row of a table ends with a full stop. A text that is too long ends after its last
/// whole sentence.
pub(crate) fn spoken_text(markdown: &str, most: usize) -> Option<String> {
    let options = Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TABLES
        | Options::ENABLE_TASKLISTS;
    let mut words = SpokenWords::default();
    for event in Parser::new_ext(markdown, options) {
        words.add_event(event);
    }
    words.end_sentence();
    let text = without_addresses(&words.text);
    let text = cut_at_sentence(&text, most);
    text.contains(char::is_alphanumeric).then(|| text.to_owned())
}

#[derive(Debug, Default)]
struct SpokenWords {
    text: String,
    /// Open blocks whose text is left out.
    left_out: usize,
}

impl SpokenWords {
    fn add_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => {
                if is_left_out(&tag) {
                    self.left_out += 1;
                } else if begins_block(&tag) {
                    self.end_sentence();
                }
            }
            Event::End(TagEnd::CodeBlock | TagEnd::HtmlBlock | TagEnd::FootnoteDefinition) => {
                self.left_out = self.left_out.saturating_sub(1);
            }
            Event::End(TagEnd::TableCell) => self.text.push_str(", "),
            Event::End(
                TagEnd::Paragraph
                | TagEnd::Heading(_)
                | TagEnd::Item
                | TagEnd::TableHead
                | TagEnd::TableRow,
            ) => self.end_sentence(),
            Event::Text(text) | Event::Code(text) if self.left_out == 0 => {
                self.text.push_str(&text);
            }
            Event::SoftBreak | Event::HardBreak => self.text.push('\n'),
            _ => {}
        }
    }

    /// Ends the text so far with a full stop, unless it has punctuation.
    fn end_sentence(&mut self) {
        let end = self.text.trim_end_matches([' ', '\n', ',']).len();
        self.text.truncate(end);
        let last = self.text.chars().last();
        if last.is_some_and(|last| last.is_alphanumeric() || CLOSING.contains(&last)) {
            self.text.push('.');
        }
        self.text.push('\n');
    }
}

fn is_left_out(tag: &Tag<'_>) -> bool {
    matches!(tag, Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::FootnoteDefinition(_))
}

/// Returns `true` for the blocks that can follow a text without its own end, as in a tight list.
fn begins_block(tag: &Tag<'_>) -> bool {
    matches!(tag, Tag::Paragraph | Tag::Heading { .. } | Tag::List(_) | Tag::Item)
}

/// Leaves out addresses of the web and empty lines. The punctuation behind an address stays.
fn without_addresses(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let mut kept = String::new();
        for word in line.split_whitespace() {
            let word = if is_address(word) { marks_behind(word) } else { word };
            let follows = !word.is_empty() && !word.starts_with(MARKS);
            if follows && !kept.is_empty() {
                kept.push(' ');
            }
            kept.push_str(word);
        }
        kept
    });
    let lines: Vec<String> = lines.filter(|line| line.contains(char::is_alphanumeric)).collect();
    lines.join("\n")
}

fn is_address(word: &str) -> bool {
    let word = word.trim_start_matches(OPENING).to_ascii_lowercase();
    ["http://", "https://", "www."].iter().any(|start| word.starts_with(start))
}

fn marks_behind(word: &str) -> &str {
    &word[word.trim_end_matches(MARKS).len()..]
}

/// Cuts a text to at most `most` characters: behind a sentence, else behind a word.
fn cut_at_sentence(text: &str, most: usize) -> &str {
    let Some((limit, _)) = text.char_indices().nth(most) else { return text };
    let (kept, rest) = text.split_at(limit);
    let is_end = |(at, end): (usize, &str)| {
        let behind = at + end.len();
        let next = kept[behind..].chars().chain(rest.chars()).next();
        let is_whole = !end.is_ascii() && end != "…" || next.is_none_or(char::is_whitespace);
        is_whole.then_some(behind)
    };
    let sentence = kept.rmatch_indices(ENDS).find_map(is_end);
    let word = || kept.rfind(char::is_whitespace);
    kept[..sentence.or_else(word).unwrap_or(limit)].trim_end()
}

#[cfg(test)]
#[path = "spoken_tests.rs"]
mod tests;
