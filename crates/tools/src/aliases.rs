//! Other names of our tools and of their arguments, so that prompts written for other agents work.
//! To add one, add a word to a row here.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// Our tools, and their names in other agents. A row applies only if its tool is registered. A
/// registered tool that has one of these names itself takes precedence.
const TOOLS: &[(&str, &[&str])] = &[
    ("apply_patch", &["apply_diff", "patch"]),
    ("ask_user", &["ask", "ask_followup_question", "ask_human", "ask_user_question"]),
    ("create_directory", &["create_dir", "make_directory", "mkdir"]),
    ("delete_file", &["delete", "remove_file", "rm"]),
    ("edit_file", &["code_edit", "edit", "replace_in_file", "str_replace"]),
    ("exec_shell", &["bash", "execute_command", "run_command", "sh", "shell"]),
    ("git_branches", &["git_branch", "git_list_branches"]),
    ("git_diff", &["git_diff_unstaged"]),
    ("git_switch", &["git_checkout", "git_create_branch"]),
    ("list_directory", &["list_dir", "list_files", "ls", "navigate"]),
    ("outline", &["file_outline", "list_symbols", "symbols"]),
    ("process_kill", &["kill", "kill_bash", "kill_process", "kill_shell"]),
    ("process_poll", &["bash_output", "poll", "poll_process", "process_output", "read_process"]),
    ("read_file", &["cat", "file", "open_file", "read", "show", "view", "view_file"]),
    ("run_tests", &["run_test", "test"]),
    ("search_files", &["find", "grep", "rg", "ripgrep", "search", "search_code", "search_file"]),
    ("use_skill", &["load_skill", "skill"]),
    ("spawn", &["delegate", "delegate_task", "sessions_spawn", "spawn_agent", "subagent"]),
    (
        "web_fetch",
        &["browse", "fetch", "fetch_url", "http_get", "open_url", "read_url", "webfetch"],
    ),
    ("web_search", &["google", "internet_search", "search_internet", "search_web", "websearch"]),
    ("write_file", &["create_file", "save_file", "write"]),
];

/// Synonyms of arguments. Each name in a row stands for the one name of the row that a tool has.
const ARGUMENTS: &[&[&str]] = &[
    &["command", "cmd"],
    &["content", "contents", "file_text"],
    &["end_line", "line_end", "to_line"],
    &["find", "find_text", "old_str", "old_string", "old_text"],
    &["path", "dir", "directory", "file", "file_name", "file_path", "filename", "filepath"],
    &["pattern", "regex"],
    &["query", "q", "search_query", "search_term"],
    &["replace", "new_str", "new_string", "new_text", "replace_text"],
    &["start_line", "from_line", "line_start"],
    &["url", "address", "href", "link", "uri"],
    &["working_dir", "cwd", "workdir", "working_directory"],
];

/// The key in a property's schema that lists the property's other names.
const KEY: &str = "x-aliases";

/// The names that other agents use for our tool `name`.
pub(crate) fn of_tool(name: &str) -> &'static [&'static str] {
    TOOLS.iter().find(|(ours, _)| *ours == name).map_or(&[], |(_, others)| others)
}

/// Returns our tool that other agents call `alias`. Upper and lower case are equal.
#[must_use]
pub fn tool_of_alias(alias: &str) -> Option<&'static str> {
    let is_meant = |other: &&str| other.eq_ignore_ascii_case(alias);
    TOOLS.iter().find(|(_, others)| others.iter().any(is_meant)).map(|(ours, _)| *ours)
}

/// Adds the other names of its properties to the schema of a tool's arguments.
pub(crate) fn add_to(schema: &mut Value) {
    let Some(properties) = schema["properties"].as_object_mut() else { return };
    for row in ARGUMENTS {
        let Some(own) = row.iter().find(|name| properties.contains_key(**name)) else { continue };
        let is_free = |name: &&&str| !properties.contains_key(**name);
        let others: Vec<Value> = row.iter().filter(is_free).map(|name| (*name).into()).collect();
        let Some(property) = properties[*own].as_object_mut() else { continue };
        let aliases = property.entry(KEY).or_insert_with(|| Value::Array(Vec::new()));
        aliases.as_array_mut().into_iter().for_each(|aliases| aliases.extend(others.clone()));
    }
}

/// Returns the arguments under the names of the schema. Names that the schema does not know stay.
///
/// # Errors
/// If two of the given names mean the same argument.
pub(crate) fn resolve_names<'a>(
    schema: &Value,
    given: &'a Map<String, Value>,
) -> Result<Cow<'a, Map<String, Value>>, String> {
    if given.keys().all(|name| own_name(schema, name) == name) {
        return Ok(Cow::Borrowed(given));
    }
    let mut resolved = Map::new();
    for (name, value) in given {
        let own = own_name(schema, name);
        let is_same = |other: &&String| *other != name && own_name(schema, other) == own;
        if let Some(other) = given.keys().find(is_same) {
            return Err(format!("{name} and {other} are the same argument: give only {own}"));
        }
        resolved.insert(own.to_owned(), value.clone());
    }
    Ok(Cow::Owned(resolved))
}

/// Returns the schema's name for `name`, or `name` itself if the schema has no such property.
fn own_name<'n>(schema: &'n Value, name: &'n str) -> &'n str {
    let properties = &schema["properties"];
    if properties.get(name).is_some() {
        return name;
    }
    let is_alias = |property: &Value| {
        let aliases = property[KEY].as_array().into_iter().flatten();
        aliases.filter_map(Value::as_str).any(|alias| alias == name)
    };
    let mut properties = properties.as_object().into_iter().flatten();
    properties.find(|(_, property)| is_alias(property)).map_or(name, |(own, _)| own)
}

#[cfg(test)]
#[path = "aliases_tests.rs"]
mod tests;
