use super::*;

#[track_caller]
fn becomes(property: &Value, expected: &Value) {
    let schema = json!({ "type": "object", "properties": { "x": property }, "$defs": {
        "Kind": { "type": "string", "enum": ["a", "b"], "description": "Which." },
        "Tree": { "type": "object", "properties": {
            "name": { "type": "string" },
            "left": { "$ref": "#/$defs/Tree" },
            "right": { "anyOf": [{ "$ref": "#/$defs/Tree" }, { "type": "null" }] } } },
    } });
    assert_eq!(&convert_parameters(&schema).unwrap()["properties"]["x"], expected, "{property}");
}

#[test]
fn gemini_schema_leaves_out_unsupported_keys() {
    let whole = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Arguments", "type": "object", "additionalProperties": false, "x-order": 1,
        "required": ["path", "gone"], "$defs": {},
        "properties": { "path": { "type": "string", "description": "Where.", "default": "a",
            "format": "uri", "pattern": "^a", "x-alias": "p", "examples": ["a"] } },
    });
    let expected = json!({
        "type": "object", "required": ["path"],
        "properties": { "path": { "type": "string", "description": "Where." } },
    });
    assert_eq!(convert_parameters(&whole), Some(expected));
}

#[test]
fn gemini_schema_of_a_tool_without_parameters_is_none() {
    for none in [json!({ "type": "object" }), json!({ "type": "object", "properties": {} })] {
        assert_eq!(convert_parameters(&none), None);
    }
}

#[test]
fn gemini_schema_keeps_the_bounds_of_numbers_and_lists() {
    let count = json!({ "type": "integer", "format": "uint32", "minimum": 1, "maximum": 9,
        "exclusiveMinimum": 0 });
    becomes(&count, &json!({ "type": "integer", "minimum": 1, "maximum": 9 }));
    becomes(&json!({ "type": "string", "minimum": 1 }), &json!({ "type": "string" }));
    let list = json!({ "type": "array", "items": { "type": "boolean" }, "minItems": 1,
        "uniqueItems": true });
    becomes(&list, &json!({ "type": "array", "items": { "type": "boolean" }, "minItems": 1 }));
    let items = json!({ "type": "array", "items": { "type": "string" } });
    becomes(&json!({ "type": "array" }), &items);
    becomes(&json!({ "type": "array", "items": true }), &items);
}

