//! `clients/schema/socket.json`, from which the types of both client libraries are made, agrees with the
//! descriptions of the methods.

use std::collections::{BTreeMap, BTreeSet};

use avocet_methods::METHODS;
use serde_json::Value;

use crate::schema_tests::{Types, file};

/// Types whose fields differ, and the reason.
const OTHER_FORM: [(&str, &str); 3] = [
    ("Content", "the libraries leave out what only channels of the daemon write"),
    ("LogEvent", "the details, which are one of several records, are fields that can be missing"),
    ("SessionOptionValue", "the libraries know a description that no option has today"),
];

fn socket_schema() -> Value {
    serde_json::from_str(&std::fs::read_to_string(file("socket.json")).unwrap()).unwrap()
}

/// The name of the type that a schema refers to, in brackets for a list; empty for other schemas.
fn target(schema: &Value) -> String {
    if schema["type"] == "array" {
        return format!("[{}]", target(&schema["items"]));
    }
    let path = schema["$ref"].as_str().unwrap_or_default();
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

fn fields(schema: &Value) -> BTreeSet<&str> {
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields.map(|(name, _)| name.as_str()).collect()
}

#[test]
fn socket_schema_has_the_methods_of_the_libraries_with_their_types() {
    let socket = socket_schema();
    let mut types = Types::new();
    let methods = || METHODS.iter().filter(|method| method.is_in_libraries);
    let names: BTreeSet<&str> = methods().map(|method| method.name).collect();
    let found = socket["x-methods"].as_object().unwrap().keys().map(String::as_str);
    assert_eq!(found.collect::<BTreeSet<_>>(), names);
    for method in methods() {
        let sides = &socket["x-methods"][method.name];
        let params = target(&(method.params)(&mut types.sent).to_value());
        let answer = target(&(method.answer)(&mut types.received).to_value());
        // The libraries ask for the state of the whole daemon only.
        if !["NoParams", "ShowStatus"].contains(&params.as_str()) {
            assert_eq!(target(&sides["params"]), params, "{}", method.name);
        }
        // Schemas without a name of their own.
        if !["AttachResult", "EmptyAnswer"].contains(&answer.as_str()) {
            assert_eq!(target(&sides["result"]), answer, "{}", method.name);
        }
    }
}

#[test]
fn socket_schema_has_the_fields_of_the_types() {
    let socket = socket_schema();
    let mut types = Types::new();
    for method in METHODS.iter().filter(|method| method.is_in_libraries) {
        (method.params)(&mut types.sent);
        (method.answer)(&mut types.received);
    }
    let of_types: BTreeMap<String, Value> = types.definitions().into_iter().collect();
    let mut compared = 0;
    for (name, found) in socket["$defs"].as_object().unwrap() {
        let Some(schema) = of_types.get(name) else { continue };
        if OTHER_FORM.iter().any(|(other, _)| other == name) || fields(schema).is_empty() {
            continue;
        }
        assert_eq!(fields(found), fields(schema), "the fields of {name} in socket.json");
        compared += 1;
    }
    assert!(compared >= 80, "only {compared} records are in both");
}
