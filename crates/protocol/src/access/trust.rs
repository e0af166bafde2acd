//! Trust levels of text.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Role;

/// The trust level of a text, by its author, the lowest first. It stays with the text in the
/// history, its summary, notes and files. A request has the least trust of all its text.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Anybody's text: web pages, search results, other servers' answers, forwarded messages, files
    /// that came with messages, and files in directories beside the workspace.
    Low,
    /// Text of an admitted person who is not an owner.
    User,
    /// Text of the owners, and their own files: the workspace, the operator's configuration.
    #[default]
    Full,
}

impl Trust {
    /// In the order of declaration.
    pub const ALL: [Self; 3] = [Self::Low, Self::User, Self::Full];

    /// The word in the log and in CLI output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::User => "user",
            Self::Full => "full",
        }
    }

    /// Returns `true` if a tool for `role` may act on such text without approval, because the
    /// author of the text could have requested the same.
    #[must_use]
    pub fn suffices_for(self, role: Role) -> bool {
        self >= Self::from(role)
    }
}

impl From<Role> for Trust {
    /// The trust of text that a person with this role writes.
    fn from(role: Role) -> Self {
        match role {
            Role::User => Self::User,
            Role::Owner => Self::Full,
        }
    }
}

/// The least trust of everything that was read for a purpose. Clones share the value, which can
/// only fall.
#[derive(Debug, Clone)]
pub struct LeastTrust(Arc<AtomicU8>);

impl Default for LeastTrust {
    /// Starts with full trust, because nothing was read.
    fn default() -> Self {
        Self(Arc::new(AtomicU8::new(Trust::Full as u8)))
    }
}

impl LeastTrust {
    /// Records that text with this trust was read.
    pub fn lower_to(&self, trust: Trust) {
        self.0.fetch_min(trust as u8, Ordering::AcqRel);
    }

    /// Full trust if nothing was read.
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
    fn least_trust_lower_never_raises_it() {
        let least = LeastTrust::default();
        assert_eq!(least.get(), Trust::Full);
        for (read, then) in
            [(Trust::User, Trust::User), (Trust::Full, Trust::User), (Trust::Low, Trust::Low)]
        {
            least.clone().lower_to(read);
            assert_eq!(least.get(), then);
        }
    }

    #[test]
    fn trust_suffices_for_the_roles_of_its_author() {
        let may = |trust: Trust| Role::ALL.map(|role| trust.suffices_for(role));
        assert_eq!(Trust::ALL.map(may), [[false, false], [true, false], [true, true]]);
        assert!(Trust::ALL.is_sorted());
    }
}
