//! The rules of the configuration, and the desk that adds and removes those in the log.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::access::{
    NewRule, OwnerRule, RuleControl, RuleError, RuleName, RuleRefused, RuleScope, ShownRule,
};
use avocet_protocol::daemon::Live;
use avocet_protocol::store::{Actor, OwnerRules};
use avocet_tools::describe_rule;

use crate::configuration::Configuration;

/// The number of times that a rule is added again after another one took its id.
const ATTEMPTS: u32 = 5;

/// The part of the rules that comes from the configuration.
#[derive(Debug)]
pub(crate) struct ConfiguredRules {
    rules: Arc<[OwnerRule]>,
    /// The names of the agents.
    agents: Vec<String>,
    file: Option<PathBuf>,
}

impl ConfiguredRules {
    pub(crate) fn from_configuration(configuration: &Configuration) -> Self {
        Self {
            rules: configuration.rules.clone(),
            agents: configuration.agent_names(),
            file: configuration.document.path().map(PathBuf::from),
        }
    }

    fn check_agent(&self, scope: &RuleScope) -> Result<(), RuleError> {
        match scope {
            RuleScope::Agent(name) if !self.agents.contains(name) => {
                Err(RuleError::NoAgent(name.clone(), self.agents.join(", ")))
            }
            _ => Ok(()),
        }
    }

    /// Returns the key of a rule, and the file in which it stands.
    fn place_of_rule(&self, rule: &OwnerRule) -> String {
        match &self.file {
            Some(file) => format!("`{}` of {}", rule.by, file.display()),
            None => format!("`{}`", rule.by),
        }
    }
}

/// Shows, adds and removes rules for the operator.
#[derive(Debug)]
pub(crate) struct RuleDesk {
    pub(crate) configured: Live<ConfiguredRules>,
    pub(crate) stored: Arc<dyn OwnerRules>,
}

#[async_trait]
impl RuleControl for RuleDesk {
    fn list_rules(&self) -> Vec<ShownRule> {
        let (configured, stored) = (self.configured.now(), self.stored.current_rules());
        configured.rules.iter().chain(&stored.rules).cloned().map(show_rule).collect()
    }

    async fn add_rule(&self, text: &str, scope: &RuleScope) -> Result<ShownRule, RuleError> {
        let configured = self.configured.now();
        configured.check_agent(scope)?;
        for _ in 0..ATTEMPTS {
            let stored = self.stored.current_rules();
            let present: Vec<OwnerRule> =
                configured.rules.iter().chain(&stored.rules).cloned().collect();
            RuleRefused::check_addition(text, scope, &present)?;
            let (text, scope) = (text.to_owned(), scope.clone());
            let new = NewRule { id: stored.next, text, scope, by: Actor::Host };
            if let Some(rule) = self.stored.add_rule(&new).await? {
                return Ok(show_rule(rule));
            }
        }
        Err(RuleError::Crowded)
    }

    async fn remove_rule(&self, name: RuleName) -> Result<(), RuleError> {
        let is_removed = match name {
            RuleName::Row(id) => self.stored.remove_rule(id, &Actor::Host).await?,
            RuleName::Configuration(_) => {
                let configured = self.configured.now();
                if let Some(rule) = configured.rules.iter().find(|rule| rule.name == name) {
                    return Err(RuleError::Configured(name, configured.place_of_rule(rule)));
                }
                false
            }
        };
        if is_removed { Ok(()) } else { Err(RuleError::Unknown(name)) }
    }
}

fn show_rule(rule: OwnerRule) -> ShownRule {
    ShownRule { enforces: describe_rule(&rule.text), rule }
}
