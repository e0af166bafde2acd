//! Random changes of good responses: each request is answered, and a change of one tool costs no other.

use proptest::prelude::*;
use rmcp::model::ServerResult;

use super::tests::{read, result_of};
use super::*;

/// A good response to each method that we send.
fn good_responses() -> Vec<(&'static str, Value)> {
    let tool = |name: &str| {
        json!({
            "name": name, "title": "T", "description": "Does.", "annotations": {"readOnlyHint": true},
            "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        })
    };
    let text = json!({"type": "text", "text": "hi"});
    [
        ("initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "s", "version": "1"}, "instructions": "x"})),
        ("tools/list", json!({"tools": [tool("one"), tool("two"), tool("three")], "nextCursor": "2"})),
        ("tools/call", json!({"content": [text, {"type": "image", "data": "AAAA", "mimeType": "image/png"}],
            "structuredContent": {"a": 1}, "isError": false})),
        ("resources/list", json!({"resources": [{"uri": "a://b", "name": "b", "size": 3}]})),
        ("resources/read", json!({"contents": [{"uri": "a://b", "text": "c"}]})),
        ("prompts/list", json!({"prompts": [{"name": "p", "arguments": [{"name": "a", "required": true}]}]})),
        ("prompts/get", json!({"description": "d", "messages": [{"role": "user", "content": text}]})),
        ("ping", json!({})),
    ]
    .into_iter()
    .map(|(method, result)| (method, json!({"jsonrpc": "2.0", "id": 5, "result": result})))
    .collect()
}

fn odd_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!(-1)),
        Just(json!(1.5)),
        Just(json!("")),
        Just(json!("text")),
        Just(json!("\u{fffd}")),
        Just(json!([])),
        Just(json!({})),
        Just(json!([null, {"type": null}])),
        Just(json!({"type": "odd", "name": 7})),
    ]
}

/// Changes a value somewhere inside: `steps` choose the way down, and `odd` is put there, or the
/// field is dropped.
fn change(value: &mut Value, steps: &[usize], odd: Option<&Value>) {
    let Some((step, rest)) = steps.split_first() else { return };
    let is_leaf = rest.is_empty();
    match value {
        Value::Object(object) if !object.is_empty() => {
            let key = object.keys().nth(step % object.len()).unwrap().clone();
            match odd {
                None if is_leaf => drop(object.remove(&key)),
                Some(odd) if is_leaf => drop(object.insert(key, odd.clone())),
                _ => change(object.get_mut(&key).unwrap(), rest, odd),
            }
        }
        Value::Array(list) if !list.is_empty() => {
            let place = step % list.len();
            match odd {
                None if is_leaf => drop(list.remove(place)),
                Some(odd) if is_leaf => list[place] = odd.clone(),
                _ => change(&mut list[place], rest, odd),
            }
        }
        scalar => *scalar = odd.cloned().unwrap_or_default(),
    }
}

proptest! {
    #[test]
    fn read_messages_answers_the_request_whatever_changes_in_a_good_result(
        which in 0_usize..8,
        changes in prop::collection::vec((prop::collection::vec(0_usize..6, 1..7), prop::option::of(odd_value())), 1..4),
    ) {
        let (method, mut response) = good_responses().remove(which);
        for (steps, odd) in &changes {
            change(&mut response["result"], steps, odd.as_ref());
        }
        match read(method, &response) {
            JsonRpcMessage::Response(read) => prop_assert_eq!(read.id, NumberOrString::Number(5)),
            other => prop_assert!(false, "{}: {:?}", response, other),
        }
    }

    #[test]
    fn read_messages_survives_changes_of_the_envelope(
        which in 0_usize..8,
        steps in prop::collection::vec(0_usize..6, 1..3),
        odd in prop::option::of(odd_value()),
    ) {
        let (method, mut response) = good_responses().remove(which);
        change(&mut response, &steps, odd.as_ref());
        let wire = open_requests(&[(5, method)]);
        drop(wire.read_messages(response.to_string().as_bytes(), Some(5)));
    }

    #[test]
    fn rebuild_tools_keeps_the_other_tools_whatever_changes_in_one(
        changes in prop::collection::vec((prop::collection::vec(0_usize..6, 1..6), prop::option::of(odd_value())), 1..5),
    ) {
        let mut page = good_responses().remove(1).1["result"].take();
        for (steps, odd) in &changes {
            change(&mut page["tools"][1], steps, odd.as_ref());
        }
        let ServerResult::ListToolsResult(list) = result_of("tools/list", &page) else {
            panic!("{page}");
        };
        let names: Vec<&str> = list.tools.iter().map(|tool| &*tool.name).collect();
        prop_assert!(names.starts_with(&["one"]) && names.ends_with(&["three"]), "{page}");
        let left_out = remarks_of(list.meta.as_ref()).len();
        prop_assert_eq!(names.len() + left_out, 3, "{}", page);
        for tool in &list.tools {
            let schema = Value::Object(tool.input_schema.as_ref().clone());
            prop_assert!(jsonschema::validator_for(&schema).is_ok());
        }
    }
}
