//! The tools of an agent: the available ones, and those whose schemas are part of each request.

use std::fmt;

use avocet_protocol::access::ToolList;
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The tools of an agent: a list of names, in which `*` matches any characters, or a table.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, default)]
pub struct AgentTools {
    /// The available tools. Default: `["*"]`, all tools.
    pub allow: Vec<String>,
    /// Exceptions from `allow`: tools that are not available. Default: `[]`.
    pub deny: Vec<String>,
    /// The tools whose schemas are part of each request. The model knows the others by name, and
    /// loads their schemas with `use_tools`. `["*"]` sends all schemas. Default: the tools in `allow`
    /// if it lists tools; otherwise those for files, programs, memory, messages, questions and web
    /// pages. A model with a window of up to 16,384 tokens gets fewer by default.
    pub core: Option<Vec<String>>,
}

impl Default for AgentTools {
    fn default() -> Self {
        let ToolList { allow, deny } = ToolList::default();
        Self { allow, deny, core: None }
    }
}

impl AgentTools {
    /// Returns the available tools.
    #[must_use]
    pub fn list(&self) -> ToolList {
        ToolList { allow: self.allow.clone(), deny: self.deny.clone() }
    }
}

/// The keys of the table form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AgentToolKeys {
    allow: Vec<String>,
    deny: Vec<String>,
    core: Option<Vec<String>>,
}

impl Default for AgentToolKeys {
    fn default() -> Self {
        let AgentTools { allow, deny, core } = AgentTools::default();
        Self { allow, deny, core }
    }
}

impl<'de> Deserialize<'de> for AgentTools {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NamesOrTable)
    }
}

struct NamesOrTable;

impl<'de> Visitor<'de> for NamesOrTable {
    type Value = AgentTools;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of names, or a table of allow, deny, core")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, names: A) -> Result<AgentTools, A::Error> {
        let allow = Vec::deserialize(SeqAccessDeserializer::new(names))?;
        Ok(AgentTools { allow, ..AgentTools::default() })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<AgentTools, A::Error> {
        let AgentToolKeys { allow, deny, core } =
            AgentToolKeys::deserialize(MapAccessDeserializer::new(map))?;
        Ok(AgentTools { allow, deny, core })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn agent_tools_deserialise_from_names_or_a_table() {
        let names = |names: &[&str]| names.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let read = |value: serde_json::Value| {
            serde_json::from_value::<AgentTools>(value).map_err(|error| error.to_string())
        };
        let listed = AgentTools { allow: names(&["outline"]), ..AgentTools::default() };
        assert_eq!(read(json!(["outline"])), Ok(listed.clone()));
        let core = Some(names(&["git_*"]));
        let table = json!({ "allow": ["outline"], "core": ["git_*"] });
        assert_eq!(read(table), Ok(AgentTools { core: core.clone(), ..listed }));
        assert_eq!(read(json!({})), Ok(AgentTools::default()));
        assert_eq!(
            read(json!({ "core": ["git_*"] })),
            Ok(AgentTools { core, ..AgentTools::default() })
        );
        assert!(read(json!({ "cores": [] })).unwrap_err().contains("`core`"));
        assert!(read(json!("all")).unwrap_err().contains("a table of allow, deny, core"));
    }
}
