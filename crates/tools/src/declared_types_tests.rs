use serde_json::json;

use super::*;

fn schema() -> Value {
    let items = json!({ "type": "object", "properties": { "line": { "type": "integer" } } });
    json!({ "type": "object", "required": ["path"], "properties": {
        "path": { "type": "string" },
        "start_line": { "type": "integer" },
        "ratio": { "type": "number" },
        "all": { "type": "boolean" },
        "kinds": { "type": "array", "items": { "type": "string" } },
        "rows": { "type": "array", "items": items },
        "lines": { "type": "array", "items": { "type": "integer" } },
        "options": { "type": "object", "properties": { "deep": { "type": "boolean" } } },
        "limit": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
        "either": { "type": ["integer", "string"] },
        "number_or_flag": { "anyOf": [{ "type": "integer" }, { "type": "boolean" }] },
        "anything": {},
        "any_list": { "type": "array" },
    } })
}

fn read(given: &Value) -> Value {
    let Value::Object(given) = given else { panic!("{given} is no object") };
    Value::Object(read_as_declared(&schema(), Cow::Borrowed(given)).into_owned())
}

#[test]
fn read_as_declared_reads_values_with_a_single_possible_reading() {
    let table = [
        (json!({ "start_line": "1" }), json!({ "start_line": 1 })),
        (json!({ "start_line": " -3 " }), json!({ "start_line": -3 })),
        (json!({ "start_line": "+3" }), json!({ "start_line": 3 })),
        (json!({ "start_line": 3.0 }), json!({ "start_line": 3 })),
        (json!({ "start_line": "3.0" }), json!({ "start_line": 3 })),
        (json!({ "ratio": "0.5" }), json!({ "ratio": 0.5 })),
        (json!({ "all": "true" }), json!({ "all": true })),
        (json!({ "all": "False" }), json!({ "all": false })),
        (json!({ "path": 7 }), json!({ "path": "7" })),
        (json!({ "path": true }), json!({ "path": "true" })),
        (json!({ "kinds": "rs" }), json!({ "kinds": ["rs"] })),
        (json!({ "kinds": r#"["rs", "toml"]"# }), json!({ "kinds": ["rs", "toml"] })),
        (json!({ "kinds": [1, "rs"] }), json!({ "kinds": ["1", "rs"] })),
        (json!({ "lines": "4" }), json!({ "lines": [4] })),
        (json!({ "lines": 4 }), json!({ "lines": [4] })),
        (json!({ "lines": "[\"4\", 5]" }), json!({ "lines": [4, 5] })),
        (json!({ "rows": { "line": "2" } }), json!({ "rows": [{ "line": 2 }] })),
        (json!({ "options": r#"{"deep": "true"}"# }), json!({ "options": { "deep": true } })),
        (json!({ "options": { "deep": "true" } }), json!({ "options": { "deep": true } })),
        (json!({ "limit": "20" }), json!({ "limit": 20 })),
        (json!({ "limit": null }), json!({ "limit": null })),
        (json!({ "start_line": null, "path": "a" }), json!({ "path": "a" })),
        (json!({ "start_line": "", "path": "a" }), json!({ "path": "a" })),
    ];
    for (given, expected) in table {
        assert_eq!(read(&given), expected, "{given}");
    }
}

#[test]
fn read_as_declared_keeps_fitting_values_and_those_that_can_only_be_guessed() {
    let table = [
        json!({ "start_line": "one" }),
        json!({ "start_line": "1.5" }),
        json!({ "start_line": 1.5 }),
        json!({ "start_line": "1e400" }),
        json!({ "start_line": "0x10" }),
        json!({ "start_line": true }),
        json!({ "start_line": [1] }),
        json!({ "all": "yes" }),
        json!({ "all": 1 }),
        json!({ "path": ["a"] }),
        json!({ "path": { "a": 1 } }),
        json!({ "path": null }),
        json!({ "path": "" }),
        json!({ "kinds": "[rs" }),
        json!({ "lines": "a" }),
        json!({ "options": "deep" }),
        json!({ "options": "[1]" }),
        json!({ "either": "1" }),
        json!({ "number_or_flag": "maybe" }),
        json!({ "anything": "1" }),
        json!({ "anything": null }),
        json!({ "any_list": 1 }),
        json!({ "unknown": "1" }),
    ];
    for given in table {
        assert_eq!(read(&given), given, "{given}");
    }
}
