//! How far text may be believed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

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
    /// came with messages, and those in directories beside the workspace.
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

/// The least trust of what was read for something. Clones are the same: whoever reads lowers it, and nobody
/// raises it.
#[derive(Debug, Clone)]
pub struct LeastTrust(Arc<AtomicU8>);

impl Default for LeastTrust {
    /// Nothing was read.
    fn default() -> Self {
        Self(Arc::new(AtomicU8::new(Trust::Full as u8)))
    }
}

impl LeastTrust {
    /// Something was read that has this trust.
    pub fn lower(&self, trust: Trust) {
        self.0.fetch_min(trust as u8, Ordering::AcqRel);
    }

    /// The least of all of it.
    #[must_use]
    pub fn get(&self) -> Trust {
        let least = self.0.load(Ordering::Acquire);
        Trust::ALL.into_iter().find(|trust| *trust as u8 == least).unwrap_or(Trust::Low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_trust_only_falls() {
        let least = LeastTrust::default();
        assert_eq!(least.get(), Trust::Full);
        for (read, then) in
            [(Trust::User, Trust::User), (Trust::Full, Trust::User), (Trust::Low, Trust::Low)]
        {
            least.clone().lower(read);
            assert_eq!(least.get(), then);
        }
    }

    #[test]
    fn a_text_may_ask_for_what_its_author_may() {
        let may = |trust: Trust| Role::ALL.map(|role| trust.suffices_for(role));
        assert_eq!(Trust::ALL.map(may), [[false, false], [true, false], [true, true]]);
        assert!(Trust::ALL.is_sorted());
    }
}
