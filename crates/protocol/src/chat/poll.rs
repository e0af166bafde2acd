//! Polls: a question with answers to choose from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A poll. The text of its message is the question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Poll {
    /// From 2 to 10 different answers.
    pub answers: Vec<String>,
    /// `true` if a person may choose several answers.
    #[serde(default)]
    pub multiple: bool,
    /// The hours until it ends, on platforms that end polls.
    #[serde(default = "Poll::default_hours")]
    pub hours: u16,
}

impl Poll {
    /// Characters of a question. Platforms permit 300; the rest is room for lines above it.
    pub const MAX_QUESTION: usize = 200;
    /// The largest number of answers, which each platform with polls permits.
    pub const MAX_ANSWERS: usize = 10;
    /// Characters of an answer, which each platform with polls permits.
    pub const MAX_ANSWER: usize = 55;
    /// The longest time in hours.
    pub const MAX_HOURS: u16 = 768;
    /// The time in hours unless another one is given.
    pub const DEFAULT_HOURS: u16 = 24;

    fn default_hours() -> u16 {
        Self::DEFAULT_HOURS
    }

    /// Returns the answers as a numbered list in Markdown.
    #[must_use]
    pub fn as_list(&self) -> String {
        let lines = (1..).zip(&self.answers).map(|(number, answer)| format!("{number}. {answer}"));
        lines.collect::<Vec<_>>().join("\n")
    }
}
