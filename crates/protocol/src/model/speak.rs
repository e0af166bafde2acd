//! The port for spoken answers, and the choice of a chat to get them.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::model::{AudioError, Spent};

/// Speaks texts.
#[async_trait]
pub trait Speak: fmt::Debug + Send + Sync {
    /// The length of the longest text, in characters. At least 1.
    fn max_characters(&self) -> usize;

    /// Known before the text is spoken.
    fn cost(&self, text: &str) -> Spent;

    /// Returns the recording of a plain text, in Ogg Opus.
    ///
    /// # Errors
    /// [`AudioError`] says if a retry can help.
    async fn speak(&self, text: &str) -> Result<Vec<u8>, AudioError>;
}

/// The answers of a chat that are spoken too.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum VoiceMode {
    /// All answers.
    On,
    /// No answer.
    Off,
    /// Answers to voice messages.
    #[default]
    Auto,
}

impl VoiceMode {
    /// In the order of declaration.
    pub const ALL: [Self; 3] = [Self::On, Self::Off, Self::Auto];

    /// The word in the configuration, the log and the command.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Auto => "auto",
        }
    }
}

/// A word is not a voice mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown voice mode {0:?}; use on, off or auto")]
pub struct NoVoiceMode(pub String);

impl FromStr for VoiceMode {
    type Err = NoVoiceMode;

    fn from_str(word: &str) -> Result<Self, NoVoiceMode> {
        let found = Self::ALL.into_iter().find(|mode| mode.as_str().eq_ignore_ascii_case(word));
        found.ok_or_else(|| NoVoiceMode(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn voice_mode_parses_its_words_and_names_them_for_others() {
        for mode in VoiceMode::ALL {
            assert_eq!(mode.as_str().to_uppercase().parse(), Ok(mode));
        }
        let error = "loud".parse::<VoiceMode>().unwrap_err().to_string();
        assert_eq!(error, "unknown voice mode \"loud\"; use on, off or auto");
    }
}
