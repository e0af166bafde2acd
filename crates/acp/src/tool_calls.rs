//! Tool calls of the log, as the editor shows them.

use std::collections::HashMap;

use agent_client_protocol::v1::schema::{
    ClientCapabilities, Diff, SessionUpdate, ToolCall, ToolCallContent, ToolCallLocation,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use avocet_protocol::access::OpenApproval;
use avocet_protocol::ids::CallId;
use avocet_protocol::turn::{CallState, LoggedCall, TurnRecord};
use avocet_text::printable;
use serde_json::{Map, Value};

use crate::patch::parts;
use crate::place::SessionPlace;
use crate::plan::{is_plan, read_plan};
use crate::terminals::{self, CommandEnd, has_terminals, is_command, terminal_content};

/// The most bytes of a result that the editor gets.
const MAX_RESULT: usize = 16 * 1024;
/// The most characters of a title.
const MAX_TITLE: usize = 100;

/// The calls that the editor shows.
#[derive(Debug, Default)]
pub(crate) struct ShownCalls {
    /// Each with the last status that was sent.
    statuses: HashMap<CallId, ToolCallStatus>,
    /// `true` if commands are shown as terminals.
    has_terminals: bool,
    /// The output of running commands that was sent.
    live: HashMap<CallId, String>,
}

impl ShownCalls {
    /// Returns an empty list for an editor with these capabilities.
    pub(crate) fn new(capabilities: &ClientCapabilities) -> Self {
        Self { has_terminals: has_terminals(capabilities), ..Self::default() }
    }

    /// Returns `true` if the editor shows a call without its result.
    pub(crate) fn has_open(&self) -> bool {
        let open = [ToolCallStatus::Pending, ToolCallStatus::InProgress];
        self.statuses.values().any(|status| open.contains(status))
    }

    /// Returns the updates that bring the editor to the state of the turn.
    pub(crate) fn updates(
        &mut self,
        turn: &TurnRecord,
        place: &SessionPlace,
    ) -> Vec<SessionUpdate> {
        let calls = turn.steps.iter().flat_map(|step| &step.calls);
        calls.flat_map(|call| self.updates_of(call, place)).collect()
    }

    /// Returns the updates of one call; none if the editor already shows its status. A plan is shown
    /// in its own place instead, once its call has succeeded.
    pub(crate) fn updates_of(
        &mut self,
        logged: &LoggedCall,
        place: &SessionPlace,
    ) -> Vec<SessionUpdate> {
        let status = status(logged);
        let has_terminal = self.has_terminals && is_command(logged);
        let last = self.statuses.insert(logged.id, status);
        if is_plan(logged) {
            let is_new = last != Some(status) && status == ToolCallStatus::Completed;
            return read_plan(logged).filter(|_| is_new).into_iter().collect();
        }
        match last {
            None if has_terminal => {
                let mut call = described(logged, place).meta(terminals::begin_meta(logged, place));
                call.content = vec![terminal_content(logged)];
                // An editor makes the terminal with the call, and takes output with updates only.
                let end = logged.result().map(|_| self.end_terminal(logged, status));
                [Some(SessionUpdate::ToolCall(call)), end].into_iter().flatten().collect()
            }
            None => vec![SessionUpdate::ToolCall(described(logged, place))],
            Some(last) if last == status => Vec::new(),
            Some(_) if has_terminal && logged.result().is_some() => {
                vec![self.end_terminal(logged, status)]
            }
            Some(_) => {
                let mut fields = ToolCallUpdateFields::new().status(status);
                if has_terminal {
                    // A permission request has shown the command in place of the terminal.
                    fields = fields.content(vec![terminal_content(logged)]);
                } else if let Some(result) = logged.result() {
                    let (_, content) = changes(logged, place);
                    let content = with_result(content, logged);
                    fields = fields.content(content).raw_output(result.value.clone());
                }
                let update = ToolCallUpdate::new(logged.id.to_string(), fields);
                vec![SessionUpdate::ToolCallUpdate(update)]
            }
        }
    }

    /// Returns `true` until the editor shows that the call runs or has run.
    pub(crate) fn is_before_start(&self, call: CallId) -> bool {
        self.statuses.get(&call).is_none_or(|status| *status == ToolCallStatus::Pending)
    }

    /// Returns the update with the next output of a command. `None` unless the command runs.
    pub(crate) fn add_output(&mut self, call: CallId, text: &str) -> Option<SessionUpdate> {
        let status = self.statuses.get(&call)?;
        if !self.has_terminals || *status != ToolCallStatus::InProgress {
            return None;
        }
        let text = printable(text);
        self.live.entry(call).or_default().push_str(&text);
        let id = call.to_string();
        let meta = terminals::output_meta(&id, &text);
        let update = ToolCallUpdate::new(id, ToolCallUpdateFields::new()).meta(meta);
        Some(SessionUpdate::ToolCallUpdate(update))
    }

    /// Returns the last update of a command.
    fn end_terminal(&mut self, logged: &LoggedCall, status: ToolCallStatus) -> SessionUpdate {
        let live = self.live.remove(&logged.id).unwrap_or_default();
        let mut content = vec![terminal_content(logged)];
        match CommandEnd::of_result(logged) {
            Some(CommandEnd { more, .. }) if more.is_empty() => {}
            Some(CommandEnd { more, .. }) => {
                content.push(fenced(&format!("{:#}", Value::Object(more))).into());
            }
            None => content.extend(with_result(Vec::new(), logged)),
        }
        let mut fields = ToolCallUpdateFields::new().status(status).content(content);
        if let Some(result) = logged.result() {
            fields = fields.raw_output(result.value.clone());
        }
        let update = ToolCallUpdate::new(logged.id.to_string(), fields);
        SessionUpdate::ToolCallUpdate(update.meta(terminals::finish_meta(logged, &live)))
    }
}

/// Describes the call that an approval is about. Uses the approval if the turn lacks the call.
pub(crate) fn approved_call(
    approval: &OpenApproval,
    turn: Option<&TurnRecord>,
    place: &SessionPlace,
) -> ToolCallUpdate {
    let mut calls = turn.into_iter().flat_map(|turn| &turn.steps).flat_map(|step| &step.calls);
    let fits = |call: &&LoggedCall| {
        call.result().is_none()
            && call.call.name == approval.tool
            && call.call.arguments.to_object() == approval.arguments
    };
    let mut call = match calls.rfind(fits) {
        Some(call) => described(call, place).status(ToolCallStatus::Pending),
        None => {
            let Call { title, kind, locations, content } =
                Call::of(&approval.tool, &approval.arguments, place);
            let call = ToolCall::new(approval.id.to_string(), title).kind(kind);
            let arguments = Value::Object(approval.arguments.clone());
            call.locations(locations).content(content).raw_input(arguments)
        }
    };
    call.content.push(approval.card.text.as_str().into());
    call.into()
}

fn described(logged: &LoggedCall, place: &SessionPlace) -> ToolCall {
    let arguments = logged.call.arguments.to_object();
    let Call { title, kind, locations, content } = Call::of(&logged.call.name, &arguments, place);
    let mut call = ToolCall::new(logged.id.to_string(), title)
        .name(logged.call.name.clone())
        .kind(kind)
        .status(status(logged))
        .locations(locations)
        .raw_input(Value::Object(arguments));
    if let Some(result) = logged.result() {
        call = call.raw_output(result.value.clone());
    }
    call.content(with_result(content, logged))
}

fn status(logged: &LoggedCall) -> ToolCallStatus {
    match &logged.state {
        CallState::Planned | CallState::Waiting => ToolCallStatus::Pending,
        CallState::Started | CallState::Interrupted { .. } => ToolCallStatus::InProgress,
        CallState::Finished(result) if result.ok => ToolCallStatus::Completed,
        CallState::Finished(_) => ToolCallStatus::Failed,
    }
}

/// The parts of a call that people see.
struct Call {
    title: String,
    kind: ToolKind,
    locations: Vec<ToolCallLocation>,
    content: Vec<ToolCallContent>,
}

impl Call {
    fn of(name: &str, arguments: &Map<String, Value>, place: &SessionPlace) -> Self {
        let (locations, content) = changes_of(name, arguments, place);
        Self { title: title(name, arguments), kind: kind(name), locations, content }
    }
}

/// Returns the kind of a call. The editor chooses a symbol by it.
fn kind(name: &str) -> ToolKind {
    match name {
        "read_file" | "read_result" | "outline" | "list_directory" | "memory_read"
        | "git_status" | "git_log" | "git_diff" | "git_branches" => ToolKind::Read,
        "write_file" | "edit_file" | "apply_patch" | "create_directory" | "backup_file" => {
            ToolKind::Edit
        }
        "delete_file" => ToolKind::Delete,
        "search_files" | "search_history" | "memory_search" | "web_search" => ToolKind::Search,
        "exec_shell" | "run_tests" | "process_poll" | "process_kill" | "git_add" | "git_commit"
        | "git_push" | "git_switch" => ToolKind::Execute,
        "web_fetch" => ToolKind::Fetch,
        _ => ToolKind::Other,
    }
}

/// Returns the name of the tool with its most informative argument.
fn title(name: &str, arguments: &Map<String, Value>) -> String {
    let keys = ["command", "path", "f", "pattern", "query", "url", "question", "message", "task"];
    let Some(text) = text(arguments, &keys) else { return name.to_owned() };
    let line = text.lines().next().unwrap_or_default();
    let mut shown: String = line.chars().take(MAX_TITLE).collect();
    if shown.len() < text.trim_end().len() {
        shown.push('…');
    }
    if name == "exec_shell" { format!("`{shown}`") } else { format!("{name} {shown}") }
}

/// Returns the first of these arguments that is a string.
fn text<'a>(arguments: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| arguments.get(*key)?.as_str())
}

