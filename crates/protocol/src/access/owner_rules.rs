//! The rules of the owners: texts that hold in every turn of their scope, whatever the conversation
//! says.

use std::fmt;
use std::str::FromStr;

use avocet_text::in_one_line;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Asker, PersonId};
use crate::chat::SessionId;
use crate::clock::Timestamp;
use crate::ids::{IdError, RuleId};
use crate::store::Actor;

/// The most characters of a rule.
pub const MAX_RULE_CHARS: usize = 500;
/// The most rules of one scope.
pub const MAX_RULES: usize = 50;

/// The heading of the rules in the instructions of a request. Everything before it is the same for
/// all rules, so that a provider can cache it.
pub const RULES_HEADING: &str = "# Rules of the owners\n";

/// A rule of an owner. It holds until an owner removes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnerRule {
    /// The name by which people speak of it.
    pub name: RuleName,
    /// The text, as the owner wrote it.
    pub text: String,
    /// The turns in which it holds.
    pub scope: RuleScope,
    /// The person who added it, `host` for the command line, or the key of the configuration, such as
    /// `rules.everyone[0]`.
    pub by: String,
    /// The time of its addition; `None` for a rule of the configuration.
    pub at: Option<Timestamp>,
}

impl OwnerRule {
    /// Finds the part of a question or a refusal that names a rule, as its `Display` writes it.
    #[must_use]
    pub fn find_mention(text: &str) -> Option<&str> {
        let begins = text.match_indices("rule ").map(|(at, _)| &text[at..]);
        let mut lines = begins.filter_map(|from| from.lines().next());
        lines.find(|line| {
            let says = line["rule ".len()..].split_once(" says: ");
            says.is_some_and(|(name, _)| name.parse::<RuleName>().is_ok())
        })
    }
}

impl fmt::Display for OwnerRule {
    /// Names the rule in questions, refusals and traces, in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {} says: {}", self.name, in_one_line(&self.text, MAX_RULE_CHARS))
    }
}

/// The name of a rule: `r3` in the log, `config-2` for the second of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum RuleName {
    /// A rule in the log.
    Row(RuleId),
    /// A rule of the configuration, counted from 1.
    Configuration(u32),
}

/// The prefix of rules of the configuration.
const CONFIGURED: &str = "config-";

impl fmt::Display for RuleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row(id) => id.fmt(f),
            Self::Configuration(number) => write!(f, "{CONFIGURED}{number}"),
        }
    }
}

impl FromStr for RuleName {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        match text.strip_prefix(CONFIGURED).and_then(|number| number.parse().ok()) {
            Some(number) => Ok(Self::Configuration(number)),
            None => text.parse().map(Self::Row),
        }
    }
}

impl TryFrom<String> for RuleName {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<RuleName> for String {
    fn from(name: RuleName) -> Self {
        name.to_string()
    }
}

/// The turns in which a rule holds. Written as `everyone`, `agent coder`, `chat telegram:main:-100`
/// or `person telegram:main:7`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum RuleScope {
    /// All turns.
    Everyone,
    /// The turns of an agent, and those of its sub-agents.
    Agent(String),
    /// The turns of one conversation, with its sub-agents, jobs and schedules.
    Chat(SessionId),
    /// The turns that work for a person, in every chat.
    Person(PersonId),
}

/// The properties of a turn that decide which rules hold in it.
#[derive(Debug, Clone, Copy)]
pub struct RuleCase<'a> {
    /// The agent of the turn, and those above it.
    pub agents: &'a [String],
    /// The session of the turn.
    pub session: &'a SessionId,
    /// The authors of the messages that the turn works on.
    pub askers: &'a [Asker],
}

impl RuleScope {
    /// Returns `true` if a rule of this scope holds in a turn.
    #[must_use]
    pub fn includes_turn(&self, case: RuleCase<'_>) -> bool {
        match self {
            Self::Everyone => true,
            Self::Agent(name) => case.agents.contains(name),
            Self::Chat(session) => {
                case.session == session || case.askers.iter().any(|asker| asker.session == *session)
            }
            Self::Person(person) => case.askers.iter().any(|asker| {
                asker.person == *person || asker.linked.as_ref().is_some_and(|own| own == person)
            }),
        }
    }
}

