//! Finds the complete parts of a growing Markdown text, so that they can be judged before the rest
//! has arrived: sentences, paragraphs, and blocks of code. A link or other brackets are never cut.

/// Marks that end a sentence if a blank follows.
const SENTENCE_ENDS: [char; 4] = ['.', '!', '?', '…'];
/// Marks that end a sentence without a blank.
const FULL_STOPS: [char; 3] = ['。', '！', '？'];
/// Marks that may stand between the end of a sentence and the blank.
const CLOSERS: [char; 9] = ['"', '\'', '”', '’', '»', '*', '_', ')', ']'];

/// Returns the length of the longest beginning that consists of complete parts. The text begins
/// outside of code and brackets.
#[must_use]
pub fn complete_beginning(text: &str) -> usize {
    let (mut complete, mut start) = (0, 0);
    let mut fence: Option<&str> = None;
    let mut spans = OpenSpans::default();
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        let mark = fence_of(line);
        match (fence, mark) {
            (Some(open), Some((mark, ""))) if mark.starts_with(open) && line.ends_with('\n') => {
                (fence, complete) = (None, end);
            }
            (Some(_), _) => {}
            (None, Some((mark, info))) if !info.contains('`') => {
                // A fence ends the paragraph above it.
                (fence, complete) = (Some(mark), start);
                spans = OpenSpans::default();
            }
            (None, _) if line.trim().is_empty() => {
                // A blank line ends all spans.
                if line.ends_with('\n') {
                    complete = end;
                    spans = OpenSpans::default();
                }
            }
            (None, _) => {
                if let Some(sentence) = spans.read_line(line) {
                    complete = start + sentence;
                }
            }
        }
        start = end;
    }
    complete
}

/// Returns the fence at the beginning of a line, and the text behind it (CommonMark, "Fenced code
/// blocks").
fn fence_of(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let info = line.trim_start_matches(mark);
    let fence = &line[..line.len() - info.len()];
    (fence.len() >= 3).then_some((fence, info))
}

/// The brackets and the code that are open in a paragraph.
#[derive(Debug, Default)]
struct OpenSpans {
    brackets: usize,
    /// The number of backticks that opened code; 0 outside of code.
    code: usize,
    /// `true` if the last visible mark ended a sentence.
    is_ended: bool,
}

impl OpenSpans {
    /// Reads a line of a paragraph. Returns the end of its last complete sentence, if there is one.
    fn read_line(&mut self, line: &str) -> Option<usize> {
        let mut complete = None;
        let mut chars = line.char_indices().peekable();
        while let Some((place, c)) = chars.next() {
            if c == '`' {
                let mut ticks = 1;
                while chars.next_if(|(_, next)| *next == '`').is_some() {
                    ticks += 1;
                }
                match self.code {
                    0 => self.code = ticks,
                    open if open == ticks => self.code = 0,
                    _ => {}
                }
                self.is_ended = false;
                continue;
            }
            if self.code > 0 {
                continue;
            }
            match c {
                '\\' => {
                    chars.next();
                }
                '[' | '(' | '<' => self.brackets += 1,
                ']' | ')' | '>' => self.brackets = self.brackets.saturating_sub(1),
                _ => {}
            }
            let end = place + c.len_utf8();
            let is_sentence = FULL_STOPS.contains(&c) || (c.is_whitespace() && self.is_ended);
            if is_sentence && self.brackets == 0 {
                complete = Some(end);
            }
            self.is_ended = SENTENCE_ENDS.contains(&c) || (self.is_ended && CLOSERS.contains(&c));
        }
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_beginning_ends_after_sentences_paragraphs_and_code() {
        // Each text with `|` at the end of its complete beginning.
        let table = [
            "|",
            "|One",
            "|One.",
            "One. |",
            "One. |Two",
            "One. Two! |Three?",
            "He said \"no.\" |Then",
            "**Well.** |Then",
            "|example.com",
            "|See [the page. All of it](https://a.example/?q=1",
            "See [the page. All of it](https://a.example/?q=1). |Then",
            "|See <https://a.example. x",
            "|Run `a. b",
            "Run `a. b`. |Then",
            "|Run ``a. ` b",
            "|A paragraph without an end\n",
            "A paragraph (without an end\n\n|Next",
            "- one\n- two\n\n|- three",
            "Look:\n|```sh\necho a. b\n\necho c\n",
            "Look:\n```sh\necho a. b\n```\n|Next",
            "Look:\n|```sh\necho\n```",
            "~~~~\n```\n~~~~\n|",
            "一。|二",
            "|One\\. Two",
        ];
        for row in table {
            let (complete, rest) = row.split_once('|').unwrap();
            let text = format!("{complete}{rest}");
            assert_eq!(&text[..complete_beginning(&text)], complete, "{row:?}");
        }
    }
}
