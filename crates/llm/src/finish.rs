//! Finish reasons of all APIs, and their consequences.

use crate::dialects::TextEnd;
use crate::endpoint::AnswerError;

/// The reason why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FinishReason {
    /// The answer is complete.
    Complete,
    /// The output limit was reached.
    Truncated,
    /// A content filter ended the answer: a retry would be useless.
    Filtered,
    /// A part of the answer is missing; a retry may help.
    Failed,
    /// An unknown finish reason. An empty answer counts as failed, any other as complete, because
    /// most new reasons of providers mean no failure, and failed answers are empty.
    Unknown,
}

/// The flags of a usable answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FinishFlags {
    pub(crate) truncated: bool,
    pub(crate) filtered: bool,
}

impl FinishReason {
    /// Evaluates an answer that ended with this finish. `reason` is the provider's word, `says` its
    /// explanation, if any. `is_empty` means that the text and the calls are empty.
    ///
    /// # Errors
    /// [`AnswerError`] if the answer is unusable.
    pub(crate) fn evaluate_answer(
        self,
        reason: &str,
        says: &str,
        is_empty: bool,
    ) -> Result<FinishFlags, AnswerError> {
        let detail = |what: &str| format!("{what} ({reason}) {says}").trim_end().to_owned();
        match self {
            Self::Filtered if is_empty => {
                return Err(AnswerError::Declined(detail("the model refuses to answer this")));
            }
            Self::Failed => return Err(AnswerError::Unreadable(detail("it failed"))),
            Self::Unknown if is_empty => {
                return Err(AnswerError::Unreadable(detail("it said nothing")));
            }
            Self::Unknown => tracing::warn!(
                reason,
                says,
                "unknown finish reason; treating the answer as complete"
            ),
            Self::Complete | Self::Truncated | Self::Filtered => {}
        }
        Ok(FinishFlags { truncated: self == Self::Truncated, filtered: self == Self::Filtered })
    }
}

impl FinishFlags {
    /// Returns the kind of end that the answer's text has: complete or cut off.
    pub(crate) fn text_end(self) -> TextEnd {
        TextEnd::cut_if(self.truncated || self.filtered)
    }
}
