//! The port of the owners' rules.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::{Actor, Result};
use crate::access::{NewRule, OwnerRule, RuleList};
use crate::ids::RuleId;

/// The rules that owners have added. A removed rule stays in the log, so that its name stays known.
#[async_trait]
pub trait OwnerRules: fmt::Debug + Send + Sync {
    /// The rules that are in force now, from memory.
    fn current_rules(&self) -> Arc<RuleList>;

    /// Adds a rule. Returns `None` if its id is taken. Durable when this returns.
    async fn add_rule(&self, new: &NewRule) -> Result<Option<OwnerRule>>;

    /// Removes a rule. Returns `false` if no such rule is in force. Durable when this returns.
    async fn remove_rule(&self, id: RuleId, by: &Actor) -> Result<bool>;
}
