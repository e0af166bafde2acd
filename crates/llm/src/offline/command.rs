//! Plain commands: `read_file README.md --start_line 3`.

use avocet_protocol::model::{Arguments, ToolCall};
use avocet_protocol::tool::ToolSpec;
use serde_json::{Map, Value, json};

/// A parsed command of the user.
#[derive(Debug, PartialEq)]
pub(super) enum OfflineCommand {
    Call(ToolCall),
    Count(u32),
    Help,
    Say(String),
    Unknown,
}

const LONGEST_COUNT: u32 = 1000;

impl OfflineCommand {
    pub(super) fn parse_command(text: &str, tools: &[ToolSpec]) -> Self {
        let text = text.trim();
        let lower = text.to_lowercase();
        if lower == "help" {
            return Self::Help;
        }
        if let Some(number) = lower.strip_prefix("count to ")
            && let Ok(number @ 1..=LONGEST_COUNT) = number.trim().parse()
        {
            return Self::Count(number);
        }
        if let Some(reminder) = parse_reminder(text, &lower) {
            return reminder;
        }
        let phrases = [
            ("remember ", "memory_write", "text"),
            ("what do you know about ", "memory_search", "query"),
            ("what do you remember about ", "memory_search", "query"),
        ];
        for (phrase, name, argument) in phrases {
            if lower.starts_with(phrase) {
                // Lower case may have another length, but the phrases are ASCII.
                let rest = text[phrase.len()..].trim().trim_end_matches('?');
                return call_command(name, Map::from_iter([(argument.to_owned(), json!(rest))]));
            }
        }
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match tools.iter().find(|tool| tool.name == word) {
            Some(tool) => call_command(word, assign_words(tool, rest)),
            None => Self::Unknown,
        }
    }
}

/// Reads `remind me in 2m to stretch`, also with `at` in place of `in`.
fn parse_reminder(text: &str, lower: &str) -> Option<OfflineCommand> {
    let (key, begins) = [("in", "remind me in "), ("at", "remind me at ")]
        .into_iter()
        .find(|(_, begins)| lower.starts_with(begins))?;
    // Lower case may have another length, but the phrase is ASCII.
    let (time, what) = text[begins.len()..].split_once(" to ")?;
    let fields = [("action", "add"), (key, time.trim()), ("text", what.trim())];
    let fields = fields.map(|(name, value)| (name.to_owned(), json!(value)));
    Some(call_command("schedule", Map::from_iter(fields)))
}

fn call_command(name: &str, arguments: Map<String, Value>) -> OfflineCommand {
    OfflineCommand::Call(ToolCall {
        name: name.to_owned(),
        arguments: Arguments::Object(arguments),
    })
}

/// The usage line of a tool: `read_file PATH [--end_line N] [--start_line N]`.
pub(super) fn usage_line(tool: &ToolSpec) -> String {
    let mut usage = tool.name.clone();
    let positional = positional_names(tool);
    for name in &positional {
        let name = name.to_uppercase();
        let optional = required_names(tool).is_empty();
        usage.push_str(&if optional { format!(" [{name}]") } else { format!(" {name}") });
    }
    for (name, schema) in tool_properties(tool) {
        if !positional.contains(&name.as_str()) {
            let value = match schema["type"].as_str() {
                Some("boolean") => "",
                Some("integer") => " N",
                _ => " TEXT",
            };
            usage.push_str(&format!(" [--{name}{value}]"));
        }
    }
    usage
}

fn tool_properties(tool: &ToolSpec) -> impl Iterator<Item = (&String, &Value)> {
    tool.parameters["properties"].as_object().into_iter().flatten()
}

fn required_names(tool: &ToolSpec) -> Vec<&str> {
    let names = tool.parameters["required"].as_array().into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}

/// The positional arguments: the required ones, or else the first text argument.
fn positional_names(tool: &ToolSpec) -> Vec<&str> {
    let required = required_names(tool);
    if !required.is_empty() {
        return required;
    }
    let mut texts = tool_properties(tool).filter(|(_, schema)| schema["type"] == "string");
    texts.next().map(|(name, _)| name.as_str()).into_iter().collect()
}

/// Assigns words to the positional arguments in order; the last one gets the rest of the line.
/// `--name value` sets any argument. A JSON object is used unchanged.
fn assign_words(tool: &ToolSpec, line: &str) -> Map<String, Value> {
    if let Ok(Value::Object(arguments)) = serde_json::from_str(line) {
        return arguments;
    }
    let words = split_words(line);
    let schema =
        |name: &str| tool_properties(tool).find(|(found, _)| *found == name).map(|(_, s)| s);
    let mut arguments = Map::new();
    let mut plain: Vec<&CommandWord> = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let flag = word.text.strip_prefix("--").filter(|name| schema(name).is_some());
        match flag {
            None => plain.push(word),
            Some(name) if schema(name).is_some_and(|schema| schema["type"] == "boolean") => {
                arguments.insert(name.to_owned(), json!(true));
            }
            Some(name) => {
                let value = words.next().map(|word| word.text.as_str()).unwrap_or_default();
                arguments.insert(name.to_owned(), typed_value(value, schema(name)));
            }
        }
    }
    let names = positional_names(tool);
    for (place, name) in names.iter().enumerate() {
        let Some(first) = plain.get(place) else { break };
        let value = match plain.last() {
            Some(last) if place + 1 == names.len() && plain.len() > names.len() => {
                line[first.start..last.end].to_owned()
            }
            _ => first.text.clone(),
        };
        arguments.insert((*name).to_owned(), typed_value(&value, schema(name)));
    }
    arguments
}

fn typed_value(value: &str, schema: Option<&Value>) -> Value {
    let integer = schema.is_some_and(|schema| schema["type"] == "integer");
    match value.parse::<i64>() {
        Ok(number) if integer => json!(number),
        _ => json!(value),
    }
}

/// A word without its quotes, and its position in the line.
#[derive(Debug, PartialEq)]
struct CommandWord {
    text: String,
    start: usize,
    end: usize,
}

/// Splits at white space outside of quotes. A quote without its partner is an apostrophe.
fn split_words(line: &str) -> Vec<CommandWord> {
    let mut words: Vec<CommandWord> = Vec::new();
    let mut at = 0;
    while let Some(start) = line[at..].find(|c: char| !c.is_whitespace()).map(|skip| at + skip) {
        let rest = &line[start..];
        let quoted =
            rest.chars().next().filter(|quote| matches!(quote, '"' | '\'')).and_then(|quote| {
                let close = rest[1..].find(quote)? + 1;
                let after = rest[close + 1..].chars().next();
                after.is_none_or(char::is_whitespace).then_some(close)
            });
        let (text, length) = match quoted {
            Some(close) => (&rest[1..close], close + 1),
            None => {
                let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (&rest[..length], length)
            }
        };
        at = start + length;
        words.push(CommandWord { text: text.to_owned(), start, end: at });
    }
    words
}
