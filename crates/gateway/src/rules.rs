//! The methods that read and change the owners' rules. If no daemon runs, the program's own commands call
//! them directly.

use avocet_methods::{AddRule, ListRules, NoParams, RemoveRule};
use avocet_protocol::access::{RuleControl, RuleError};
use avocet_text::Redactor;

use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::values::unavailable;
use crate::wire::RpcError;

/// The ports of these methods.
#[derive(Debug, Clone, Copy)]
pub struct RulePorts<'a> {
    /// The rules.
    pub rules: &'a dyn RuleControl,
    /// Removes secrets from the answers.
    pub redactor: &'a Redactor,
}

impl<'a> From<MethodCall<'a>> for RulePorts<'a> {
    fn from(MethodCall { parts, .. }: MethodCall<'a>) -> Self {
        Self { rules: parts.rules.as_ref(), redactor: &parts.redactor }
    }
}

impl RunMethod for ListRules {
    type Ports<'a> = RulePorts<'a>;

    async fn run(ports: Self::Ports<'_>, _: NoParams) -> Answered<Self> {
        Reply::without_secrets(&ports.rules.list_rules(), ports.redactor)
    }
}

impl RunMethod for AddRule {
    type Ports<'a> = RulePorts<'a>;

    async fn run(ports: Self::Ports<'_>, Self { text, scope }: Self) -> Answered<Self> {
        let added = ports.rules.add_rule(text.trim(), &scope).await.map_err(rule_error)?;
        Reply::without_secrets(&added, ports.redactor)
    }
}

impl RunMethod for RemoveRule {
    type Ports<'a> = RulePorts<'a>;

    async fn run(ports: Self::Ports<'_>, Self { rule }: Self) -> Answered<Self> {
        ports.rules.remove_rule(rule).await.map_err(rule_error)?;
        Reply::with_whole(&())
    }
}

fn rule_error(error: RuleError) -> RpcError {
    match error {
        RuleError::Log(error) => unavailable(error),
        RuleError::Unknown(_) => RpcError::new(RpcError::NOT_FOUND, error.to_string()),
        _ => RpcError::new(RpcError::PARAMS, error.to_string()),
    }
}
