//! How much a model thinks before it answers.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The thinking effort of a model. Each provider maps it to its own words.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// No thinking, or the least that the model allows.
    Off,
    /// Little thinking.
    Low,
    /// A medium amount.
    Medium,
    /// Much thinking.
    High,
}

impl Effort {
    /// All levels, from the least.
    pub const ALL: [Self; 4] = [Self::Off, Self::Low, Self::Medium, Self::High];

    /// The word in the configuration, the log and the command.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// Tokens that an answer gets for thinking, beside those of its text.
    #[must_use]
    pub fn thinking_tokens(self) -> u32 {
        match self {
            Self::Off => 0,
            Self::Low => 4096,
            Self::Medium => 16_384,
            Self::High => 32_768,
        }
    }
}

/// A word is not an effort.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown effort {0:?}; use off, low, medium or high")]
pub struct NoEffort(pub String);

impl FromStr for Effort {
    type Err = NoEffort;

    fn from_str(word: &str) -> Result<Self, NoEffort> {
        let found = Self::ALL.into_iter().find(|effort| effort.as_str().eq_ignore_ascii_case(word));
        found.ok_or_else(|| NoEffort(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effort_parses_its_words_and_names_them_for_others() {
        for effort in Effort::ALL {
            assert_eq!(effort.as_str().to_uppercase().parse(), Ok(effort));
        }
        let error = "most".parse::<Effort>().unwrap_err().to_string();
        assert_eq!(error, "unknown effort \"most\"; use off, low, medium or high");
    }
}
