//! The formats of model families that mark calls with their own tokens or tags: one row for each.
//! Their calls are read by [`marked`], because models mix the formats. A row has the marks of a
//! family, beside those in [`CALL_MARKS`], and a template for its calls.

use avocet_protocol::model::{Arguments, SentCall, ToolCall};
use avocet_protocol::tool::ToolSpec;
use serde_json::Value;

use super::marks::{self, MarkPlace};
use super::{Dialect, DialectMatch, ReplyPosition, ReplyReader, TextEnd, marked, words};
use crate::call_marks::{CALL_MARKS, call_token, may_begin};
use crate::visible::tokens::{TokenStart, match_token};

/// The format of calls of a model family.
#[derive(Debug)]
pub(super) struct FamilyFormat {
    name: &'static str,
    syntax: &'static str,
    /// Opening tags, in lower case, beside the tokens in [`CALL_MARKS`].
    tags: &'static [&'static str],
    /// The start of the text behind a tag that several families have.
    claims: OpeningClaim,
    /// The markup before all calls, between two and behind them.
    around: [&'static str; 3],
    /// The template of a call, with `{name}`, `{index}` and `{arguments}`.
    call: &'static str,
    arguments: ArgumentStyle,
}

/// The way in which a family writes the arguments of a call.
#[derive(Debug)]
enum ArgumentStyle {
    /// A JSON object.
    Json,
    /// A template for each argument, with `{key}` and `{value}`. Arguments that would be ambiguous
    /// are written as JSON.
    Each(&'static str),
    /// The style of Gemma's models: [`write_escaped`](super::escaped).
    Escaped,
    /// `key=value` in Python syntax.
    Python,
}

/// The text behind an opening.
#[derive(Debug)]
enum OpeningClaim {
    Any,
    Name,
    /// A name with a bracket: a call in Python syntax.
    Python,
    Start(&'static str),
}

impl OpeningClaim {
    fn is_met(&self, body: &str) -> bool {
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let is_named = body.starts_with(is_name);
        match self {
            Self::Any => true,
            Self::Name => is_named,
            Self::Python => is_named && body.trim_start_matches(is_name).starts_with('('),
            Self::Start(start) => body.starts_with(start),
        }
    }
}

const JSON_TEMPLATE: FamilyFormat = FamilyFormat {
    name: "",
    syntax: "",
    tags: &[],
    claims: OpeningClaim::Any,
    around: ["", "", ""],
    call: "{arguments}",
    arguments: ArgumentStyle::Json,
};

/// All families, in the order in which they are tried.
pub(super) static FAMILIES: [FamilyFormat; 15] = [
    FamilyFormat {
        name: "apertus",
        syntax: "Write <|tools_prefix|>, a JSON list of objects with the tool's name as the only key \
                 and its arguments as the value, and <|tools_suffix|>.",
        around: ["<|tools_prefix|>[", ", ", "]<|tools_suffix|>"],
        call: "{\"{name}\": {arguments}}",
        ..JSON_TEMPLATE
    },
    FamilyFormat {
        name: "cohere",
        syntax: "Write <|START_ACTION|>, a JSON list of objects with \"tool_call_id\", \
                 \"tool_name\" and \"parameters\", and <|END_ACTION|>.",
        around: ["<|START_ACTION|>[", ", ", "]<|END_ACTION|>"],
        call: "{\"tool_call_id\": \"{index}\", \"tool_name\": \"{name}\", \"parameters\": \
               {arguments}}",
        ..JSON_TEMPLATE
    },
    // V3.2 and later also write `<｜DSML｜invoke name="NAME">`, V4.1 with a blank in each tag.
    FamilyFormat {
        name: "deepseek",
        syntax: "Write <｜tool▁call▁begin｜>, the tool's name, <｜tool▁sep｜>, the arguments as a \
                 JSON object and <｜tool▁call▁end｜>. All calls stand between \
                 <｜tool▁calls▁begin｜> and <｜tool▁calls▁end｜>.",
        around: ["<｜tool▁calls▁begin｜>", "", "<｜tool▁calls▁end｜>"],
        call: "<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜>",
        ..JSON_TEMPLATE
    },
    FamilyFormat {
        name: "gemma",
        syntax: "Write <start_function_call>call:, the tool's name, the arguments in braces and \
                 <end_function_call>. Texts stand between two <escape>.",
        call: "<start_function_call>call:{name}{arguments}<end_function_call>",
        arguments: ArgumentStyle::Escaped,
        ..JSON_TEMPLATE
    },
    FamilyFormat {
        name: "glm",
        syntax: "Write <tool_call>, the tool's name, and for each argument <arg_key>its \
                 name</arg_key> and <arg_value>its value</arg_value>. Close the call with \
                 </tool_call>.",
        tags: &["<tool_call>"],
        claims: OpeningClaim::Name,
        around: ["", "\n", ""],
        call: "<tool_call>{name}\n{arguments}</tool_call>",
        arguments: ArgumentStyle::Each(
            "<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n",
        ),
    },
    FamilyFormat {
        name: "hunyuan",
        syntax: "Write <tool_call>, the tool's name and <tool_sep>, and for each argument \
                 <arg_key>its name</arg_key> and <arg_value>its value</arg_value>. Close the call \
                 with </tool_call>. All calls stand between <tool_calls> and </tool_calls>.",
        tags: &["<tool_calls>", "<tool_calls:"],
        claims: OpeningClaim::Start("<tool_call"),
        around: ["<tool_calls>\n", "\n", "\n</tool_calls>"],
        call: "<tool_call>{name}<tool_sep>\n{arguments}</tool_call>",
        arguments: ArgumentStyle::Each(
            "<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n",
        ),
    },
    FamilyFormat {
        name: "inkling",
        syntax: "Write <|content_invoke_tool_json|>, a JSON object with \"name\" and \"args\", and \
                 <|end_message|>.",
        call: "<|content_invoke_tool_json|>{\"name\": \"{name}\", \"args\": \
               {arguments}}<|end_message|>",
        ..JSON_TEMPLATE
    },
    // K3 writes tags: `<|open|>call tool="NAME" index="1"<|sep|>`.
    FamilyFormat {
        name: "kimi",
        syntax: "Write <|tool_call_begin|>, functions.NAME:INDEX, <|tool_call_argument_begin|>, the \
                 arguments as a JSON object and <|tool_call_end|>. All calls stand between \
                 <|tool_calls_section_begin|> and <|tool_calls_section_end|>.",
        around: ["<|tool_calls_section_begin|>", "", "<|tool_calls_section_end|>"],
        call: "<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>\
               {arguments}<|tool_call_end|>",
        ..JSON_TEMPLATE
    },
    FamilyFormat {
        name: "lfm",
        syntax: "Write <|tool_call_start|>, a list of calls in Python syntax, and \
                 <|tool_call_end|>.",
        around: ["<|tool_call_start|>[", ", ", "]<|tool_call_end|>"],
        call: "{name}({arguments})",
        arguments: ArgumentStyle::Python,
        ..JSON_TEMPLATE
    },
    FamilyFormat {
        name: "longcat",
        syntax: "Write <longcat_tool_call>, the tool's name, and for each argument \
                 <longcat_arg_key>its name</longcat_arg_key> and \
                 <longcat_arg_value>its value</longcat_arg_value>. Close the call with \
                 </longcat_tool_call>.",
        tags: &["<longcat_tool_call>"],
        around: ["", "\n", ""],
        call: "<longcat_tool_call>{name}\n{arguments}</longcat_tool_call>",
        arguments: ArgumentStyle::Each(
            "<longcat_arg_key>{key}</longcat_arg_key>\n\
             <longcat_arg_value>{value}</longcat_arg_value>\n",
        ),
        ..JSON_TEMPLATE
    },
    // M3 writes `]<]minimax[>[` before each tag, and a tag with the name of each argument.
    FamilyFormat {
        name: "minimax",
        syntax: "Write <invoke name=\"NAME\">, for each argument <parameter name=\"KEY\">its \
                 value</parameter>, and </invoke>. All calls stand between <minimax:tool_call> and \
                 </minimax:tool_call>.",
        tags: &["<minimax:tool_call>"],
        around: ["<minimax:tool_call>\n", "\n", "\n</minimax:tool_call>"],
        call: "<invoke name=\"{name}\">\n{arguments}</invoke>",
        arguments: ArgumentStyle::Each("<parameter name=\"{key}\">{value}</parameter>\n"),
        ..JSON_TEMPLATE
    },
    FamilyFormat {
        name: "mistral",
        syntax: "Write [TOOL_CALLS] and, in the same line, a JSON list of objects with \"name\" and \
                 \"arguments\".",
        around: ["[TOOL_CALLS][", ", ", "]"],
        call: "{\"name\": \"{name}\", \"arguments\": {arguments}}",
        ..JSON_TEMPLATE
    },
    FamilyFormat {
        name: "olmo",
        syntax: "Write <function_calls>, each call in Python syntax on its own line, and \
                 </function_calls>.",
        tags: &["<function_calls>"],
        claims: OpeningClaim::Python,
        around: ["<function_calls>\n", "\n", "\n</function_calls>"],
        call: "{name}({arguments})",
        arguments: ArgumentStyle::Python,
    },
    FamilyFormat {
        name: "qwen",
        syntax: "Write <tool_call>, <function=NAME>, for each argument <parameter=KEY>, its value \
                 on its own lines and </parameter>, then </function> and </tool_call>.",
        tags: &["<tool_call>"],
        claims: OpeningClaim::Start("<function"),
        around: ["<tool_call>\n", "\n</tool_call>\n<tool_call>\n", "\n</tool_call>"],
        call: "<function={name}>\n{arguments}</function>",
        arguments: ArgumentStyle::Each("<parameter={key}>\n{value}\n</parameter>\n"),
    },
    FamilyFormat {
        name: "seed",
        syntax: "Write <function=NAME>, for each argument <parameter=KEY>its value</parameter>, and \
                 </function>. Each call stands between <seed:tool_call> and </seed:tool_call>.",
        tags: &["<seed:tool_call>"],
        claims: OpeningClaim::Any,
        around: [
            "<seed:tool_call>\n",
            "\n</seed:tool_call>\n<seed:tool_call>\n",
            "\n</seed:tool_call>",
        ],
        call: "<function={name}>\n{arguments}</function>",
        arguments: ArgumentStyle::Each("<parameter={key}>{value}</parameter>\n"),
    },
];

/// Markup in a value that would be mistaken for the markup around it. Such a call is written with
/// JSON, in which every `<` is escaped.
const AMBIGUOUS: [&str; 15] = [
    "<|",
    "<｜",
    "<]",
    "<think",
    "</think",
    "tool_call",
    "arg_key",
    "arg_value",
    "<function",
    "</function",
    "<invoke",
    "</invoke",
    "parameter",
    "<escape",
    "<end_",
];

impl Dialect for FamilyFormat {
    fn name(&self) -> &'static str {
        self.name
    }

