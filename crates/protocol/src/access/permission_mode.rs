//! The modes of a conversation, which narrow what the agent may do.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A mode of a conversation, from the widest. A mode narrows what the configuration allows, and
/// never widens it.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum PermissionMode {
    /// The policy of the configuration decides about each call.
    #[default]
    Default,
    /// A person is asked before each call that has an effect.
    Ask,
    /// Calls that have an effect are refused.
    Read,
}

impl PermissionMode {
    /// All modes, from the widest.
    pub const ALL: [Self; 3] = [Self::Default, Self::Ask, Self::Read];

    /// The word in the log and the command.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Ask => "ask",
            Self::Read => "read",
        }
    }

    /// The effect, as the agent says it in a chat.
    #[must_use]
    pub fn effect(self) -> &'static str {
        match self {
            Self::Default => "the configuration decides which calls need your approval",
            Self::Ask => "I ask you before each call that has an effect",
            Self::Read => "I only read and plan, and refuse calls that have an effect",
        }
    }
}

/// A word is not a mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown mode {0:?}; use default, ask or read")]
pub struct NoPermissionMode(pub String);

impl FromStr for PermissionMode {
    type Err = NoPermissionMode;

    fn from_str(word: &str) -> Result<Self, NoPermissionMode> {
        let found = Self::ALL.into_iter().find(|mode| mode.as_str().eq_ignore_ascii_case(word));
        found.ok_or_else(|| NoPermissionMode(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permission_mode_parses_its_words_and_names_them_for_others() {
        for mode in PermissionMode::ALL {
            assert_eq!(mode.as_str().to_uppercase().parse(), Ok(mode));
            assert_eq!(serde_json::json!(mode), mode.as_str());
        }
        assert!(PermissionMode::ALL.is_sorted(), "the later one is the narrower one");
        let error = "plan".parse::<PermissionMode>().unwrap_err().to_string();
        assert_eq!(error, "unknown mode \"plan\"; use default, ask or read");
    }
}
