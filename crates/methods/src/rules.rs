//! The methods that read and change the owners' rules.

use avocet_protocol::access::{RuleName, RuleScope, ShownRule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{NoParams, Touches};

/// `rules.add`: adds a rule of an owner. The result is a [`ShownRule`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddRule {
    /// The text, which the model gets byte for byte; at most 500 characters.
    pub text: String,
    /// The turns in which it holds.
    #[serde(default = "everyone")]
    pub scope: RuleScope,
}

fn everyone() -> RuleScope {
    RuleScope::Everyone
}

/// `rules.remove`: removes a rule. The result is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveRule {
    /// The rule, such as `r3`. A rule of the configuration is removed there.
    pub rule: RuleName,
}

/// `rules.list`: a list of [`ShownRule`], those of the configuration first.
#[derive(Debug)]
pub enum ListRules {}

method!(AddRule = "rules.add": Self => ShownRule, Operator, Touches::Everything, outside_libraries);
method!(ListRules = "rules.list": NoParams => Vec<ShownRule>, Operator, Touches::Everything, outside_libraries);
method!(RemoveRule = "rules.remove": Self => (), Operator, Touches::Everything, outside_libraries);
