//! The roles of people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The role of a person, from the least to the most powerful.
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
pub enum Role {
    /// An admitted person, who may use the tools for everyone.
    #[default]
    User,
    /// A person who may use all tools and admit others.
    Owner,
}

impl Role {
    /// In the order of declaration.
    pub const ALL: [Self; 2] = [Self::User, Self::Owner];

    /// The word in the log and in CLI output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Owner => "owner",
        }
    }
}
