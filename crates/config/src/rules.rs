//! The rules of the owners that the configuration sets.

use std::collections::BTreeMap;

use avocet_protocol::access::{OwnerRule, RuleName, RuleRefused, RuleScope};
use schemars::JsonSchema;
use serde::Deserialize;

/// Rules that the agent always follows. The model gets them byte for byte with every request, and no
/// command removes them. A rule has at most 500 characters. `/rule add` adds others.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RulesConfig {
    /// Rules for every conversation. Default: `[]`.
    pub everyone: Vec<String>,
    /// Rules for single agents and their sub-agents, by the agent's name.
    pub agents: BTreeMap<String, Vec<String>>,
    /// Rules for single conversations, by the session of the chat, such as `telegram:main:-100`.
    pub chats: BTreeMap<String, Vec<String>>,
    /// Rules for the work for single people, by the id of the person, such as `telegram:main:7`.
    pub people: BTreeMap<String, Vec<String>>,
}

impl RulesConfig {
    /// Returns the rules, numbered in the order of their scopes. Each is `by` its key, such as
    /// `rules.everyone[0]`.
    ///
    /// # Errors
    /// The key with a fault, and the fault: a malformed scope, an agent that is not one of `agents`,
    /// or a text that `/rule add` would refuse as well.
    pub fn read_rules(&self, agents: &[String]) -> Result<Vec<OwnerRule>, (String, String)> {
        let mut rules = Vec::new();
        add_rules(&mut rules, "rules.everyone", &RuleScope::Everyone, &self.everyone)?;
        for (name, texts) in &self.agents {
            let key = format!("rules.agents.{name}");
            if !agents.contains(name) {
                let known = agents.join(", ");
                return Err((key, format!("there is no agent {name:?}; there are: {known}")));
            }
            add_rules(&mut rules, &key, &RuleScope::Agent(name.clone()), texts)?;
        }
        for (table, word, of_table) in
            [("chats", "chat", &self.chats), ("people", "person", &self.people)]
        {
            for (name, texts) in of_table {
                let key = format!("rules.{table}.{name}");
                match format!("{word} {name}").parse() {
                    Ok(scope) => add_rules(&mut rules, &key, &scope, texts)?,
                    Err(fault) => return Err((key, format!("{name:?}: {fault}"))),
                }
            }
        }
        Ok(rules)
    }
}

fn add_rules(
    rules: &mut Vec<OwnerRule>,
    table: &str,
    scope: &RuleScope,
    texts: &[String],
) -> Result<(), (String, String)> {
    for (index, text) in texts.iter().enumerate() {
        let key = format!("{table}[{index}]");
        if let Err(refused) = RuleRefused::check_addition(text, scope, rules) {
            return Err((key, refused.to_string()));
        }
        let number = u32::try_from(rules.len() + 1).unwrap_or(u32::MAX);
        let name = RuleName::Configuration(number);
        let (text, scope) = (text.clone(), scope.clone());
        rules.push(OwnerRule { name, text, scope, by: key, at: None });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_rules(text: &str) -> Result<Vec<OwnerRule>, (String, String)> {
        let config: RulesConfig = toml::from_str(text).unwrap();
        config.read_rules(&["default".to_owned(), "coder".to_owned()])
    }

    #[test]
    fn read_rules_numbers_the_rules_of_all_scopes_and_names_their_keys() {
        let rules = read_rules(
            "everyone = [\"be  brief\", \"no salt\"]\nagents = { coder = [\"no salt\"] }\n\
             chats = { \"telegram:main:7\" = [\"speak English\"] }\n\
             people = { \"telegram:main:8\" = [\"use metres\"] }",
        );
        let shown: Vec<String> = rules
            .unwrap()
            .iter()
            .map(|rule| format!("{} {} {}: {}", rule.name, rule.by, rule.scope, rule.text))
            .collect();
        let expected = [
            "config-1 rules.everyone[0] everyone: be  brief",
            "config-2 rules.everyone[1] everyone: no salt",
            "config-3 rules.agents.coder[0] agent coder: no salt",
            "config-4 rules.chats.telegram:main:7[0] chat telegram:main:7: speak English",
            "config-5 rules.people.telegram:main:8[0] person telegram:main:8: use metres",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn read_rules_names_the_key_of_a_fault() {
        let long = format!("everyone = [\"{}\"]", "x".repeat(501));
        for (text, key, fault) in [
            ("everyone = [\"be brief\", \" \"]", "rules.everyone[1]", "a rule needs a text"),
            (&long, "rules.everyone[0]", "the text has 501 characters"),
            ("everyone = [\"a\", \"a\"]", "rules.everyone[1]", "rule config-1 says that already"),
            ("agents = { cook = [\"a\"] }", "rules.agents.cook", "there is no agent \"cook\""),
            ("chats = { somewhere = [\"a\"] }", "rules.chats.somewhere", "\"somewhere\": "),
            ("people = { \"telegram:8\" = [] }", "rules.people.telegram:8", "\"telegram:8\": "),
        ] {
            let (at, said) = read_rules(text).unwrap_err();
            assert_eq!(at, key, "{text}");
            assert!(said.starts_with(fault), "{text}: {said}");
        }
    }
}
