//! Checks the registration of slash commands (Application Commands, API reference).

use std::collections::BTreeSet;

use serde_json::Value;

use super::error::ApiError;
use super::form::{FormErrors, length};

/// Maximum number of commands of an application.
pub const COMMAND_LIMIT: usize = 100;
/// Maximum length of the name of a command or an option, in characters.
pub const NAME_LIMIT: usize = 32;
/// Maximum length of a description, in characters.
pub const DESCRIPTION_LIMIT: usize = 100;
const OPTION_LIMIT: usize = 25;

/// Parses the commands that replace all earlier ones.
pub(super) fn read(body: &Value) -> Result<Vec<Value>, ApiError> {
    let mut errors = FormErrors::default();
    let Some(commands) = body.as_array() else {
        errors.add("_", "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType");
        return Err(errors.finish().unwrap_err());
    };
    if commands.len() > COMMAND_LIMIT {
        let why = format!("Maximum number of application commands reached ({COMMAND_LIMIT})");
        return Err(ApiError::new(400, 30032, &why));
    }
    let mut names = BTreeSet::new();
    for (place, command) in commands.iter().enumerate() {
        let path = place.to_string();
        check_words(command, &path, &mut errors);
        check_options(&command["options"], &path, &mut errors);
        if !names.insert(command["name"].as_str()) {
            let why = "Application command names must be unique";
            errors.add(&path, "APPLICATION_COMMANDS_DUPLICATE_NAME", why);
        }
    }
    errors.finish()?;
    Ok(commands.clone())
}

/// Checks name and description of a command or an option.
fn check_words(given: &Value, path: &str, errors: &mut FormErrors) {
    let path_of = |field: &str| format!("{path}.{field}");
    match given["name"].as_str() {
        None => errors.required(&path_of("name")),
        Some(name) => check_name(name, &path_of("name"), errors),
    }
    match given["description"].as_str() {
        None => errors.required(&path_of("description")),
        Some(text) => errors.one_to(&path_of("description"), length(text), DESCRIPTION_LIMIT),
    }
}

fn check_name(name: &str, path: &str, errors: &mut FormErrors) {
    errors.one_to(path, length(name), NAME_LIMIT);
    let fits = |c: char| c == '-' || c == '_' || c.is_alphanumeric();
    let is_taken = name.chars().all(fits) && name.to_lowercase() == name;
    if !is_taken {
        errors.add(path, "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid");
    }
}

fn check_options(options: &Value, path: &str, errors: &mut FormErrors) {
    let options = options.as_array().map_or(&[][..], Vec::as_slice);
    errors.at_most(&format!("{path}.options"), options.len(), OPTION_LIMIT);
    let (mut names, mut optional_before) = (BTreeSet::new(), false);
    for (place, option) in options.iter().enumerate() {
        let path = format!("{path}.options.{place}");
        check_words(option, &path, errors);
        let kind = option["type"].as_u64().unwrap_or_default();
        errors.one_of(&format!("{path}.type"), kind, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        if !names.insert(option["name"].as_str()) {
            let why = "Option names must be unique";
            errors.add(&path, "APPLICATION_COMMAND_OPTIONS_NAME_DUPLICATED", why);
        }
        let is_required = option["required"] == true;
        if is_required && optional_before {
            let why = "Required options must be placed before non-required options";
            errors.add(&path, "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", why);
        }
        optional_before |= !is_required;
    }
}

#[cfg(test)]
#[path = "commands_tests.rs"]
mod tests;
