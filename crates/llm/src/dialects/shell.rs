//! `shell`: a fenced block of commands, each with a tool's name and its arguments in shell quoting.
//!
//! The tool's JSON Schema assigns words to arguments. Required arguments are positional, in the
//! order of `required_names`. Every argument can also be given as `--name value` or `--name=value`;
//! a boolean needs no value. Numbers, booleans and lists get the type from the schema. A list takes
//! its flag several times. A property may have more keys:
//!
//! - `"x-aliases": ["t", "text"]`: other names of its flag; those of one letter follow one dash:
//!   `-t`.
//! - `"x-range": "end_line"`: its flag takes two values at once, `-l 3:9`, and the second is the
//!   value of the named property; an alias with one value, `-l 3`, sets both to it.
//!
//! `--json '{...}'` sets all arguments at once.

use avocet_protocol::model::{Arguments, SentCall, ToolCall};
use avocet_protocol::tool::ToolSpec;
use serde_json::{Map, Value};

use super::{Dialect, ReplyPosition, call, lenient, schema};

/// Info strings of blocks that may hold commands.
const FENCES: [&str; 8] = ["", "bash", "sh", "shell", "zsh", "console", "terminal", "tool_call"];
/// The flag for all arguments as JSON.
const JSON: &str = "json";

#[derive(Debug)]
pub(super) struct ShellDialect;

impl Dialect for ShellDialect {
    fn name(&self) -> &'static str {
        "shell"
    }

    fn syntax_text(&self) -> &'static str {
        "Write a fenced bash block with a line for each call: the tool's name, then its arguments in \
         the order of the list. Optional arguments are given as --name value. Quote as in a shell."
    }

    fn render_calls(&self, calls: &[SentCall], tools: &[ToolSpec]) -> String {
        let lines: Vec<String> = calls.iter().map(|call| write_line(call, tools)).collect();
        let lines = lines.join("\n");
        let longest = lines.split(|c| c != '`').map(str::len).max().unwrap_or_default();
        let fence = "`".repeat((longest + 1).max(3));
        format!("{fence}bash\n{lines}\n{fence}")
    }

    fn tells_aliases(&self) -> bool {
        true
    }

    fn takes_fence(&self, info: &str) -> bool {
        FENCES.iter().any(|fence| fence.eq_ignore_ascii_case(info))
    }

    fn may_be_call(&self, place: &ReplyPosition<'_>) -> bool {
        let mut lines = place.rest.split_inclusive('\n').map(str::trim_start);
        let Some(line) = lines.find(|line| !line.is_empty() && !line.starts_with('#')) else {
            return true;
        };
        let line = strip_prompt(line);
        // The same separators as in `split_commands`.
        let word = line.split([' ', '\t', '\n', ';']).next().unwrap_or_default();
        let is_whole = word.len() < line.len();
        // Quoted text may be anything.
        !is_whole || word.contains(['"', '\'', '\\']) || tool_of_word(word, place).is_some()
    }

    fn in_fence(&self, place: &ReplyPosition<'_>) -> Option<(usize, Vec<ToolCall>)> {
        let commands = split_commands(place.rest);
        let (_, first) = commands.first()?;
        tool_of_word(first.first()?, place)?;
        let mut calls = Vec::new();
        for (_, words) in &commands {
            let call = of_words(words, place)?;
            // A script that the user asked for may begin like a call.
            if !place.is_instructed && !schema::fits_schema(&call, place.tools) {
                return None;
            }
            calls.push(call);
        }
        if place.is_cut
            && let Some(last) = calls.last_mut()
        {
            let text = place.rest[commands.last().map_or(0, |(at, _)| *at)..].to_owned();
            last.arguments = Arguments::Malformed(text);
        }
        Some((place.rest.len(), calls))
    }
}

/// The tool that the first word of a command names.
fn tool_of_word<'p>(word: &str, place: &'p ReplyPosition<'_>) -> Option<&'p str> {
    if place.is_auto { call::known_elsewhere(word, place.tools) } else { place.find_tool(word) }
}

