//! Rules for calls of tools, as the configuration states them.

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The treatment of a call, from the least to the most careful.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// The call runs.
    Allow,
    /// An owner is asked before the call runs.
    Ask,
    /// The call is refused.
    Deny,
}

impl Rule {
    /// In the order of declaration.
    pub const ALL: [Self; 3] = [Self::Allow, Self::Ask, Self::Deny];

    /// The word in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// The rules for a tool: one word, or a word for each case. If several of `users`, `groups` and
/// `low_trust` apply to a call, the most careful one counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ToolPolicy {
    /// The rule for all other calls. `allow` is valid only while the trust level of everything that
    /// the model has read suffices for the tool.
    pub default: Option<Rule>,
    /// The rule for users: people who are not owners, and everyone in a group without
    /// `owner_tools`.
    pub users: Option<Rule>,
    /// The rule in groups.
    pub groups: Option<Rule>,
    /// The rule after the model has read content whose trust level is too low for the tool.
    pub low_trust: Option<Rule>,
}

/// The keys of the table.
const KEYS: &[&str] = &["default", "users", "groups", "low_trust"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    default: Option<Rule>,
    users: Option<Rule>,
    groups: Option<Rule>,
    low_trust: Option<Rule>,
}

impl<'de> Deserialize<'de> for ToolPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordOrCases)
    }
}

struct WordOrCases;

impl<'de> Visitor<'de> for WordOrCases {
    type Value = ToolPolicy;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"allow\", \"ask\", \"deny\", or a table of {}", KEYS.join(", "))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<ToolPolicy, E> {
        let rule = Rule::ALL.into_iter().find(|rule| rule.as_str() == word);
        let unknown = || E::unknown_variant(word, &["allow", "ask", "deny"]);
        Ok(ToolPolicy { default: Some(rule.ok_or_else(unknown)?), ..ToolPolicy::default() })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ToolPolicy, A::Error> {
        let Cases { default, users, groups, low_trust } =
            Cases::deserialize(MapAccessDeserializer::new(map))?;
        Ok(ToolPolicy { default, users, groups, low_trust })
    }
}

/// Available tools: a list of names, in which `*` matches any characters, or a table of `allow` and
/// `deny`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, default)]
pub struct ToolList {
    /// The available tools. Default: `["*"]`, all tools.
    pub allow: Vec<String>,
    /// Exceptions from `allow`: tools that are not available. Default: `[]`.
    pub deny: Vec<String>,
}

impl Default for ToolList {
    fn default() -> Self {
        Self { allow: vec!["*".to_owned()], deny: Vec::new() }
    }
}

/// The keys of the table form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Lists {
    allow: Vec<String>,
    deny: Vec<String>,
}

impl Default for Lists {
    fn default() -> Self {
        let ToolList { allow, deny } = ToolList::default();
        Self { allow, deny }
    }
}

impl<'de> Deserialize<'de> for ToolList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NamesOrLists)
    }
}

struct NamesOrLists;

impl<'de> Visitor<'de> for NamesOrLists {
    type Value = ToolList;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of names, or a table of allow, deny")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, names: A) -> Result<ToolList, A::Error> {
        let allow = Vec::deserialize(SeqAccessDeserializer::new(names))?;
        Ok(ToolList { allow, deny: Vec::new() })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ToolList, A::Error> {
        let Lists { allow, deny } = Lists::deserialize(MapAccessDeserializer::new(map))?;
        Ok(ToolList { allow, deny })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tool_policy_deserialises_from_a_word_or_a_word_for_each_case() {
        let read = |value: serde_json::Value| {
            serde_json::from_value::<ToolPolicy>(value).map_err(|error| error.to_string())
        };
        let ask = ToolPolicy { default: Some(Rule::Ask), ..ToolPolicy::default() };
        assert_eq!(read(json!("ask")), Ok(ask));
        let cases = json!({ "default": "ask", "users": "deny", "low_trust": "deny" });
        let deny = Some(Rule::Deny);
        assert_eq!(read(cases), Ok(ToolPolicy { users: deny, low_trust: deny, ..ask }));
        assert!(read(json!("sometimes")).unwrap_err().contains("`allow`, `ask`, `deny`"));
        assert!(read(json!({ "user": "deny" })).unwrap_err().contains("low_trust"));
        assert!(read(json!(true)).unwrap_err().contains("or a table of default, users"));
    }

    #[test]
    fn tool_list_deserialises_from_names_or_a_table() {
        let read = |value: serde_json::Value| {
            serde_json::from_value::<ToolList>(value).map_err(|error| error.to_string())
        };
        let names = |names: &[&str]| names.iter().map(|one| (*one).to_owned()).collect();
        let (all, none) = (names(&["*"]), Vec::new());
        let list = |allow: &Vec<String>, deny: &Vec<String>| {
            Ok(ToolList { allow: allow.clone(), deny: deny.clone() })
        };
        let reads: Vec<String> = names(&["read_*", "outline"]);
        assert_eq!(read(json!(["read_*", "outline"])), list(&reads, &none));
        assert_eq!(read(json!({ "allow": ["read_*", "outline"] })), list(&reads, &none));
        assert_eq!(read(json!({ "deny": ["message"] })), list(&all, &names(&["message"])));
        assert_eq!(read(json!([])), list(&none, &none), "an empty list leaves no tool");
        assert!(read(json!({ "alow": [] })).unwrap_err().contains("allow"));
        assert!(read(json!("all")).unwrap_err().contains("a list of names"));
    }
}
