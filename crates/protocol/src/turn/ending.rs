//! The end of a model's text, and the marks of an incomplete one for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Ends an answer that was cut at the model's output limit or at ours.
pub const CUT_OFF: &str = "[The answer was cut off: it reached its output limit.]";

/// Ends an answer that a filter of the provider ended.
pub const FILTERED: &str = "[A filter of the model's provider ended the answer here.]";

/// The end of a model's text. Programs decide by it, and never by the mark, which a model may write
/// itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerEnding {
    /// The model ended it.
    #[default]
    Complete,
    /// The output limit was reached.
    CutOff,
    /// A filter of the provider ended it.
    Filtered,
}

impl AnswerEnding {
    /// In the order of declaration.
    pub const ALL: [Self; 3] = [Self::Complete, Self::CutOff, Self::Filtered];

    /// The word in the log.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::CutOff => "cut_off",
            Self::Filtered => "filtered",
        }
    }

    /// The mark at the end of the text, for people; `None` for a complete text.
    #[must_use]
    pub fn ending_mark(self) -> Option<&'static str> {
        match self {
            Self::Complete => None,
            Self::CutOff => Some(CUT_OFF),
            Self::Filtered => Some(FILTERED),
        }
    }

    /// Returns `true` for a complete text.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        *self == Self::Complete
    }

    /// Returns a text without the mark of this end.
    #[must_use]
    pub fn without_mark(self, text: &str) -> &str {
        let before = self.ending_mark().and_then(|mark| text.trim_end().strip_suffix(mark));
        before.map_or(text, str::trim_end)
    }
}
