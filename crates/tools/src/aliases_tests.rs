use std::collections::HashSet;

use serde_json::json;

use super::*;

/// A schema with these properties, and the aliases of the table.
fn schema(properties: &Value) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties });
    add_to(&mut schema);
    schema
}

#[test]
fn aliases_name_one_tool_or_argument_each() {
    let mut seen = HashSet::new();
    for (ours, others) in TOOLS {
        assert!(seen.insert(*ours), "{ours}");
        others.iter().for_each(|other| assert!(seen.insert(other), "{other}"));
    }
    let mut seen = HashSet::new();
    ARGUMENTS.iter().copied().flatten().for_each(|name| assert!(seen.insert(name), "{name}"));
}

#[test]
fn tool_resolves_the_tool_names_of_other_agents() {
    for (theirs, ours) in [
        ("file", "read_file"),
        ("show", "read_file"),
        ("cat", "read_file"),
        ("edit", "edit_file"),
        ("code_edit", "edit_file"),
        ("str_replace", "edit_file"),
        ("navigate", "list_directory"),
        ("ls", "list_directory"),
        ("list_dir", "list_directory"),
        ("write", "write_file"),
        ("create_file", "write_file"),
        ("bash", "exec_shell"),
        ("Bash", "exec_shell"),
        ("search", "search_files"),
        ("grep", "search_files"),
        ("find", "search_files"),
        ("mkdir", "create_directory"),
        ("rm", "delete_file"),
        ("patch", "apply_patch"),
        ("test", "run_tests"),
    ] {
        assert_eq!(tool_of_alias(theirs), Some(ours));
    }
    assert_eq!((tool_of_alias("read_file"), tool_of_alias("dance")), (None, None));
}

#[test]
fn resolved_renames_arguments_to_those_of_the_schema() {
    let ours = json!({ "path": {}, "find": {}, "replace": {}, "working_dir": {} });
    let table = [
        (json!({ "path": 1 }), Ok(json!({ "path": 1 }))),
        (json!({ "file_path": 1 }), Ok(json!({ "path": 1 }))),
        (json!({ "find_text": 1, "replace_text": 2 }), Ok(json!({ "find": 1, "replace": 2 }))),
        (json!({ "old_string": 1, "new_string": 2 }), Ok(json!({ "find": 1, "replace": 2 }))),
        (json!({ "cwd": 1 }), Ok(json!({ "working_dir": 1 }))),
        // An unknown name stays; the validation rejects it later.
        (json!({ "colour": 1, "file": 2 }), Ok(json!({ "colour": 1, "path": 2 }))),
        (
            json!({ "file_path": 1, "path": 1 }),
            Err("file_path and path are the same argument: give only path"),
        ),
        (
            json!({ "file": 1, "filename": 2 }),
            Err("file and filename are the same argument: give only path"),
        ),
    ];
    for (given, expected) in table {
        let found = resolve_names(&schema(&ours), given.as_object().unwrap());
        let found = found.map(|map| Value::Object(map.into_owned()));
        assert_eq!(found, expected.map_err(str::to_owned), "{given}");
    }
}

#[test]
fn resolved_maps_to_an_alias_that_the_schema_declares() {
    let theirs = schema(&json!({ "file_path": {}, "old_text": { "x-aliases": ["t"] } }));
    assert_eq!(theirs["properties"]["old_text"]["x-aliases"][0], "t");
    let given = json!({ "path": 1, "t": 2 });
    let found = resolve_names(&theirs, given.as_object().unwrap()).unwrap();
    assert_eq!(Value::Object(found.into_owned()), json!({ "file_path": 1, "old_text": 2 }));
}

#[test]
fn resolved_leaves_an_argument_that_the_schema_declares() {
    let schema = schema(&json!({ "path": {}, "file": {} }));
    let given = json!({ "file": 1, "path": 2 });
    assert!(matches!(resolve_names(&schema, given.as_object().unwrap()), Ok(Cow::Borrowed(_))));
}