/// The words of each command in a block, with the start of the command.
fn split_commands(block: &str) -> Vec<(usize, Vec<String>)> {
    let (mut commands, mut current, mut start) = (Vec::new(), String::new(), 0);
    let (mut quote, mut escaped, mut is_comment) = (None, false, false);
    for (at, c) in block.char_indices().chain([(block.len(), '\n')]) {
        let is_last = at == block.len();
        match c {
            '\r' if escaped => continue,
            // A line continuation.
            '\n' if escaped && !is_last => {
                current.pop();
                escaped = false;
                continue;
            }
            '\n' if is_comment => is_comment = false,
            _ if is_comment => continue,
            _ if escaped => escaped = false,
            '\\' if quote != Some('\'') => escaped = true,
            '"' | '\'' if quote == Some(c) => quote = None,
            '"' | '\'' if quote.is_none() => quote = Some(c),
            '#' if quote.is_none()
                && current.chars().next_back().is_none_or(char::is_whitespace) =>
            {
                is_comment = true;
                continue;
            }
            _ => {}
        }
        let ends = quote.is_none() && !escaped && matches!(c, '\n' | ';');
        if ends || is_last {
            commands.extend(split_command(&current).map(|words| (start, words)));
            current.clear();
            start = (at + 1).min(block.len());
        } else {
            current.push(c);
        }
    }
    commands
}

/// Splits a command into words; `None` if it is empty or has an unclosed quote and only one word.
fn split_command(text: &str) -> Option<Vec<String>> {
    let text = strip_prompt(text.trim());
    let words = match shlex::split(text) {
        Some(words) => words,
        None => {
            let (name, rest) = text.split_once(char::is_whitespace)?;
            vec![name.to_owned(), UNREADABLE.to_owned(), rest.to_owned()]
        }
    };
    (!words.is_empty()).then_some(words)
}

/// Removes the shell prompt from a line.
fn strip_prompt(line: &str) -> &str {
    line.strip_prefix("$ ").or_else(|| line.strip_prefix("> ")).unwrap_or(line)
}

/// A marker in place of a flag, for arguments with unbalanced quotes.
const UNREADABLE: &str = "--\u{0}";

/// Converts the words of a command into a call.
fn of_words(words: &[String], place: &ReplyPosition<'_>) -> Option<ToolCall> {
    let (name, given) = words.split_first()?;
    let known = tool_of_word(name, place);
    let Some((name, tool)) =
        known.and_then(|name| Some((name, schema::find_tool(name, place.tools)?)))
    else {
        return Some(ToolCall {
            name: name.clone(),
            arguments: Arguments::Malformed(given.join(" ")),
        });
    };
    let arguments = match given {
        [flag, text] if flag == UNREADABLE => Arguments::Malformed(text.clone()),
        _ => match CommandWords::read(given, tool) {
            Some(object) => Arguments::Object(object),
            None => Arguments::Malformed(given.join(" ")),
        },
    };
    Some(ToolCall { name: name.to_owned(), arguments })
}

/// The words after a tool's name.
struct CommandWords<'w> {
    tool: &'w ToolSpec,
    object: Map<String, Value>,
    /// Positional words.
    by_place: Vec<&'w str>,
}

impl<'w> CommandWords<'w> {
    /// Parses the arguments; `None` if a word is invalid.
    fn read(words: &'w [String], tool: &'w ToolSpec) -> Option<Map<String, Value>> {
        let mut read = Self { tool, object: Map::new(), by_place: Vec::new() };
        let mut rest = words.iter().map(String::as_str).peekable();
        while let Some(word) = rest.next() {
            if word == "--" {
                read.by_place.extend(rest.by_ref());
                break;
            }
            let Some((name, given)) = read.split_flag(word) else {
                read.by_place.push(word);
                continue;
            };
            if name == JSON && read.find_property(name).is_none() {
                let text = given.or_else(|| rest.next())?;
                read.object.extend(lenient::parse_object(text)?);
                continue;
            }
            let flag = name;
            let (name, property) = read.find_property(flag)?;
            let is_bool = schema::kind(property) == "boolean";
            let value = match given {
                Some(value) => value,
                None if is_bool => {
                    rest.next_if(|word| matches!(*word, "true" | "false")).unwrap_or("true")
                }
                None => rest.next()?,
            };
            read.give_argument(flag, name, value, property)?;
        }
        read.assign_positional()?;
        Some(read.object)
    }

