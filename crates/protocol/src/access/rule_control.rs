//! The owners' rules, as the gateway and the command line use them.

use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{OwnerRule, RuleName, RuleRefused, RuleScope};
use crate::store::StoreError;

/// A rule, and what it enforces without a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShownRule {
    /// The rule.
    #[serde(flatten)]
    pub rule: OwnerRule,
    /// What the program itself does, such as "asks before each call of `exec_shell`"; `None` if the
    /// text is given to the model only.
    pub enforces: Option<String>,
}

/// Shows, adds and removes rules for the operator. A change is in the log when the method returns.
#[async_trait]
pub trait RuleControl: fmt::Debug + Send + Sync {
    /// All rules in force, those of the configuration first.
    fn list_rules(&self) -> Vec<ShownRule>;

    /// Adds a rule.
    ///
    /// # Errors
    /// [`RuleError`]: nothing has changed.
    async fn add_rule(&self, text: &str, scope: &RuleScope) -> Result<ShownRule, RuleError>;

    /// Removes a rule.
    ///
    /// # Errors
    /// [`RuleError`]: nothing has changed.
    async fn remove_rule(&self, name: RuleName) -> Result<(), RuleError>;
}

/// The reason for a refused change of rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The rule cannot be added.
    #[error("the rule is not added: {0}")]
    Refused(#[from] RuleRefused),
    /// The scope names an agent that is not configured.
    #[error("the rule is not added: there is no agent {0:?}; there are: {1}")]
    NoAgent(String, String),
    /// Other rules were added at the same time.
    #[error("the rule is not added, because others came at the same moment; send it again")]
    Crowded,
    /// No rule has this name.
    #[error("there is no rule {0}; `avocet rules` shows them")]
    Unknown(RuleName),
    /// The rule is in the configuration, under this key.
    #[error("{0} is {1}; remove it there")]
    Configured(RuleName, String),
    /// The log returned an error. A retry or the operator can help.
    #[error(transparent)]
    Log(#[from] StoreError),
}
