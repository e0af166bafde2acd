//! Long texts in the line that is being typed. One character stands for each, so that the line stays
//! short on the screen, and a key moves over the text or removes it as a whole.

/// Lines of the longest text that is shown as it is.
const SHOWN_LINES: usize = 20;
/// Lines of a long earlier message that are shown.
const FIRST_LINES: usize = 3;
/// The first of the characters that stand for a text. They are for private use and no font has them.
const FIRST_MARK: u32 = 0x0010_F000;
const LAST_MARK: u32 = 0x0010_FFFD;

/// The long texts of the line and of earlier lines.
#[derive(Debug, Default)]
pub(crate) struct FoldedTexts {
    texts: Vec<FoldedText>,
}

#[derive(Debug, PartialEq, Eq)]
struct FoldedText {
    text: String,
    is_pasted: bool,
}

impl FoldedText {
    fn summary(&self) -> String {
        let count = self.text.lines().count();
        let pasted = if self.is_pasted { " pasted" } else { "" };
        format!("[{count} lines{pasted}]")
    }
}

fn is_long(text: &str) -> bool {
    text.lines().nth(SHOWN_LINES).is_some()
}

fn mark_of(place: usize) -> Option<char> {
    let code = u32::try_from(place).ok()?.checked_add(FIRST_MARK)?;
    char::from_u32(code).filter(|_| code <= LAST_MARK)
}

/// Returns the place of the text that a character stands for.
fn place_of(mark: char) -> Option<usize> {
    let code = u32::from(mark);
    let is_mark = (FIRST_MARK..=LAST_MARK).contains(&code);
    is_mark.then(|| usize::try_from(code - FIRST_MARK).unwrap_or(usize::MAX))
}

impl FoldedTexts {
    /// Returns the form of a typed or pasted text in the line.
    pub(super) fn fold_paste(&mut self, text: &str) -> String {
        let text = text.replace(|c| place_of(c).is_some(), "");
        self.fold(text, true)
    }

    /// Returns the form of a whole line, which may have folded texts already.
    pub(super) fn fold_line(&mut self, line: String) -> String {
        if !is_long(&line) {
            return line;
        }
        let line = self.unfold(&line);
        self.fold(line, false)
    }

    fn fold(&mut self, text: String, is_pasted: bool) -> String {
        if !is_long(&text) {
            return text;
        }
        let known = self.texts.iter().position(|known| known.text == text);
        let place = known.unwrap_or(self.texts.len());
        let Some(mark) = mark_of(place) else { return text };
        if known.is_none() {
            self.texts.push(FoldedText { text, is_pasted });
        }
        mark.to_string()
    }

    /// Returns the line with all its texts.
    pub(super) fn unfold(&self, line: &str) -> String {
        let mut whole = String::with_capacity(line.len());
        for c in line.chars() {
            match place_of(c).and_then(|place| self.texts.get(place)) {
                Some(folded) => whole.push_str(&folded.text),
                None => whole.push(c),
            }
        }
        whole
    }

    /// Returns the visible form of a grapheme that stands for a text.
    pub(crate) fn summary_of(&self, grapheme: &str) -> Option<String> {
        let folded = self.texts.get(place_of(grapheme.chars().next()?)?)?;
        Some(folded.summary())
    }

    /// Returns the visible form of a message that was sent. Known texts have their summary, and the
    /// rest of another long message is counted.
    pub(crate) fn shorten_message(&self, message: &str) -> String {
        if !is_long(message) {
            return message.to_owned();
        }
        let mut shown = message.to_owned();
        for folded in &self.texts {
            // A message is sent without the blanks at its ends.
            for text in [folded.text.as_str(), folded.text.trim()] {
                shown = shown.replace(text, &folded.summary());
            }
        }
        if is_long(&shown) {
            let first: Vec<&str> = shown.lines().take(FIRST_LINES).collect();
            let more = shown.lines().count() - first.len();
            shown = format!("{}\n[{more} more lines]", first.join("\n"));
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize) -> String {
        (1..=count).map(|n| format!("row {n}\n")).collect()
    }

    #[test]
    fn fold_paste_makes_one_character_of_more_than_twenty_lines() {
        let mut texts = FoldedTexts::default();
        assert_eq!(texts.fold_paste(&rows(20)), rows(20));
        let mark = texts.fold_paste(&rows(500));
        assert_eq!(mark.chars().count(), 1);
        assert_eq!(texts.summary_of(&mark).unwrap(), "[500 lines pasted]");
        assert_eq!(texts.unfold(&format!("a {mark} b")), format!("a {} b", rows(500)));
        assert_eq!(texts.fold_paste(&rows(500)), mark, "a known text has its mark");
        // A character that stands for a text cannot be typed or pasted.
        assert_eq!(texts.fold_paste(&format!("x{mark}y")), "xy");
        assert_eq!(texts.summary_of("a"), None);
    }

    #[test]
    fn shorten_message_shows_known_texts_by_their_summary_and_counts_the_rest() {
        let mut texts = FoldedTexts::default();
        let mark = texts.fold_paste(&rows(500));
        let message = texts.unfold(&format!("see {mark}")).trim().to_owned();
        assert_eq!(texts.shorten_message(&message), "see [500 lines pasted]");
        let message = texts.unfold(&format!("see {mark}!"));
        assert_eq!(texts.shorten_message(&message), "see [500 lines pasted]!");
        let other = FoldedTexts::default();
        assert_eq!(other.shorten_message(&rows(30)), "row 1\nrow 2\nrow 3\n[27 more lines]");
        assert_eq!(other.shorten_message("short\ntext"), "short\ntext");
    }

    #[test]
    fn fold_line_folds_a_long_earlier_message_with_its_folded_texts() {
        let mut texts = FoldedTexts::default();
        let paste = texts.fold_paste(&rows(30));
        let line = texts.fold_line(format!("{paste}\n{}", rows(25)));
        assert_eq!(texts.summary_of(&line).unwrap(), "[56 lines]");
        assert_eq!(texts.unfold(&line), format!("{}\n{}", rows(30), rows(25)));
        assert_eq!(texts.fold_line("short".to_owned()), "short");
    }
}
