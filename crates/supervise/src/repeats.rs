//! Counts repeated log lines about the same subject instead of writing each.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;

/// The interval at which a line is written again while its cause lasts.
const EVERY: Duration = Duration::from_mins(1);
/// The most subjects in memory. A new subject replaces the one with the oldest line. An `LruMap`
/// would do the same, but a `static` cannot hold one.
const REMEMBERED: usize = 1024;

/// Decides which log lines are written: the first about a subject, each one with a new text, and
/// one per minute with the same text.
#[derive(Debug, Default)]
pub struct RepeatedLines {
    subjects: Mutex<BTreeMap<String, LineSubject>>,
}

#[derive(Debug)]
struct LineSubject {
    text: String,
    written_at: Duration,
    /// Lines suppressed since `written_at`.
    left_out: u64,
    /// `true` if a line was written since the cause last ended.
    is_written: bool,
}

impl RepeatedLines {
    /// Starts without subjects.
    #[must_use]
    pub const fn new() -> Self {
        Self { subjects: Mutex::new(BTreeMap::new()) }
    }

    /// Decides about a line. Returns `None` if it is to be suppressed; otherwise the number of
    /// lines with the same text that were suppressed since the last written one.
    pub fn note_line(&self, subject: &str, text: &str, now: Duration) -> Option<u64> {
        let mut subjects = self.subjects.lock();
        let alike = subjects.get_mut(subject).filter(|known| known.text == text);
        let repeated = match alike {
            Some(known) if now.saturating_sub(known.written_at) < EVERY => {
                known.left_out += 1;
                return None;
            }
            Some(known) => known.left_out,
            None => 0,
        };
        if subjects.len() >= REMEMBERED && !subjects.contains_key(subject) {
            let first = subjects.iter().min_by_key(|(_, one)| one.written_at);
            let first = first.map(|(name, _)| name.clone()).unwrap_or_default();
            subjects.remove(&first);
        }
        let (text, left_out, is_written) = (text.to_owned(), 0, true);
        let new = LineSubject { text, written_at: now, left_out, is_written };
        subjects.insert(subject.to_owned(), new);
        Some(repeated)
    }

    /// Records that the cause has ended. Returns the number of lines suppressed at the end; `None`
    /// if no line was written since the cause last ended. If the cause returns within the minute,
    /// its line is suppressed too.
    pub fn note_end(&self, subject: &str) -> Option<u64> {
        let mut subjects = self.subjects.lock();
        let known = subjects.get_mut(subject).filter(|known| known.is_written)?;
        known.is_written = false;
        Some(std::mem::take(&mut known.left_out))
    }

    /// Like [`Self::note_end`], for a cause whose return is always reported.
    pub fn forget_subject(&self, subject: &str) -> Option<u64> {
        self.subjects.lock().remove(subject).map(|subject| subject.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn repeats_note_writes_the_first_line_new_text_and_one_line_a_minute() {
        let repeats = RepeatedLines::new();
        let table = [
            (0, "log", "full", Some(0)),
            (1, "log", "full", None),
            (59, "log", "full", None),
            (60, "log", "full", Some(2)),
            (61, "log", "full", None),
            (62, "log", "broken", Some(0)),
            (63, "other", "broken", Some(0)),
            (64, "log", "broken", None),
        ];
        for (second, subject, text, expected) in table {
            assert_eq!(repeats.note_line(subject, text, second * SECOND), expected, "{second}");
        }
        assert_eq!((repeats.note_end("log"), repeats.note_end("log")), (Some(1), None));
        assert_eq!(repeats.note_line("log", "broken", 65 * SECOND), None, "it was written 3 s ago");
        assert_eq!(repeats.note_end("log"), None);
        assert_eq!(repeats.note_line("log", "broken", 122 * SECOND), Some(1));
        assert_eq!((repeats.forget_subject("log"), repeats.forget_subject("log")), (Some(0), None));
        assert_eq!(repeats.note_line("log", "broken", 123 * SECOND), Some(0));
    }

    #[test]
    fn repeats_note_forgets_the_oldest_subject_above_the_limit() {
        let repeats = RepeatedLines::new();
        for number in 0..2 * REMEMBERED {
            let now = SECOND * u32::try_from(number).unwrap();
            repeats.note_line(&number.to_string(), "x", now);
        }
        assert_eq!(repeats.subjects.lock().len(), REMEMBERED);
        assert_eq!(repeats.forget_subject("0"), None);
    }
}