    /// The flag name in a word, and the value after its equals sign.
    fn split_flag(&self, word: &'w str) -> Option<(&'w str, Option<&'w str>)> {
        if let Some((name, value)) = word.split_once('=')
            && !word.starts_with('-')
            && self.tool.parameters["properties"].get(name).is_some()
        {
            return Some((name, Some(value)));
        }
        let flag = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
        if flag.is_empty() || word.parse::<f64>().is_ok() {
            return None;
        }
        Some(flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value))))
    }

    /// The argument that a flag sets.
    fn find_property(&self, flag: &str) -> Option<(&'w str, &'w Value)> {
        let properties = schema::ordered_properties(self.tool);
        let own = properties.iter().find(|(name, _)| plain_name(name) == plain_name(flag));
        // Case matters for flags of one letter.
        let is_alias = |alias: &str| {
            alias == flag || (flag.len() > 1 && plain_name(alias) == plain_name(flag))
        };
        let by_alias = |property: &Value| schema::property_aliases(property).any(is_alias);
        own.or_else(|| properties.iter().find(|(_, property)| by_alias(property))).copied()
    }

    fn give_argument(
        &mut self,
        flag: &str,
        name: &str,
        text: &str,
        property: &Value,
    ) -> Option<()> {
        if let Some(end) = property["x-range"].as_str()
            && (text.contains(':') || plain_name(flag) != plain_name(name))
        {
            let (first, last) = text.split_once(':').unwrap_or((text, text));
            let other = &self.tool.parameters["properties"][end];
            self.set_argument(name, schema::typed_value(first, property))?;
            return self.set_argument(end, schema::typed_value(last, other));
        }
        let value = schema::typed_value(text, property);
        match (self.object.get_mut(name), value) {
            (Some(Value::Array(before)), Value::Array(more)) => {
                before.extend(more);
                Some(())
            }
            (_, value) => self.set_argument(name, value),
        }
    }

    /// Sets an argument; `None` if it already has a value.
    fn set_argument(&mut self, name: &str, value: Value) -> Option<()> {
        self.object.insert(name.to_owned(), value).is_none().then_some(())
    }

    /// Assigns positional words to the required arguments, and one more to an optional `path`.
    fn assign_positional(&mut self) -> Option<()> {
        let names = schema::required_names(self.tool).into_iter().chain(["path"]);
        let mut names = names.filter(|name| self.tool.parameters["properties"].get(name).is_some());
        for word in std::mem::take(&mut self.by_place) {
            let name = names.by_ref().find(|name| !self.object.contains_key(*name))?;
            let property = &self.tool.parameters["properties"][name];
            self.object.insert(name.to_owned(), schema::typed_value(word, property));
        }
        Some(())
    }
}

/// Normalises a name: ignores case and the kind of dash.
fn plain_name(name: &str) -> String {
    name.replace('-', "_").to_lowercase()
}

/// Writes a call as a command.
fn write_line(call: &SentCall, tools: &[ToolSpec]) -> String {
    let tool = schema::find_tool(&call.name, tools);
    let written = tool.and_then(|tool| write_words(call, tool));
    let words = written.unwrap_or_else(|| {
        let object = Value::Object(call.arguments.clone()).to_string();
        vec![call.name.clone(), format!("--{JSON}"), object]
    });
    let quoted = words.iter().map(|word| shlex::try_quote(word));
    quoted.map(Result::unwrap_or_default).collect::<Vec<_>>().join(" ")
}

/// The words of a call, if they parse back to the same call.
fn write_words(call: &SentCall, tool: &ToolSpec) -> Option<Vec<String>> {
    let mut words = vec![call.name.clone()];
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let required = schema::required_names(tool);
    for name in &required {
        words.push(text(call.arguments.get(*name)?));
    }
    for (name, value) in
        call.arguments.iter().filter(|(name, _)| !required.contains(&name.as_str()))
    {
        words.extend([format!("--{name}"), text(value)]);
    }
    let is_same = CommandWords::read(&words[1..], tool).is_some_and(|read| read == call.arguments);
    let is_plain = words.iter().all(|word| !word.contains(['\0', '\r', '`']));
    (is_same && is_plain).then_some(words)
}
