//! Commands as terminals of the editor. The commands run in the sandbox of the daemon, and the
//! editor only displays them. The form is that of the adapters for Zed: `_meta` of a call has
//! `terminal_info`, and `_meta` of its updates has `terminal_output` and `terminal_exit`.

use std::path::PathBuf;

use agent_client_protocol::v1::schema::{ClientCapabilities, Meta, Terminal, ToolCallContent};
use avocet_protocol::turn::LoggedCall;
use avocet_text::printable;
use serde_json::{Map, Value, json};

use crate::place::SessionPlace;

/// The key of the capability, and of a piece of output.
const OUTPUT: &str = "terminal_output";
/// Bytes from the end of an output that follow a gap.
const AFTER_GAP: usize = 8 * 1024;
/// The place of a gap in the output.
const GAP: &str = "\n[…]\n";
/// The results of programs that are shown as the output and the end of the program.
const SHOWN_KEYS: [&str; 3] = ["output", "exit_code", "killed_by_signal"];

/// Returns `true` if the editor displays the output of commands as terminals.
pub(crate) fn has_terminals(capabilities: &ClientCapabilities) -> bool {
    let offered = capabilities.meta.as_ref().and_then(|meta| meta.get(OUTPUT));
    offered.and_then(Value::as_bool).unwrap_or_default()
}

/// Returns `true` for a call that runs a program and waits for its end.
pub(crate) fn is_command(logged: &LoggedCall) -> bool {
    let is_background =
        || logged.call.arguments.to_object().get("background") == Some(&true.into());
    match logged.call.name.as_str() {
        "run_tests" => true,
        "exec_shell" => !is_background(),
        _ => false,
    }
}

/// The end of a command, as its result tells it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct CommandEnd {
    /// The output, or a part of it.
    pub(crate) output: String,
    exit_code: Option<i64>,
    signal: Option<String>,
    /// The other parts of the result; empty without any.
    pub(crate) more: Map<String, Value>,
}

impl CommandEnd {
    /// Reads the result of a command; `None` for an error and for another form.
    pub(crate) fn of_result(logged: &LoggedCall) -> Option<Self> {
        let result = logged.result().filter(|result| result.ok && is_command(logged))?;
        let Value::Object(members) = &result.value else { return None };
        let output = printable(members.get("output")?.as_str()?).into_owned();
        let number = |key: &str| members.get(key).and_then(Value::as_i64);
        let mut more = members.clone();
        more.retain(|key, _| !SHOWN_KEYS.contains(&key.as_str()));
        let signal = number("killed_by_signal").map(signal_name);
        Some(Self { output, exit_code: number("exit_code"), signal, more })
    }

    /// Returns a line about an end that is not a success; `None` after a success.
    pub(crate) fn failure_line(&self) -> Option<String> {
        match (&self.signal, self.exit_code) {
            (Some(signal), _) => Some(format!("killed by {signal}")),
            (None, Some(code)) if code != 0 => Some(format!("exit code {code}")),
            _ => None,
        }
    }
}

/// Returns the terminal of a call, which has the id of the call.
pub(crate) fn terminal_content(logged: &LoggedCall) -> ToolCallContent {
    ToolCallContent::Terminal(Terminal::new(logged.id.to_string()))
}

/// Returns the `_meta` of a new call with a terminal.
pub(crate) fn begin_meta(logged: &LoggedCall, place: &SessionPlace) -> Meta {
    let arguments = logged.call.arguments.to_object();
    let directory = ["working_dir", "directory"].iter().find_map(|key| arguments.get(*key));
    let directory = directory.and_then(Value::as_str).filter(|given| !given.is_empty());
    let cwd: PathBuf = directory.map_or_else(|| place.workspace.clone(), |one| place.absolute(one));
    Meta::from_iter([info_meta("terminal_info", logged, json!({ "cwd": cwd }))])
}

/// Returns the `_meta` of an update with printable output.
pub(crate) fn output_meta(call: &str, text: &str) -> Meta {
    Meta::from_iter([(OUTPUT.to_owned(), json!({ "terminal_id": call, "data": text }))])
}

/// Returns the `_meta` of the last update of a call. `live` is the output that the terminal shows
/// already.
pub(crate) fn finish_meta(logged: &LoggedCall, live: &str) -> Meta {
    let end = CommandEnd::of_result(logged).unwrap_or_default();
    let rest = rest_of(&end.output, live);
    let mut meta = Meta::new();
    if !rest.is_empty() {
        meta.extend(output_meta(&logged.id.to_string(), &rest));
    }
    let exit = json!({ "exit_code": end.exit_code, "signal": end.signal });
    meta.extend([info_meta("terminal_exit", logged, exit)]);
    meta
}

fn info_meta(key: &str, logged: &LoggedCall, mut value: Value) -> (String, Value) {
    value["terminal_id"] = logged.id.to_string().into();
    (key.to_owned(), value)
}

/// Returns the part of an output that a terminal lacks. The result of a call leaves out the middle
/// of a long output, and the live pieces may end before its end.
fn rest_of(output: &str, live: &str) -> String {
    if let Some(rest) = output.strip_prefix(live) {
        return rest.to_owned();
    }
    let tail = &output[output.ceil_char_boundary(output.len().saturating_sub(AFTER_GAP))..];
    if live.ends_with(tail) { String::new() } else { format!("{GAP}{tail}") }
}

/// Returns the name of a signal (signal(7)).
fn signal_name(number: i64) -> String {
    let name = match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        _ => return format!("signal {number}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_of_is_the_output_that_a_terminal_lacks() {
        let long = "x".repeat(AFTER_GAP);
        let cut = format!("a\n[… 9 bytes left out …]\n{long}");
        for (output, live, expected) in [
            ("a\nb\n", "", "a\nb\n".to_owned()),
            ("a\nb\n", "a\n", "b\n".to_owned()),
            ("a\nb\n", "a\nb\n", String::new()),
            ("", "a\n", String::new()),
            (cut.as_str(), &format!("a\nmiddle\n{long}"), String::new()),
            (cut.as_str(), "a\nmiddle\n", format!("{GAP}{long}")),
        ] {
            assert_eq!(rest_of(output, live), expected, "{live:.9}");
        }
    }

    #[test]
    fn has_terminals_reads_the_capability_of_the_editor() {
        for (meta, expected) in [
            (json!({}), false),
            (json!({ "_meta": { "terminal_output": true } }), true),
            (json!({ "_meta": { "terminal_output": false } }), false),
            (json!({ "_meta": { "terminal_output": "yes" } }), false),
            (json!({ "terminal": true }), false),
        ] {
            let capabilities = serde_json::from_value(meta.clone()).unwrap();
            assert_eq!(has_terminals(&capabilities), expected, "{meta}");
        }
    }
}
