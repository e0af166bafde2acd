//! What the end of an answer means: every wire has its words for it, and here is what follows from them.

use crate::asking::Fault;

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// The model was done.
    Complete,
    /// It reached its limit.
    Truncated,
    /// A filter ended it: asking again would not help.
    Filtered,
    /// A part of it is missing, and may not be the next time.
    Failed,
    /// Nobody knows. It is complete if it says or calls anything, and has failed if it does not: new words
    /// come to be more often than new failures, and those say nothing.
    Unknown,
}

/// What an answer that counts came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) truncated: bool,
    pub(crate) filtered: bool,
}

impl Finish {
    /// What becomes of an answer that ended so, in the word `reason` and perhaps a sentence; `is_empty` if
    /// it neither says nor calls anything.
    ///
    /// # Errors
    /// [`Fault`] if it does not count.
    pub(crate) fn ended(self, reason: &str, says: &str, is_empty: bool) -> Result<Ended, Fault> {
        let detail = |what: &str| format!("{what} ({reason}) {says}").trim_end().to_owned();
        match self {
            Self::Filtered if is_empty => {
                return Err(Fault::Declined(detail("it will not answer this")));
            }
            Self::Failed => return Err(Fault::Unreadable(detail("it failed"))),
            Self::Unknown if is_empty => {
                return Err(Fault::Unreadable(detail("it said nothing")));
            }
            Self::Unknown => tracing::warn!(reason, says, "nobody knows why the answer ended"),
            Self::Complete | Self::Truncated | Self::Filtered => {}
        }
        Ok(Ended { truncated: self == Self::Truncated, filtered: self == Self::Filtered })
    }
}

impl Ended {
    /// Whether the last of it may be cut off.
    pub(crate) fn is_cut(self) -> bool {
        self.truncated || self.filtered
    }
}
