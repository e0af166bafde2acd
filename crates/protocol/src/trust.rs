//! How far text may be believed.

use serde::{Deserialize, Serialize};

use crate::Role;

/// Whose words a text is, the least believed first. It belongs to the text and goes with it, into the
/// history, its summary, notes and files; a request has the least trust of all that is in it.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Anybody's: web pages, search results, other servers' answers, forwarded messages, files that
    /// came with messages.
    Low,
    /// Somebody's who may speak, but is no owner.
    User,
    /// The owners', and what is their own: the workspace's files, the operator's configuration.
    #[default]
    Full,
}

impl Trust {
    /// Every degree.
    pub const ALL: [Self; 3] = [Self::Low, Self::User, Self::Full];

    /// The word in the log and in what the CLI prints.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::User => "user",
            Self::Full => "full",
        }
    }

    /// Whether a tool that is for this role may do by itself what such text asks for: whoever wrote it
    /// could have asked for it.
    #[must_use]
    pub fn suffices_for(self, role: Role) -> bool {
        self >= Self::from(role)
    }
}

impl From<Role> for Trust {
    /// That of what somebody with this role writes.
    fn from(role: Role) -> Self {
        match role {
            Role::User => Self::User,
            Role::Owner => Self::Full,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_may_ask_for_what_its_author_may() {
        let may = |trust: Trust| Role::ALL.map(|role| trust.suffices_for(role));
        assert_eq!(Trust::ALL.map(may), [[false, false], [true, false], [true, true]]);
        assert!(Trust::ALL.is_sorted());
    }
}
