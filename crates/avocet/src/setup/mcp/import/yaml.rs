//! Reads YAML as JSON values, for the files of Continue, Goose, Hermes and LibreChat.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};
use serde_json::{Map, Value};

/// The deepest value.
const DEEPEST: usize = 100;

/// Parses the first document of a text. `None` if the text is no YAML, or no map.
pub(crate) fn parse_yaml(text: &str) -> Option<Value> {
    let mut reader = YamlValues {
        events: Parser::new_from_str(text.trim_start_matches('\u{feff}')),
        anchors: BTreeMap::new(),
    };
    loop {
        match reader.next_event()? {
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => {}
            event @ Event::MappingStart(..) => return reader.value(event, 0),
            _ => return None,
        }
    }
}

struct YamlValues<'i> {
    events: Parser<'i, StrInput<'i>>,
    /// The scalars that have an anchor. Other values are not repeated: a small file could become large.
    anchors: BTreeMap<usize, Value>,
}

impl<'i> YamlValues<'i> {
    fn next_event(&mut self) -> Option<Event<'i>> {
        Some(self.events.next_event()?.ok()?.0)
    }

    /// Reads the rest of the value that begins with this event.
    fn value(&mut self, event: Event<'i>, depth: usize) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let value = match style {
                    ScalarStyle::Plain => plain_scalar(&text),
                    _ => Value::from(text.into_owned()),
                };
                if anchor > 0 {
                    self.anchors.insert(anchor, value.clone());
                }
                Some(value)
            }
            Event::Alias(anchor) => Some(self.anchors.get(&anchor).cloned().unwrap_or_default()),
            Event::SequenceStart(..) => {
                let mut values = Vec::new();
                loop {
                    match self.next_event()? {
                        Event::SequenceEnd => return Some(Value::Array(values)),
                        event => values.push(self.value(event, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(..) => {
                let mut object = Map::new();
                loop {
                    let event = self.next_event()?;
                    if matches!(event, Event::MappingEnd) {
                        return Some(Value::Object(object));
                    }
                    let key = match self.value(event, depth + 1)? {
                        Value::String(key) => key,
                        other => other.to_string(),
                    };
                    let event = self.next_event()?;
                    let value = self.value(event, depth + 1)?;
                    object.insert(key, value);
                }
            }
            _ => None,
        }
    }
}

/// Reads a scalar without quotation marks (YAML 1.2, core schema).
fn plain_scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    // A number keeps its form as text if it would not look the same: `007`, `1e3`.
    let number = text.parse::<i64>().ok().filter(|number| number.to_string() == text);
    number.map_or_else(|| Value::from(text), Value::from)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn parse_yaml_reads_maps_lists_and_scalars() {
        for (text, expected) in [
            ("a: 1\nb: [x, \"2\", true, ~]\n", json!({"a": 1, "b": ["x", "2", true, null]})),
            ("# mine\na:\n  - b: c\n    d: 'e: f'\n", json!({"a": [{"b": "c", "d": "e: f"}]})),
            ("\u{feff}---\na: |\n  x\n  y\nb: >-\n  x\n  y\n", json!({"a": "x\ny\n", "b": "x y"})),
            (
                "a: &x one\nb: *x\nc: 007\nd:\n",
                json!({"a": "one", "b": "one", "c": "007", "d": null}),
            ),
            ("a: ${X}\nb: https://x//y#z\n", json!({"a": "${X}", "b": "https://x//y#z"})),
        ] {
            assert_eq!(parse_yaml(text), Some(expected), "{text}");
        }
        for text in ["", "text", "- a", "a: [", "a: b: c", "{"] {
            assert_eq!(parse_yaml(text), None, "{text}");
        }
        assert_eq!(parse_yaml(&"a: [".repeat(10_000)), None);
    }

    proptest! {
        #[test]
        fn parse_yaml_survives_any_text(text: String) {
            drop(parse_yaml(&text));
        }
    }
}
