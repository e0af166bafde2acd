//! The formats of model families that mark calls with their own tokens or tags. Their calls are
//! read by [`marked`], because models mix the formats. A family has its own openings and its own
//! form of writing.

use avocet_protocol::{Arguments, SentCall, ToolCall, ToolSpec};
use serde_json::Value;

use super::marks::{self, Mark};
use super::{Dialect, DialectMatch, ReplyPosition, ReplyReader, TextEnd, marked, words};
use crate::visible::tokens::{TokenStart, token};

/// The format of calls of a model family.
#[derive(Debug)]
pub(super) struct FamilyFormat {
    name: &'static str,
    syntax: &'static str,
    /// Openings, in lower case with `|` and `_`.
    openings: &'static [&'static str],
    /// The start of the text behind an opening that several families have.
    claims: fn(&str) -> bool,
    /// The markup before all calls, between two and behind them.
    around: [&'static str; 3],
    /// Writes a call with a tag for each argument; `None` if the family writes JSON.
    tagged: Option<fn(&SentCall) -> String>,
    /// Writes the call with this index, with its arguments as JSON.
    plain: fn(usize, &SentCall) -> String,
}

/// Calls of Apertus: the name of the tool is the only key of an object.
pub(super) const APERTUS: FamilyFormat = FamilyFormat {
    name: "apertus",
    syntax: "Write <|tools_prefix|>, a JSON list of objects with the tool's name as the only key and \
             its arguments as the value, and <|tools_suffix|>.",
    openings: &["<|tools_prefix|>"],
    claims: any,
    around: ["<|tools_prefix|>[", ", ", "]<|tools_suffix|>"],
    tagged: None,
    plain: |_, call| format!("{{\"{}\": {}}}", call.name, json(call)),
};
/// Calls of DeepSeek V3 and later; V3.2 and V4 also write `<｜DSML｜invoke name="NAME">`.
pub(super) const DEEPSEEK: FamilyFormat = FamilyFormat {
    name: "deepseek",
    syntax: "Write <｜tool▁call▁begin｜>, the tool's name, <｜tool▁sep｜>, the arguments as a JSON object \
             and <｜tool▁call▁end｜>. All calls stand between <｜tool▁calls▁begin｜> and \
             <｜tool▁calls▁end｜>.",
    openings: &["<|tool_calls_begin|>", "<|tool_call_begin|>", "<|dsml|"],
    claims: any,
    around: ["<｜tool▁calls▁begin｜>", "", "<｜tool▁calls▁end｜>"],
    tagged: None,
    plain: |_, call| {
        format!("<｜tool▁call▁begin｜>{}<｜tool▁sep｜>{}<｜tool▁call▁end｜>", call.name, json(call))
    },
};
/// Calls of FunctionGemma and Gemma 4.
pub(super) const GEMMA: FamilyFormat = FamilyFormat {
    name: "gemma",
    syntax: "Write <start_function_call>call:, the tool's name, the arguments in braces and \
             <end_function_call>. Texts stand between two <escape>.",
    openings: &["<start_function_call>", "<|tool_call>"],
    claims: any,
    around: ["", "", ""],
    tagged: Some(|call| {
        format!(
            "<start_function_call>call:{}{}<end_function_call>",
            call.name,
            escaped(&Value::Object(call.arguments.clone()))
        )
    }),
    plain: |_, call| {
        format!("<start_function_call>call:{}{}<end_function_call>", call.name, json(call))
    },
};
/// Calls of GLM-4.5 and later.
pub(super) const GLM: FamilyFormat = FamilyFormat {
    name: "glm",
    syntax: "Write <tool_call>, the tool's name, and for each argument <arg_key>its name</arg_key> and \
             <arg_value>its value</arg_value>. Close the call with </tool_call>.",
    openings: &["<tool_call>"],
    claims: |body| body.starts_with(|c: char| c.is_alphanumeric() || c == '_'),
    around: ["", "\n", ""],
    tagged: Some(|call| format!("<tool_call>{}\n{}</tool_call>", call.name, pairs(call, ""))),
    plain: |_, call| format!("<tool_call>{}\n{}\n</tool_call>", call.name, json(call)),
};
/// Calls of Hunyuan.
pub(super) const HUNYUAN: FamilyFormat = FamilyFormat {
    name: "hunyuan",
    syntax: "Write <tool_call>, the tool's name and <tool_sep>, and for each argument <arg_key>its \
             name</arg_key> and <arg_value>its value</arg_value>. Close the call with </tool_call>. \
             All calls stand between <tool_calls> and </tool_calls>.",
    openings: &["<tool_calls>", "<tool_calls:"],
    claims: |body| body.starts_with("<tool_call"),
    around: ["<tool_calls>\n", "\n", "\n</tool_calls>"],
    tagged: Some(|call| {
        format!("<tool_call>{}<tool_sep>\n{}</tool_call>", call.name, pairs(call, ""))
    }),
    plain: |_, call| format!("<tool_call>{}<tool_sep>\n{}\n</tool_call>", call.name, json(call)),
};
/// Calls of Kimi K2.
pub(super) const KIMI: FamilyFormat = FamilyFormat {
    name: "kimi",
    syntax: "Write <|tool_call_begin|>, functions.NAME:INDEX, <|tool_call_argument_begin|>, the \
             arguments as a JSON object and <|tool_call_end|>. All calls stand between \
             <|tool_calls_section_begin|> and <|tool_calls_section_end|>.",
    openings: &["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"],
    claims: any,
    around: ["<|tool_calls_section_begin|>", "", "<|tool_calls_section_end|>"],
    tagged: None,
    plain: |index, call| {
        let name = &call.name;
        let head =
            format!("<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>");
        format!("{head}{}<|tool_call_end|>", json(call))
    },
};
/// Calls of LongCat, which also writes an object with `name` and `arguments`.
pub(super) const LONGCAT: FamilyFormat = FamilyFormat {
    name: "longcat",
    syntax: "Write <longcat_tool_call>, the tool's name, and for each argument \
             <longcat_arg_key>its name</longcat_arg_key> and \
             <longcat_arg_value>its value</longcat_arg_value>. Close the call with \
             </longcat_tool_call>.",
    openings: &["<longcat_tool_call>"],
    claims: any,
    around: ["", "\n", ""],
    tagged: Some(|call| {
        let pairs = pairs(call, "longcat_");
        format!("<longcat_tool_call>{}\n{pairs}</longcat_tool_call>", call.name)
    }),
    plain: |_, call| {
        let object = words::object(call, "name", "arguments");
        format!("<longcat_tool_call>\n{object}\n</longcat_tool_call>")
    },
};
/// Calls of MiniMax M2.
pub(super) const MINIMAX: FamilyFormat = FamilyFormat {
    name: "minimax",
    syntax: "Write <invoke name=\"NAME\">, for each argument <parameter name=\"KEY\">its \
             value</parameter>, and </invoke>. All calls stand between <minimax:tool_call> and \
             </minimax:tool_call>.",
    openings: &["<minimax:tool_call>"],
    claims: any,
    around: ["<minimax:tool_call>\n", "\n", "\n</minimax:tool_call>"],
    tagged: Some(|call| {
        let values =
            values(call, |key, value| format!("<parameter name=\"{key}\">{value}</parameter>\n"));
        format!("<invoke name=\"{}\">\n{values}</invoke>", call.name)
    }),
    plain: |_, call| format!("<invoke name=\"{}\">\n{}\n</invoke>", call.name, json(call)),
};
/// Calls of Qwen3-Coder.
pub(super) const QWEN: FamilyFormat = FamilyFormat {
    name: "qwen",
    syntax: "Write <tool_call>, <function=NAME>, for each argument <parameter=KEY>, its value on its \
             own lines and </parameter>, then </function> and </tool_call>.",
    openings: &["<tool_call>"],
    claims: |body| body.starts_with("<function"),
    around: ["<tool_call>\n", "\n</tool_call>\n<tool_call>\n", "\n</tool_call>"],
    tagged: Some(|call| {
        let values =
            values(call, |key, value| format!("<parameter={key}>\n{value}\n</parameter>\n"));
        format!("<function={}>\n{values}</function>", call.name)
    }),
    plain: function,
};
/// Calls of Seed-OSS.
pub(super) const SEED: FamilyFormat = FamilyFormat {
    name: "seed",
    syntax: "Write <function=NAME>, for each argument <parameter=KEY>its value</parameter>, and \
             </function>. Each call stands between <seed:tool_call> and </seed:tool_call>.",
    openings: &["<seed:tool_call>"],
    claims: any,
    around: [
        "<seed:tool_call>\n",
        "\n</seed:tool_call>\n<seed:tool_call>\n",
        "\n</seed:tool_call>",
    ],
    tagged: Some(|call| {
        let values = values(call, |key, value| format!("<parameter={key}>{value}</parameter>\n"));
        format!("<function={}>\n{values}</function>", call.name)
    }),
    plain: function,
};

