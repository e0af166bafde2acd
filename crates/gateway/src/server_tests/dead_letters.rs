//! Dead letters: listed, shown, retried and dropped.

use serde_json::{Value, json};

use super::world::{World, refused};
use crate::NamedDeadLetter;
use crate::testing::DEAD;

#[tokio::test]
async fn dead_letter_methods_reach_the_daemon_and_return_its_refusals() {
    let world = World::new();
    let client = world.client().await;
    let list: Value = client.request("dead.list", &json!({})).await.unwrap();
    assert_eq!((&list[0]["id"], &list[0]["text"]), (&json!("o7"), &json!("use the key [secret]")));
    let rest: Value = client.request("dead.list", &json!({ "after": "o7" })).await.unwrap();
    assert_eq!(rest, json!([]));
    let named = NamedDeadLetter { id: DEAD };
    let shown: Value = client.request("dead.show", &named).await.unwrap();
    assert_eq!(shown, list[0]);
    for method in ["dead.retry", "dead.drop"] {
        assert_eq!(client.request::<Value>(method, &named).await, Ok(Value::Null));
    }
    let gone = "there is no dead letter m7; it may wait, or have been retried or dropped: `avocet trace \
                m7` shows it";
    let table = [
        ("dead.show", json!({ "id": "m7" }), -32002, gone),
        ("dead.retry", json!({ "id": "m7" }), -32002, gone),
        ("dead.drop", json!({ "id": "m7" }), -32002, gone),
        ("dead.drop", json!({ "id": "t7" }), -32602, "delivery id"),
        ("dead.list", json!({ "limit": 0 }), -32602, "it must be from 1 to 500"),
    ];
    for (method, params, code, text) in table {
        let (refused, message) = refused(client.request::<Value>(method, &params).await);
        assert_eq!(refused, code, "{method}: {message}");
        assert!(message.contains(text), "{method}: {message}");
    }
}