impl fmt::Display for RuleScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everyone => f.write_str("everyone"),
            Self::Agent(name) => write!(f, "agent {name}"),
            Self::Chat(session) => write!(f, "chat {session}"),
            Self::Person(person) => write!(f, "person {person}"),
        }
    }
}

impl FromStr for RuleScope {
    type Err = NoRuleScope;

    fn from_str(text: &str) -> Result<Self, NoRuleScope> {
        match text.split_once(' ') {
            Some(("agent", name)) if !name.is_empty() => Ok(Self::Agent(name.to_owned())),
            Some(("chat", session)) => Ok(Self::Chat(session.parse()?)),
            Some(("person", person)) => Ok(Self::Person(person.parse()?)),
            None if text == "everyone" => Ok(Self::Everyone),
            _ => Err(NoRuleScope::Form(text.chars().take(64).collect())),
        }
    }
}

impl TryFrom<String> for RuleScope {
    type Error = NoRuleScope;
    fn try_from(text: String) -> Result<Self, NoRuleScope> {
        text.parse()
    }
}

impl From<RuleScope> for String {
    fn from(scope: RuleScope) -> Self {
        scope.to_string()
    }
}

/// A text that is not the scope of a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRuleScope {
    /// The first word is unknown, or the rest is missing.
    #[error(
        "{0:?} is not the scope of a rule; write `everyone`, `agent NAME`, `chat SESSION` or \
         `person CHANNEL:ACCOUNT:SENDER`"
    )]
    Form(String),
    /// The session or the person is malformed.
    #[error(transparent)]
    Id(#[from] IdError),
}

/// A rule that is to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRule {
    /// The next free id, from [`RuleList::next`]. Another addition may have taken it.
    pub id: RuleId,
    /// The text, unchanged.
    pub text: String,
    /// The turns in which it holds.
    pub scope: RuleScope,
    /// The author.
    pub by: Actor,
}

/// The rules in the log that are in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleList {
    /// Oldest first.
    pub rules: Vec<OwnerRule>,
    /// The id of the next rule.
    pub next: RuleId,
}

impl Default for RuleList {
    fn default() -> Self {
        Self { rules: Vec::new(), next: RuleId(1) }
    }
}

/// The reason why a rule cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleRefused {
    /// There is no text.
    #[error("a rule needs a text")]
    Empty,
    /// The text is longer than [`MAX_RULE_CHARS`].
    #[error("the text has {0} characters; a rule has at most {MAX_RULE_CHARS}")]
    TooLong(usize),
    /// The scope has [`MAX_RULES`] rules.
    #[error("there are {MAX_RULES} rules for {0} already; remove one first")]
    TooMany(RuleScope),
    /// The scope has a rule with this text.
    #[error("rule {0} says that already")]
    Same(RuleName),
}

impl RuleRefused {
    /// Checks a text alone, as the configuration does.
    ///
    /// # Errors
    /// [`Self::Empty`] or [`Self::TooLong`].
    pub fn check_text(text: &str) -> Result<(), Self> {
        match text.chars().count() {
            _ if text.trim().is_empty() => Err(Self::Empty),
            long if long > MAX_RULE_CHARS => Err(Self::TooLong(long)),
            _ => Ok(()),
        }
    }

    /// Checks that a rule can be added to these.
    ///
    /// # Errors
    /// The reason why it cannot.
    pub fn check_addition(
        text: &str,
        scope: &RuleScope,
        present: &[OwnerRule],
    ) -> Result<(), Self> {
        Self::check_text(text)?;
        let mut of_scope = present.iter().filter(|rule| rule.scope == *scope);
        if let Some(same) = of_scope.clone().find(|rule| rule.text == text) {
            return Err(Self::Same(same.name));
        }
        match of_scope.nth(MAX_RULES - 1) {
            Some(_) => Err(Self::TooMany(scope.clone())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "owner_rules_tests.rs"]
mod tests;
