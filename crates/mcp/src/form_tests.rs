use super::*;

fn field(schema: &Value) -> FormField {
    FormField::from_schema("f", schema, true).unwrap()
}

#[test]
fn read_takes_valid_values_of_each_kind() {
    let titled = json!([{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]);
    let several = json!({"type": "array", "maxItems": 2, "items": {"type": "string", "enum": ["a", "b", "c"]}});
    for (schema, answer, value) in [
        (json!({"type": "string"}), " hello ", json!("hello")),
        (json!({"type": "string", "format": "email"}), "a@b.example", json!("a@b.example")),
        (
            json!({"type": "string", "format": "uri"}),
            "https://b.example/",
            json!("https://b.example/"),
        ),
        (json!({"type": "string", "format": "date"}), "2026-02-28", json!("2026-02-28")),
        (
            json!({"type": "string", "format": "date-time"}),
            "2026-02-28T09:00:00Z",
            json!("2026-02-28T09:00:00Z"),
        ),
        (json!({"type": "number", "maximum": 2.5}), "2.5", json!(2.5)),
        (json!({"type": "integer", "minimum": -1}), "-1", json!(-1)),
        (json!({"type": "boolean"}), "No", json!(false)),
        (json!({"type": "boolean"}), "true", json!(true)),
        (json!({"type": "string", "enum": ["a", "#1"]}), "#1", json!("a")),
        (
            json!({"type": "string", "enum": ["a", "b"], "enumNames": ["First", "Second"]}),
            "second",
            json!("b"),
        ),
        (json!({"type": "string", "oneOf": titled}), "Green", json!("g")),
        (json!({"type": "string", "oneOf": titled}), "r", json!("r")),
        (several.clone(), "c, #1", json!(["c", "a"])),
        (several, "", json!([])),
    ] {
        assert_eq!(field(&schema).read(answer), Ok(Some(value)), "{schema}");
    }
}

#[test]
fn read_refuses_other_values_with_the_reason() {
    let several = json!({"type": "array", "minItems": 1, "maxItems": 2, "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}});
    for (schema, answer, why) in [
        (
            json!({"type": "string", "maxLength": 2}),
            "abc",
            "`abc` is not a text of at most 2 characters.",
        ),
        (
            json!({"type": "string", "format": "email"}),
            "a b@c",
            "`a b@c` is not an e-mail address.",
        ),
        (json!({"type": "string", "format": "uri"}), "x", "`x` is not a URL."),
        (
            json!({"type": "string", "format": "date"}),
            "2026-02-30",
            "`2026-02-30` is not a date such as 2026-01-31.",
        ),
        (
            json!({"type": "string", "format": "date-time"}),
            "now",
            "`now` is not a time such as 2026-01-31T09:00:00Z.",
        ),
        (json!({"type": "number", "minimum": 1.0}), "NaN", "`NaN` is not a number of at least 1."),
        (
            json!({"type": "integer", "maximum": 3}),
            "3.5",
            "`3.5` is not a whole number of at most 3.",
        ),
        (json!({"type": "boolean"}), "perhaps", "`perhaps` is not yes or no."),
        (
            json!({"type": "string", "enum": ["a"]}),
            "#2",
            "`#2` is not one of these values, or its number such as #1.",
        ),
        (several.clone(), "", "`` is not 1 to 2 of these values or their numbers, such as #1, #2."),
        (several, "a, c", "`a, c` is not 1 to 2 of these values or their numbers, such as #1, #2."),
    ] {
        assert_eq!(field(&schema).read(answer), Err(why.to_owned()), "{schema}");
    }
}

#[test]
fn describe_shows_texts_of_a_server_as_inert_and_bounded() {
    let schema = json!({
        "type": "string", "title": "a\u{202e}\n".repeat(100), "description": "```\n[x](https://evil.example)",
        "enum": ["one", "two"], "default": "t`w`o",
    });
    let shown = field(&schema).describe_field();
    assert!(shown.starts_with("````\na a"), "{shown}");
    assert!(shown.contains("\n```\n[x](https://evil.example)\n#1 one\n#2 two\n````\n\nExpected: "));
    assert!(shown.ends_with("such as #1, or `default` for `t'w'o`."), "{shown}");
    assert!(!shown.contains('\u{202e}') && shown.len() < 1000, "{shown}");
}

#[test]
fn options_are_few_and_short() {
    let values: Vec<String> = (0..6).map(|number| format!("value {number}")).collect();
    let many =
        FormField::from_schema("f", &json!({"type": "string", "enum": values}), false).unwrap();
    assert_eq!(many.answer_options(), [AnswerOption::new("Skip", "skip")]);
    let long = json!({"type": "string", "enum": ["x".repeat(500)], "default": "y"});
    let options = FormField::from_schema("f", &long, false).unwrap().answer_options();
    assert_eq!(options.len(), 3);
    assert!(options.iter().all(|one| one.label.chars().count() <= 61 && one.answer.len() < 10));
}

#[test]
fn fields_refuses_unknown_kinds() {
    for schema in [
        json!({"type": "object"}),
        json!({}),
        json!({"type": "string", "enum": []}),
        json!({"type": "array", "items": {"type": "string"}}),
    ] {
        assert_eq!(FormField::from_schema("f", &schema, true), None, "{schema}");
    }
}
