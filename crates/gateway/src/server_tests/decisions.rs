//! Decisions about people, chats and calls.

use avocet_protocol::access::{ApprovalDecision, Person, Role};
use avocet_protocol::ids::WaitId;
use serde_json::{Value, json};

use super::world::{World, refused};
use crate::testing::session;
use crate::{Approve, Decide};

#[tokio::test]
async fn people_memory_pair_and_link_methods_reach_the_daemon_and_return_its_refusals() {
    let world = World::new();
    let client = world.client().await;
    let approve = Approve { code: "K7QX-M2PA".to_owned(), owner: true };
    let person: Person = client.request("pair.approve", &approve).await.unwrap();
    assert_eq!((person.id.to_string().as_str(), person.role), ("telegram:main:8", Role::Owner));
    let remove = json!({ "person": "telegram:main:8" });
    assert_eq!(client.request::<Value>("people.remove", &remove).await, Ok(json!(null)));
    let forget = json!({ "memory": "m1" });
    assert_eq!(client.request::<Value>("memory.forget", &forget).await, Ok(json!(null)));
    let remove = json!({ "rule": "r1" });
    assert_eq!(client.request::<Value>("rules.remove", &remove).await, Ok(json!(null)));
    let add = json!({ "text": "speak English" });
    let added: Value = client.request("rules.add", &add).await.unwrap();
    assert_eq!((&added["name"], &added["scope"]), (&json!("r2"), &json!("everyone")), "{added}");
    let listed: Value = client.request("rules.list", &json!({})).await.unwrap();
    assert_eq!((&listed[0]["name"], &listed[1]["name"]), (&json!("config-1"), &json!("r1")));
    let (into, chat) = ("terminal:local:a", "terminal:local:b");
    let table = [
        ("pair.approve", json!({ "code": "2222-2222" }), -32002),
        ("pair.approve", json!({ "code": "please" }), -32602),
        ("pair.deny", json!({ "code": "2222-2222" }), -32602),
        ("people.remove", json!({ "person": "telegram" }), -32602),
        ("memory.consolidate", json!({ "scope": "everyone", "dry_run": true }), -32004),
        ("memory.consolidate", json!({ "scope": "all" }), -32602),
        ("memory.forget", json!({ "memory": "m2" }), -32002),
        ("memory.forget", json!({ "memory": 2 }), -32602),
        ("memory.add", json!({ "text": " ", "scope": "everyone" }), -32602),
        ("memory.add", json!({ "text": "x".repeat(2049), "scope": "everyone" }), -32602),
        ("memory.add", json!({ "text": "x", "scope": "us" }), -32602),
        ("rules.add", json!({ "text": " " }), -32602),
        ("rules.add", json!({ "text": "x".repeat(501) }), -32602),
        ("rules.add", json!({ "text": "x", "scope": "us" }), -32602),
        ("rules.remove", json!({ "rule": "r9" }), -32002),
        ("rules.remove", json!({ "rule": "config-1" }), -32602),
        ("memory.undo", json!({ "change": "c1" }), -32602),
        ("memory.undo", json!({ "change": "c3" }), -32002),
        ("link.add", json!({ "into": into, "chat": chat }), -32003),
        ("link.remove", json!({ "chat": chat }), -32002),
    ];
    for (method, params, code) in table {
        let (refused, message) = refused(client.request::<Value>(method, &params).await);
        assert_eq!(refused, code, "{method}: {message}");
    }
    for method in ["pair.list", "people.list"] {
        assert_eq!(client.request::<Value>(method, &json!({})).await, Ok(json!([])));
    }
}

#[tokio::test]
async fn approval_decide_allows_a_call_once() {
    let world = World::new();
    let client = world.client().await;
    let open: Value = client.request("approval.list", &json!({})).await.unwrap();
    let expected = json!([{
        "id": "w7",
        "session": session().to_string(),
        "chat": null,
        "tool": "exec_shell",
        "arguments": { "command": "curl -H 'key: [secret]'\\u{e0078}" },
        "grant": null,
        "expires_at": 5,
        "card": {
            "text": "**May I use `exec_shell`?** The key is [secret]\\u{e0078}.",
            "choices": [
                { "label": "Allow once", "decision": { "decision": "once" } },
                { "label": "Deny", "decision": { "decision": "denied", "why": null } },
            ],
        },
    }]);
    assert_eq!(open, expected);
    let decide = |id| Decide { id: WaitId(id), decision: ApprovalDecision::ForSession };
    let done: Result<Value, _> = client.request("approval.decide", &decide(7)).await;
    assert_eq!(done.unwrap(), Value::Null);
    let error =
        client.request::<Value>("approval.decide", &decide(8)).await.unwrap_err().to_string();
    assert!(error.contains("no call waits for approval as w8"), "{error}");
}

#[tokio::test]
async fn task_methods_list_show_and_cancel() {
    let world = World::new();
    let client = world.client().await;
    let listed: Value = client.request("task.list", &json!({})).await.unwrap();
    assert_eq!((&listed[0]["id"], &listed[0]["label"]), (&json!("t12"), &json!("survey")));
    assert_eq!(listed[0]["task"], "use the key [secret]");
    let next: Value = client.request("task.list", &json!({ "before": "t12" })).await.unwrap();
    assert_eq!(next, json!([]));
    let task: Value = client.request("task.show", &json!({ "id": "t12" })).await.unwrap();
    assert_eq!(task, listed[0]);
    let cancelled: Result<Value, _> = client.request("task.cancel", &json!({ "id": "t12" })).await;
    assert_eq!(cancelled, Ok(Value::Null));
    for (method, params, code) in [
        ("task.show", json!({ "id": "t13" }), -32002),
        ("task.cancel", json!({ "id": "t13" }), -32002),
        ("task.cancel", json!({}), -32602),
        ("task.list", json!({ "limit": 0 }), -32602),
    ] {
        let (refused, message) = refused(client.request::<Value>(method, &params).await);
        assert_eq!(refused, code, "{method}: {message}");
    }
}
