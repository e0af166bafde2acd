use serde_json::json;

use super::*;

#[test]
fn lenient_value_repairs_json_with_one_possible_meaning() {
    let table = [
        (r#"{"a": 1,}"#, json!({"a": 1})),
        (r#"{"a": [1, 2, ], }"#, json!({"a": [1, 2]})),
        (r#"{“a”: “b "c" d”}"#, json!({"a": "b \"c\" d"})),
        (r#"{„a“: ”b”}"#, json!({"a": "b"})),
        (r#"{'a': 'say "b"', 'c': 'it\'s'}"#, json!({"a": "say \"b\"", "c": "it's"})),
        (r#"{‘a’: ‘b’}"#, json!({"a": "b"})),
        ("{\"a\": \"b\n\tc\r\nd\"}", json!({"a": "b\n\tc\r\nd"})),
        (r#"{"a": True, "b": False, "c": None}"#, json!({"a": true, "b": false, "c": null})),
        ("{a: 1, b_c: 2}", json!({"a": 1, "b_c": 2})),
        ("{\"a\": 1 // one\n, /* two */ \"b\": 2 # three\n}", json!({"a": 1, "b": 2})),
        (r#"{"a": "\u00e9\ud83d\ude00\/", 'b': -1.5}"#, json!({"a": "é😀/", "b": -1.5})),
        (
            r#"{"a": "\ud83d", 'b': "\ude00\ud83d\ud83d\ude00"}"#,
            json!({"a": "\u{fffd}", "b": "\u{fffd}\u{fffd}😀"}),
        ),
        (r#"{"a": {"b": [1"#, json!({"a": {"b": [1]}})),
        (r#"{"a": "b","#, json!({"a": "b"})),
        (r#"{"a": "http://b # c"}"#, json!({"a": "http://b # c"})),
    ];
    for (text, expected) in table {
        assert_eq!(parse_value(text, MissingBrackets::Added), Ok((expected, text.len())), "{text}");
    }
}

#[test]
fn lenient_value_refuses_ambiguous_json() {
    let table = [
        (r#"{"a": "b "c" d"}"#, LenientError::At(10)),
        (r"{'a': 'it's'}", LenientError::At(10)),
        (r#"{"a": 1 "b": 2}"#, LenientError::At(8)),
        (r#"{"a": 1, "a": 2}"#, LenientError::At(15)),
        (r#"{"a": "C:\data"}"#, LenientError::At(9)),
        (r#"{"a": 01}"#, LenientError::At(6)),
        (r#"{"a": yes}"#, LenientError::At(6)),
        (r#"{"a" "b"}"#, LenientError::At(5)),
        (r#"{"a": "b"#, LenientError::Open),
        (r#"{"a": tru"#, LenientError::Open),
        (r#"{"a":"#, LenientError::Open),
        (r#"{"a"#, LenientError::Open),
        (r#"{"a": "\ud83d"#, LenientError::Open),
        (r#"{"a": "\ud83d\"#, LenientError::Open),
        (r#"{"a": "\ud83d\uwxyz"}"#, LenientError::At(7)),
        (r#"{,}"#, LenientError::At(1)),
    ];
    for (text, fault) in table {
        assert_eq!(parse_value(text, MissingBrackets::Added), Err(fault), "{text}");
    }
    assert_eq!(parse_value(r#"{"a": 1"#, MissingBrackets::Refused), Err(LenientError::Open));
    let deep = "[".repeat(100_000);
    assert!(parse_value(&deep, MissingBrackets::Added).is_err());
}

#[test]
fn lenient_value_ends_at_its_closing_bracket() {
    assert_eq!(
        parse_value(r#"{"a": 1} and {"b"}"#, MissingBrackets::Added),
        Ok((json!({"a": 1}), 8))
    );
    assert_eq!(bracket_bytes(r#"{"a": "}\"}"} rest"#), 13);
    assert_eq!(bracket_bytes(r#"{"a": {"#), 7);
}
