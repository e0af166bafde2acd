//! The rules of the fake daemon: `r1`, and a rule of the configuration.

use async_trait::async_trait;
use avocet_protocol::access::{
    OwnerRule, RuleControl, RuleError, RuleName, RuleRefused, RuleScope, ShownRule,
};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::RuleId;

use super::FakeDaemon;

fn shown(name: RuleName, text: &str, scope: RuleScope) -> ShownRule {
    let at = matches!(name, RuleName::Row(_)).then_some(Timestamp(5));
    let rule = OwnerRule { name, text: text.to_owned(), scope, by: "host".to_owned(), at };
    ShownRule { rule, enforces: None }
}

#[async_trait]
impl RuleControl for FakeDaemon {
    fn list_rules(&self) -> Vec<ShownRule> {
        let names = [RuleName::Configuration(1), RuleName::Row(RuleId(1))];
        names.map(|name| shown(name, "be brief", RuleScope::Everyone)).into()
    }
    async fn add_rule(&self, text: &str, scope: &RuleScope) -> Result<ShownRule, RuleError> {
        RuleRefused::check_addition(text, scope, &[])?;
        Ok(shown(RuleName::Row(RuleId(2)), text, scope.clone()))
    }
    async fn remove_rule(&self, name: RuleName) -> Result<(), RuleError> {
        match name {
            RuleName::Row(RuleId(1)) => Ok(()),
            RuleName::Row(_) => Err(RuleError::Unknown(name)),
            RuleName::Configuration(_) => {
                Err(RuleError::Configured(name, "`rules.everyone[0]`".to_owned()))
            }
        }
    }
}