/// Markup in a value that would be mistaken for the markup around it. Such a call is written with
/// JSON, in which every `<` is escaped.
const AMBIGUOUS: [&str; 14] = [
    "<|",
    "<｜",
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

    fn syntax(&self) -> &'static str {
        self.syntax
    }

    fn has_control_words(&self) -> bool {
        true
    }

    fn render_calls(&self, calls: &[SentCall], tools: &[ToolSpec]) -> String {
        let calls = calls.iter().enumerate().map(|(index, call)| self.written(index, call, tools));
        let [before, between, after] = self.around;
        format!("{before}{}{after}", calls.collect::<Vec<_>>().join(between))
    }

    fn at_start(&self, place: &ReplyPosition<'_>) -> DialectMatch {
        if !place.rest.starts_with('<') {
            return DialectMatch::Nothing;
        }
        let starts = || self.openings.iter().map(|opening| token(place.rest, opening));
        if !starts().any(|start| matches!(start, TokenStart::Whole(_))) {
            let is_part = starts().any(|start| start == TokenStart::Part);
            return if is_part { DialectMatch::Open } else { DialectMatch::Nothing };
        }
        if !place.is_all {
            return DialectMatch::Open;
        }
        let opening = marks::mark(place.rest).filter(|(kind, _)| *kind == Mark::Open);
        let bytes = opening.map_or(0, |(_, bytes)| bytes);
        if !(self.claims)(place.rest[bytes..].trim_start()) {
            return DialectMatch::Nothing;
        }
        match marked::calls(&place.after(bytes)) {
            Some((read, found)) => super::calls(bytes + read, found),
            // A control token without calls is meaningless and is removed.
            None if bytes > 0 && marks::is_control_token(place.rest) => {
                DialectMatch::Replaced(bytes, String::new())
            }
            None => DialectMatch::Nothing,
        }
    }
}