#[test]
fn gemini_schema_makes_optional_values_nullable_and_keeps_several_forms() {
    let nullable = json!({ "type": "string", "nullable": true, "description": "d" });
    becomes(&json!({ "type": ["string", "null"], "description": "d" }), &nullable);
    let one_of = json!({ "oneOf": [{ "type": "string" }, { "type": "null" }], "description": "d" });
    becomes(&one_of, &nullable);
    let two = json!({ "type": ["string", "integer"], "description": "d", "minimum": 1 });
    let forms = json!([{ "type": "string" }, { "type": "integer", "minimum": 1 }]);
    becomes(&two, &json!({ "anyOf": forms, "description": "d" }));
    let either = json!({ "type": "object", "properties": { "a": { "type": "string" } },
        "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] });
    let object = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    becomes(&either, &object);
}

#[test]
fn gemini_schema_keeps_enums_of_strings_only() {
    becomes(&json!({ "const": "a" }), &json!({ "type": "string", "enum": ["a"] }));
    let some = json!({ "type": "string", "enum": ["a", null] });
    becomes(&some, &json!({ "type": "string", "enum": ["a"] }));
    let perhaps = json!({ "type": "string", "enum": ["", "a"] });
    becomes(&perhaps, &json!({ "type": "string", "enum": ["a"] }));
    becomes(&json!({ "type": "string", "enum": [""] }), &json!({ "type": "string" }));
    becomes(&json!({ "type": "integer", "enum": [1, 2] }), &json!({ "type": "integer" }));
}

#[test]
fn gemini_schema_describes_any_value_and_any_object_as_a_string() {
    for any in [json!(true), json!({}), json!({ "default": null })] {
        becomes(&any, &json!({ "type": "string" }));
    }
    let map = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let text = json!({ "type": "string", "description": "A JSON object, as text." });
    becomes(&map, &text);
    becomes(&json!({ "type": "object", "properties": {} }), &text);
    let described = json!({ "type": ["object", "null"], "description": "All else." });
    let expected = json!({ "type": "string", "nullable": true,
        "description": "All else. A JSON object, as text." });
    becomes(&described, &expected);
    becomes(&json!({ "type": "array", "items": map }), &json!({ "type": "array", "items": text }));
}

#[test]
fn gemini_schema_resolves_references_and_ends_recursive_ones() {
    let kind = json!({ "type": "string", "enum": ["a", "b"], "description": "Which." });
    becomes(&json!({ "$ref": "#/$defs/Kind" }), &kind);
    let ours = json!({ "$ref": "#/$defs/Kind", "description": "Ours." });
    becomes(&ours, &json!({ "type": "string", "enum": ["a", "b"], "description": "Ours." }));
    becomes(&json!({ "allOf": [{ "$ref": "#/$defs/Kind" }] }), &kind);
    let tree = json!({ "type": "object", "properties": {
        "name": { "type": "string" },
        "left": { "type": "string", "description": "A JSON object, as text." },
        "right": { "type": "string", "nullable": true, "description": "A JSON object, as text." } } });
    becomes(&json!({ "$ref": "#/$defs/Tree" }), &tree);
    becomes(&json!({ "$ref": "#/$defs/Nothing" }), &json!({ "type": "string" }));
}

#[test]
fn gemini_schema_merges_all_of() {
    let part =
        |name: &str| json!({ "properties": { name: { "type": "string" } }, "required": [name] });
    let both = json!({ "allOf": [part("a"), part("b")] });
    let expected = json!({ "type": "object", "required": ["a", "b"],
        "properties": { "a": { "type": "string" }, "b": { "type": "string" } } });
    becomes(&both, &expected);
}

#[test]
fn gemini_schema_reads_an_object_requested_as_text() {
    let open = json!({ "type": "object", "additionalProperties": true });
    let schema = json!({ "type": "object", "$defs": { "Tree": { "type": "object", "properties": {
        "left": { "$ref": "#/$defs/Tree" } } } }, "properties": {
        "open": open, "perhaps": { "type": ["object", "null"] }, "text": { "type": "string" },
        "list": { "type": "array", "items": open }, "tree": { "$ref": "#/$defs/Tree" },
        "either": { "anyOf": [open, { "type": "string" }] },
        "deep": { "type": "object", "properties": { "open": open } } } });
    let text = "{\"a\": {\"b\": [1]}}";
    let object = json!({ "a": { "b": [1] } });
    let table = [
        (json!({ "open": text }), json!({ "open": object })),
        (json!({ "open": object }), json!({ "open": object })),
        (json!({ "open": "{half" }), json!({ "open": "{half" })),
        (json!({ "open": "[1]" }), json!({ "open": "[1]" })),
        (json!({ "perhaps": text }), json!({ "perhaps": object })),
        (json!({ "text": text }), json!({ "text": text })),
        (json!({ "list": [text, object] }), json!({ "list": [object, object] })),
        (json!({ "tree": { "left": text } }), json!({ "tree": { "left": object } })),
        (json!({ "either": text }), json!({ "either": text })),
        (json!({ "deep": { "open": text } }), json!({ "deep": { "open": object } })),
        (json!({ "unknown": text }), json!({ "unknown": text })),
    ];
    for (given, expected) in table {
        let arguments = restore_arguments(&schema, given.as_object().unwrap().clone());
        assert_eq!(Value::Object(arguments), expected, "{given}");
    }
}