    fn syntax_text(&self) -> &'static str {
        self.syntax
    }

    fn has_control_words(&self) -> bool {
        true
    }

    fn render_calls(&self, calls: &[SentCall], tools: &[ToolSpec]) -> String {
        let calls =
            calls.iter().enumerate().map(|(index, call)| self.write_call(index, call, tools));
        let [before, between, after] = self.around;
        format!("{before}{}{after}", calls.collect::<Vec<_>>().join(between))
    }

    fn at_start(&self, place: &ReplyPosition<'_>) -> DialectMatch {
        if !may_begin(place.rest) {
            return DialectMatch::Nothing;
        }
        let tokens = CALL_MARKS.iter().filter(|marks| marks.dialect == self.name);
        let openings = tokens.flat_map(|marks| marks.opens).chain(self.tags);
        let mut is_part = false;
        let is_whole = openings.fold(false, |is_whole, opening| {
            let start = match_token(place.rest, opening);
            is_part |= start == TokenStart::Part;
            is_whole || matches!(start, TokenStart::Whole(_))
        });
        match is_whole {
            false if is_part => return DialectMatch::Open,
            false => return DialectMatch::Nothing,
            true if !place.is_all => return DialectMatch::Open,
            true => {}
        }
        let opening = marks::mark_at_start(place.rest).filter(|(kind, _)| *kind == MarkPlace::Open);
        let bytes = opening.map_or(0, |(_, bytes)| bytes);
        let is_token = bytes > 0 && call_token(place.rest).is_some();
        if !self.claims.is_met(place.rest[bytes..].trim_start()) {
            return DialectMatch::Nothing;
        }
        match marked::calls_in_section(&place.advanced_by(bytes)) {
            Some((read, found)) => super::match_of_calls(bytes + read, found),
            // A control token without calls is meaningless and is removed. With a blank in it, it can
            // be a part of the text.
            None if is_token && !place.rest[..bytes].contains(' ') => {
                DialectMatch::Replaced(bytes, String::new())
            }
            None => DialectMatch::Nothing,
        }
    }
}

