//! Buttons and menus below a message: action rows and their limits (Component Reference).

use std::collections::BTreeSet;

use serde_json::Value;

use super::form::{FormErrors, length};

/// Maximum number of rows below a message.
pub const ROW_LIMIT: usize = 5;
/// Maximum number of buttons in a row.
pub const BUTTON_LIMIT: usize = 5;
/// Maximum length of a button's label, in characters.
pub const LABEL_LIMIT: usize = 80;
/// Maximum length in characters of the data that a pressed button sends back.
pub const CUSTOM_ID_LIMIT: usize = 100;
/// Maximum number of options of a menu.
pub const OPTION_LIMIT: usize = 25;
/// Maximum length of the label and of the value of an option, in characters.
const OPTION_TEXT: usize = 100;
/// Maximum length of the text that a menu without a choice shows, in characters.
const PLACEHOLDER_LIMIT: usize = 150;
/// Maximum length of the URL of a button, in characters.
const URL_LIMIT: usize = 512;

const ROW: u64 = 1;
const BUTTON: u64 = 2;
const MENU: u64 = 3;
const LINK: u64 = 5;

/// Checks the components of a message.
pub(super) fn check(components: &Value, errors: &mut FormErrors) {
    let rows = list(components);
    errors.at_most("components", rows.len(), ROW_LIMIT);
    let mut ids = BTreeSet::new();
    for (place, row) in rows.iter().enumerate() {
        let path = format!("components.{place}");
        errors.one_of(&format!("{path}.type"), number(&row["type"]), &[ROW]);
        let buttons = list(&row["components"]);
        if number(&buttons.first().unwrap_or(&Value::Null)["type"]) == MENU {
            errors.one_to(&format!("{path}.components"), buttons.len(), 1);
            check_menu(&buttons[0], &format!("{path}.components.0"), &mut ids, errors);
            continue;
        }
        errors.one_to(&format!("{path}.components"), buttons.len(), BUTTON_LIMIT);
        for (place, button) in buttons.iter().enumerate() {
            check_button(button, &format!("{path}.components.{place}"), &mut ids, errors);
        }
    }
}

/// Checks a menu of texts (String Select, Component Reference).
fn check_menu<'a>(
    menu: &'a Value,
    path: &str,
    ids: &mut BTreeSet<&'a str>,
    errors: &mut FormErrors,
) {
    check_id(menu, path, ids, errors);
    let placeholder = menu["placeholder"].as_str().unwrap_or_default();
    errors.at_most(&format!("{path}.placeholder"), length(placeholder), PLACEHOLDER_LIMIT);
    let options = list(&menu["options"]);
    errors.one_to(&format!("{path}.options"), options.len(), OPTION_LIMIT);
    let mut values = BTreeSet::new();
    for (place, option) in options.iter().enumerate() {
        for field in ["label", "value"] {
            let text = option[field].as_str().unwrap_or_default();
            errors.one_to(&format!("{path}.options.{place}.{field}"), length(text), OPTION_TEXT);
        }
        if !values.insert(option["value"].as_str()) {
            let why = "The specified option value is already used";
            let path = format!("{path}.options.{place}.value");
            errors.add(&path, "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", why);
        }
    }
}

fn check_button<'a>(
    button: &'a Value,
    path: &str,
    ids: &mut BTreeSet<&'a str>,
    errors: &mut FormErrors,
) {
    errors.one_of(&format!("{path}.type"), number(&button["type"]), &[BUTTON]);
    errors.one_of(&format!("{path}.style"), number(&button["style"]), &[1, 2, 3, 4, LINK]);
    let label = button["label"].as_str().unwrap_or_default();
    if label.is_empty() && button["emoji"].is_null() {
        errors.required(&format!("{path}.label"));
    }
    errors.at_most(&format!("{path}.label"), length(label), LABEL_LIMIT);
    if number(&button["style"]) == LINK {
        let url = button["url"].as_str().unwrap_or_default();
        let path = format!("{path}.url");
        if !["http://", "https://", "discord://"].iter().any(|scheme| url.starts_with(scheme)) {
            let why = "Scheme \"\" is not supported. Scheme must be one of \
                       ('http', 'https', 'discord').";
            errors.add(&path, "URL_TYPE_INVALID_SCHEME", why);
        }
        errors.at_most(&path, length(url), URL_LIMIT);
        return;
    }
    check_id(button, path, ids, errors);
}

fn check_id<'a>(
    component: &'a Value,
    path: &str,
    ids: &mut BTreeSet<&'a str>,
    errors: &mut FormErrors,
) {
    let (id, path) =
        (component["custom_id"].as_str().unwrap_or_default(), format!("{path}.custom_id"));
    if id.is_empty() {
        errors.add(&path, "BUTTON_COMPONENT_CUSTOM_ID_REQUIRED", "A custom id is required");
    } else if !ids.insert(id) {
        let why = "Component custom id cannot be duplicated";
        errors.add(&path, "COMPONENT_CUSTOM_ID_DUPLICATED", why);
    }
    errors.at_most(&path, length(id), CUSTOM_ID_LIMIT);
}

/// Returns the buttons and menus of a message, in reading order.
pub(super) fn buttons(components: &[Value]) -> Vec<Value> {
    components.iter().flat_map(|row| list(&row["components"])).cloned().collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}
