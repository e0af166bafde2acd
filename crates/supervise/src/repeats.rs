//! Lines of the log about the same thing are counted, not repeated.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a line is written again while its reason lasts.
const EVERY: Duration = Duration::from_mins(1);
/// Subjects that are remembered; the one that was written first is forgotten for a new one.
const REMEMBERED: usize = 1024;

/// Says which lines of the log are written: the first about a subject, each that says something new, and one
/// a minute of those that are alike.
#[derive(Debug, Default)]
pub struct Repeats {
    subjects: Mutex<BTreeMap<String, Subject>>,
}

#[derive(Debug)]
struct Subject {
    text: String,
    written_at: Duration,
    /// Lines that were not written since.
    left_out: u64,
    /// Whether a line was written since the reason was gone for the last time.
    is_told: bool,
}

impl Repeats {
    /// Nothing was written yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { subjects: Mutex::new(BTreeMap::new()) }
    }

    /// If a line about a subject is to be written now, how many like the last one were left out since that
    /// was written; `None` if this one is left out, too.
    pub fn note(&self, subject: &str, text: &str, now: Duration) -> Option<u64> {
        let mut subjects = self.subjects();
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
        let (text, left_out, is_told) = (text.to_owned(), 0, true);
        let new = Subject { text, written_at: now, left_out, is_told };
        subjects.insert(subject.to_owned(), new);
        Some(repeated)
    }

    /// The reason is gone. How many lines were left out at last; `None` if no line was written since it was
    /// gone before. Where it comes back within the minute, that is left out, too.
    pub fn over(&self, subject: &str) -> Option<u64> {
        let mut subjects = self.subjects();
        let known = subjects.get_mut(subject).filter(|known| known.is_told)?;
        known.is_told = false;
        Some(std::mem::take(&mut known.left_out))
    }

    /// As [`Self::over`], for a reason that is news again if it comes back.
    pub fn forget(&self, subject: &str) -> Option<u64> {
        self.subjects().remove(subject).map(|subject| subject.left_out)
    }

    fn subjects(&self) -> MutexGuard<'_, BTreeMap<String, Subject>> {
        self.subjects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn repeats_write_the_first_line_what_is_new_and_one_a_minute() {
        let repeats = Repeats::new();
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
            assert_eq!(repeats.note(subject, text, second * SECOND), expected, "{second}");
        }
        assert_eq!((repeats.over("log"), repeats.over("log")), (Some(1), None));
        assert_eq!(repeats.note("log", "broken", 65 * SECOND), None, "it was written 3 s ago");
        assert_eq!(repeats.over("log"), None);
        assert_eq!(repeats.note("log", "broken", 122 * SECOND), Some(1));
        assert_eq!((repeats.forget("log"), repeats.forget("log")), (Some(0), None));
        assert_eq!(repeats.note("log", "broken", 123 * SECOND), Some(0));
    }

    #[test]
    fn repeats_forget_the_oldest_subject_where_there_are_too_many() {
        let repeats = Repeats::new();
        for number in 0..2 * REMEMBERED {
            let now = SECOND * u32::try_from(number).unwrap();
            repeats.note(&number.to_string(), "x", now);
        }
        assert_eq!(repeats.subjects().len(), REMEMBERED);
        assert_eq!(repeats.forget("0"), None);
    }
}
