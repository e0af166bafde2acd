use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, json};

use super::*;
use crate::{Image, ImageRef, Reasoning};

#[test]
fn four_ascii_characters_are_a_token_and_each_other_character_is_one() {
    let table = [
        ("", 0),
        ("a", 1),
        ("four", 1),
        ("fives", 2),
        ("hello, world", 3),
        ("你好", 2),
        ("naïve", 2),
        ("🦤", 1),
    ];
    for (text, tokens) in table {
        assert_eq!(estimated_tokens(text), tokens, "{text:?}");
    }
}

#[test]
fn everything_that_is_sent_counts() {
    let call = SentCall {
        id: "t1s0c0".to_owned(),
        name: "read".to_owned(),
        arguments: Map::from_iter([("path".to_owned(), json!("ab"))]),
    };
    let plain = Message::assistant("done", vec![call]);
    assert_eq!(plain.estimated_tokens(), 4 + 1 + (4 + 1 + 4));
    let reasoning = Some(Reasoning { model: "a/b".to_owned(), content: json!("0123456789") });
    let thought = Message::Assistant { text: "done".to_owned(), calls: Vec::new(), reasoning };
    assert_eq!(thought.estimated_tokens(), 4 + 1 + 3);
    let result = Message::ToolResult { call: "t1s0c0".to_owned(), result: "12345678".to_owned() };
    assert_eq!(result.estimated_tokens(), 4 + 2);
    let tool = ToolSpec {
        name: "read".to_owned(),
        description: "reads a file".to_owned(),
        parameters: json!({}),
    };
    assert_eq!(tool.estimated_tokens(), 4 + 1 + 3 + 1);
    let image = Image { media_type: "image/png", bytes: Arc::from(&b"png"[..]) };
    let request = ModelRequest {
        messages: vec![Message::user("four"), result],
        tools: Arc::new([tool]),
        images: BTreeMap::from([(ImageRef { path: "a.png".to_owned() }, image)]),
    };
    assert_eq!(request.estimated_tokens(), 5 + 6 + 9 + 1000);
}
