//! The method about the profiles of agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{NoParams, Touches};

/// `agents.list`: a list of [`AgentSummary`], by name. The default profile is the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSummary {
    /// The name, as in `[agents.NAME]`.
    pub name: String,
    /// The first sentence of its instructions; `None` without instructions.
    pub description: Option<String>,
}

impl AgentSummary {
    /// The most characters of a description.
    const MOST_CHARS: usize = 300;

    /// Describes a profile by its name and its instructions.
    #[must_use]
    pub fn new(name: &str, instructions: Option<&str>) -> Self {
        let text = instructions.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
        let first = text.map(|text| match text.find(". ") {
            Some(end) => text[..=end].to_owned(),
            None => text,
        });
        let first = first.map(|first| first.chars().take(Self::MOST_CHARS).collect::<String>());
        Self { name: name.to_owned(), description: first.filter(|first| !first.is_empty()) }
    }
}

/// `agents.list`: the profiles of agents, the default one first.
#[derive(Debug)]
pub enum ListAgents {}

method!(ListAgents = "agents.list": NoParams => Vec<AgentSummary>, Observer, Touches::Nothing, outside_libraries);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_summary_has_the_first_sentence_of_the_instructions() {
        let table = [
            (None, None),
            (Some("  \n"), None),
            (Some("You build.\n  Be brief."), Some("You build.")),
            (Some("You build v1.2 things"), Some("You build v1.2 things")),
        ];
        for (instructions, description) in table {
            let summary = AgentSummary::new("builder", instructions);
            assert_eq!(summary.description.as_deref(), description, "{instructions:?}");
        }
        let long = AgentSummary::new("builder", Some(&"é".repeat(1000)));
        assert_eq!(long.description.unwrap().chars().count(), 300);
    }
}