fn changes(
    logged: &LoggedCall,
    place: &SessionPlace,
) -> (Vec<ToolCallLocation>, Vec<ToolCallContent>) {
    changes_of(&logged.call.name, &logged.call.arguments.to_object(), place)
}

/// Returns the files that a call touches, and its changes.
fn changes_of(
    name: &str,
    arguments: &Map<String, Value>,
    place: &SessionPlace,
) -> (Vec<ToolCallLocation>, Vec<ToolCallContent>) {
    if name == "apply_patch" {
        return patched(text(arguments, &["patch", "diff", "input"]).unwrap_or_default(), place);
    }
    let Some(path) = text(arguments, &["path", "f", "working_dir"]) else {
        return (Vec::new(), Vec::new());
    };
    let path = place.absolute(path);
    let line = ["start_line", "l", "insert_line"].iter().find_map(|key| arguments.get(*key));
    let line = line.and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok());
    let location = ToolCallLocation::new(path.clone()).line(line);
    let content: Option<ToolCallContent> = match name {
        "write_file" => {
            text(arguments, &["content"]).map(|content| Diff::new(path, content).into())
        }
        "edit_file" => {
            let new = text(arguments, &["replace", "r"]).unwrap_or_default();
            match text(arguments, &["find", "expect"]) {
                Some(old) => Some(Diff::new(path, new).old_text(old.to_owned()).into()),
                // The text before the change is unknown.
                None => Some(fenced(new).into()),
            }
        }
        _ => None,
    };
    (vec![location], content.into_iter().collect())
}