impl FamilyFormat {
    /// Writes a call with a tag for each argument, if that reads back as the same call.
    fn written(&self, index: usize, call: &SentCall, tools: &[ToolSpec]) -> String {
        let plain = || (self.plain)(index, call);
        let Some(tagged) = self.tagged else { return plain() };
        let text = Value::Object(call.arguments.clone()).to_string();
        if AMBIGUOUS.iter().any(|markup| text.contains(markup)) {
            return plain();
        }
        let tagged = tagged(call);
        let [before, _, after] = self.around;
        let reader = ReplyReader::new(None, tools);
        let read = reader.read(&format!("{before}{tagged}{after}"), TextEnd::Complete);
        let arguments = Arguments::Object(call.arguments.clone());
        let is_same = read.calls == [ToolCall { name: call.name.clone(), arguments }];
        if is_same && read.text.is_empty() { tagged } else { plain() }
    }
}

fn any(_: &str) -> bool {
    true
}

fn json(call: &SentCall) -> String {
    words::json_line(&Value::Object(call.arguments.clone()))
}

fn function(_: usize, call: &SentCall) -> String {
    format!("<function={}>\n{}\n</function>", call.name, json(call))
}

/// Writes every argument with its value: a text as it is, anything else as JSON.
fn values(call: &SentCall, written: impl Fn(&str, &str) -> String) -> String {
    let values = call.arguments.iter().map(|(key, value)| match value {
        // The line breaks next to the tags do not belong to the value.
        Value::String(text) if text.starts_with(['\r', '\n']) || text.ends_with(['\r', '\n']) => {
            written(key, &format!("\n{text}\n"))
        }
        Value::String(text) => written(key, text),
        other => written(key, &other.to_string()),
    });
    values.collect()
}

fn pairs(call: &SentCall, prefix: &str) -> String {
    values(call, |key, value| {
        let key = format!("<{prefix}arg_key>{key}</{prefix}arg_key>");
        format!("{key}\n<{prefix}arg_value>{value}</{prefix}arg_value>\n")
    })
}

/// Writes a value as Gemma's models do.
fn escaped(value: &Value) -> String {
    match value {
        Value::String(text) => format!("<escape>{text}<escape>"),
        Value::Array(values) => {
            format!("[{}]", values.iter().map(escaped).collect::<Vec<_>>().join(","))
        }
        Value::Object(object) => {
            let entries = object.iter().map(|(key, value)| format!("{key}:{}", escaped(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}
