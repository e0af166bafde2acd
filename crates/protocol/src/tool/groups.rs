//! `use_tools`: the tool with which a model loads the schemas of further tools, by group.

use serde_json::{Map, Value};

use crate::tool::ToolSpec;

/// The name of the tool that loads the schemas of a group. The tool loop runs its calls.
pub const USE_TOOLS: &str = "use_tools";

/// The name of the tool whose calls are the plan of a turn. Only sessions of editors have it.
pub const UPDATE_PLAN: &str = "update_plan";

/// Returns the groups that the arguments of a call of [`USE_TOOLS`] name, also by one of their
/// tools.
#[must_use]
pub fn groups_to_load<'s>(arguments: &Map<String, Value>, specs: &'s [ToolSpec]) -> Vec<&'s str> {
    let texts = arguments.values().flat_map(|value| match value {
        Value::Array(values) => values.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().into_iter().collect::<Vec<_>>(),
    });
    let words = texts.flat_map(|text| text.split(|c: char| c == ',' || c.is_whitespace()));
    let group = |word: &str| {
        let of = |spec: &&ToolSpec| spec.group.eq_ignore_ascii_case(word) || spec.is_called(word);
        specs.iter().find(of).map(|spec| spec.group.as_str())
    };
    words.filter_map(group).collect()
}