fn patched(patch: &str, place: &SessionPlace) -> (Vec<ToolCallLocation>, Vec<ToolCallContent>) {
    let parts = parts(patch).into_iter().map(|part| {
        let path = place.absolute(&part.path);
        let line = (part.line > 0).then_some(part.line);
        let location = ToolCallLocation::new(path.clone()).line(line);
        (location, Diff::new(path, part.new).old_text(part.old).into())
    });
    parts.unzip()
}

/// Adds the result of a call. For a successful edit, the diff is enough.
fn with_result(mut content: Vec<ToolCallContent>, logged: &LoggedCall) -> Vec<ToolCallContent> {
    let Some(result) = logged.result() else { return content };
    if result.ok && !content.is_empty() {
        return content;
    }
    if let Some(end) = CommandEnd::of_result(logged) {
        content.extend(shown_end(&end).map(Into::into));
        return content;
    }
    let text = match &result.value {
        Value::String(text) => text.clone(),
        value => match value["error"].as_str() {
            Some(error) => error.to_owned(),
            None => format!("{value:#}"),
        },
    };
    if !text.trim().is_empty() {
        let text = if result.ok { fenced(&text) } else { text };
        content.push(text.into());
    }
    content
}

/// Returns the output and the end of a command for an editor without terminals; `None` if there is
/// nothing to show.
fn shown_end(end: &CommandEnd) -> Option<String> {
    let mut parts = Vec::new();
    if !end.output.trim().is_empty() {
        parts.push(fenced(&printable(&end.output)));
    }
    parts.extend(end.failure_line());
    if !end.more.is_empty() {
        parts.push(fenced(&format!("{:#}", Value::Object(end.more.clone()))));
    }
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// Returns a text as a code block, cut to [`MAX_RESULT`] bytes.
fn fenced(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_RESULT);
    let (shown, cut) = (&text[..end], if end < text.len() { "\n…" } else { "" });
    let fence = crate::prompt::fence_for(shown);
    format!("{fence}\n{}{cut}\n{fence}", shown.trim_end_matches('\n'))
}

#[cfg(test)]
#[path = "tool_calls_tests.rs"]
mod tests;
