//! Prepares a tool's argument schema for a provider: removes our own `x-` keys, because some
//! providers refuse them, and the rarely needed arguments.

use avocet_protocol::tool::{ToolSpec, is_rare};
use serde::ser::{Serialize, Serializer};
use serde_json::{Map, Value};

/// The prefix of our own keys.
const OURS: &str = "x-";

/// Returns `true` if a schema key is used only by our own dialects.
pub(crate) fn is_ours(key: &str) -> bool {
    key.starts_with(OURS)
}

/// A schema as it is sent. Serialised without a copy.
#[derive(Debug)]
pub(crate) struct WireSchema<'s>(pub(crate) &'s Value);

impl Serialize for WireSchema<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(object) => {
                let standard = object.iter().filter(|(key, _)| !is_ours(key));
                serializer.collect_map(standard.map(|(key, value)| match (key.as_str(), value) {
                    ("properties", Value::Object(named)) => (key, SchemaPart::Named(named)),
                    _ => (key, SchemaPart::Schema(WireSchema(value))),
                }))
            }
            Value::Array(values) => serializer.collect_seq(values.iter().map(WireSchema)),
            other => other.serialize(serializer),
        }
    }
}

/// Returns the tool with its schema as it is sent.
pub(crate) fn as_sent(tool: &ToolSpec) -> ToolSpec {
    // Serialising a JSON value cannot fail.
    let parameters = serde_json::to_value(WireSchema(&tool.parameters)).unwrap_or_default();
    ToolSpec { parameters, ..tool.clone() }
}

enum SchemaPart<'s> {
    Schema(WireSchema<'s>),
    /// Schemas by property name. Any name is allowed, so `x-` is an ordinary prefix here.
    Named(&'s Map<String, Value>),
}

impl Serialize for SchemaPart<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Schema(schema) => schema.serialize(serializer),
            Self::Named(named) => {
                let shown = named.iter().filter(|(_, value)| !is_rare(value));
                serializer.collect_map(shown.map(|(name, value)| (name, WireSchema(value))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schema_as_sent_leaves_out_our_own_keys() {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "x-aliases": ["file"], "enum": ["x-a"] },
                "seldom": { "type": "string", "x-rare": true },
                "lines": { "type": "array", "items": { "type": "integer", "x-range": "end" } },
                "x-name": { "type": "string" },
            },
            "required": ["path", "x-name"],
            "x-note": { "a": 1 },
        });
        let tool = ToolSpec {
            name: "read".to_owned(),
            aliases: Vec::new(),
            group: String::new(),
            description: String::new(),
            parameters: schema,
        };
        let sent = as_sent(&tool).parameters;
        let expected = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "enum": ["x-a"] },
                "lines": { "type": "array", "items": { "type": "integer" } },
                "x-name": { "type": "string" },
            },
            "required": ["path", "x-name"],
        });
        assert_eq!(sent, expected);
    }
}