impl FamilyFormat {
    /// Writes a call in the style of the family if that reads back as the same call, otherwise with
    /// its arguments as JSON.
    fn write_call(&self, index: usize, call: &SentCall, tools: &[ToolSpec]) -> String {
        let head = self.call.replace("{index}", &index.to_string()).replace("{name}", &call.name);
        let filled = |arguments: &str| head.replace("{arguments}", arguments);
        let json = words::json_line(&Value::Object(call.arguments.clone()));
        let text = Value::Object(call.arguments.clone()).to_string();
        let is_ambiguous = AMBIGUOUS.iter().any(|markup| text.contains(markup));
        let (own, json) = match self.arguments {
            ArgumentStyle::Json => return filled(&json),
            ArgumentStyle::Python => return filled(&write_python(call)),
            ArgumentStyle::Escaped => (write_escaped(&Value::Object(call.arguments.clone())), json),
            ArgumentStyle::Each(template) => {
                (write_each_argument(call, template), format!("{json}\n"))
            }
        };
        let [before, _, after] = self.around;
        let own = filled(&own);
        let reader = ReplyReader::new(None, tools);
        let read = reader.read(&format!("{before}{own}{after}"), TextEnd::Complete);
        let arguments = Arguments::Object(call.arguments.clone());
        let is_same = read.calls == [ToolCall { name: call.name.clone(), arguments }];
        if !is_ambiguous && is_same && read.text.is_empty() { own } else { filled(&json) }
    }
}

/// Writes every argument with its value: a text as it is, anything else as JSON.
fn write_each_argument(call: &SentCall, template: &str) -> String {
    let written = call.arguments.iter().map(|(key, value)| {
        let value = match value {
            // The line breaks next to the tags do not belong to the value.
            Value::String(text)
                if text.starts_with(['\r', '\n']) || text.ends_with(['\r', '\n']) =>
            {
                format!("\n{text}\n")
            }
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        template.replace("{key}", key).replace("{value}", &value)
    });
    written.collect()
}

/// Writes the arguments in Python syntax. Strings are the same as in JSON.
fn write_python(call: &SentCall) -> String {
    let written =
        call.arguments.iter().map(|(key, value)| format!("{key}={}", words::json_line(value)));
    written.collect::<Vec<_>>().join(", ")
}

/// Writes a value as Gemma's models do.
fn write_escaped(value: &Value) -> String {
    match value {
        Value::String(text) => format!("<escape>{text}<escape>"),
        Value::Array(values) => {
            format!("[{}]", values.iter().map(write_escaped).collect::<Vec<_>>().join(","))
        }
        Value::Object(object) => {
            let entries =
                object.iter().map(|(key, value)| format!("{key}:{}", write_escaped(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}
