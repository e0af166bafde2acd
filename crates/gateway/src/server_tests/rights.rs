//! The rights of clients: `hello`, roles, and clients that are limited to chats.

use std::collections::BTreeSet;

use avocet_protocol::access::ClientRole;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::daemon::{LogStatus, WaitingChat};
use avocet_protocol::ids::{DeliveryId, JobId};
use avocet_protocol::store::SessionSummary;
use serde_json::{Value, json};

use super::world::{World, ask, refused};
use crate::testing::{DEAD, JOB, session};
use crate::{
    AskResult, ChatPatterns, ClientIdentity, Clients, Incoming, METHODS, NamedClient, RpcError,
    Touches,
};

/// A client of each of these chats, with the right to call every method.
fn client(name: &str, role: ClientRole, chats: &[&str], methods: Option<&[&str]>) -> NamedClient {
    let chats = ChatPatterns::new(chats.iter().map(ToString::to_string).collect());
    let methods = methods.map(|methods| methods.iter().map(ToString::to_string).collect());
    NamedClient::new(name, ClientIdentity::default(), role, chats, methods).unwrap()
}

fn world() -> World {
    World::with(Clients::new(vec![
        client("own", ClientRole::Operator, &["terminal:local:a"], None),
        client("linked", ClientRole::Operator, &["terminal:local:linked"], None),
        client("foreign", ClientRole::Operator, &["terminal:local:b", "discord:*"], None),
        client("nothing", ClientRole::Operator, &[], None),
        client("wide", ClientRole::Operator, &["*"], None),
        client("two", ClientRole::Observer, &["terminal:local:7", "terminal:local:1100"], None),
        client("sender", ClientRole::Sender, &["*"], None),
        client("observer", ClientRole::Observer, &["*"], None),
        client("narrow", ClientRole::Sender, &["*"], Some(&["ask"])),
    ]))
}

/// Parameters of a method that concern the chat `terminal:local:a`.
fn params(method: &str) -> Value {
    match method {
        "ask" => json!({"session": session(), "text": "hi"}),
        "ask.json" => json!({"session": session(), "text": "hi", "schema": {}}),
        "send" => json!({"chat": session(), "text": "hi"}),
        "attach" | "editor.attach" => json!({"chat": session()}),
        "file.get" => json!({"delivery": "x", "file": 0, "offset": 0}),
        "cursor.move" => {
            json!({"channel": "terminal", "account": "local", "cursor": {"position": "1"}})
        }
        "message.withdraw" => json!({"chat": session(), "key": "1"}),
        "publish" => json!({"chat": session(), "sender": "ann", "key": "1", "text": "hi"}),
        "sessions.search" => json!({"words": "hi"}),
        "mcp.approve" | "mcp.tools" => json!({"server": "files"}),
        "memory.show" => json!({"memory": "m1"}),
        "sessions.show" | "sessions.sent" | "sessions.delete" | "sessions.options"
        | "sessions.change" => json!({"session": session()}),
        "sessions.branch" => json!({"session": session(), "into": session()}),
        "sessions.set_option" => {
            json!({"session": session(), "option": "model", "value": "default"})
        }
        "session.servers" => json!({"session": session(), "servers": []}),
        "wait" | "trace" => json!({"message": "m1"}),
        "events.list" | "subscribe" => json!({"session": session()}),
        "approval.decide" => json!({"id": "w7", "decision": "for_session"}),
        "dead.show" | "dead.retry" | "dead.drop" => json!({"id": DEAD}),
        "job.show" | "job.cancel" => json!({"id": JOB}),
        "task.show" | "task.cancel" => json!({"id": "t12"}),
        "schedule.show" => json!({"id": "s1"}),
        "schedule.change" => json!({"id": "s1", "command": "pause"}),
        _ => json!({}),
    }
}

/// Calls the method as this client. `wait` may take long, so its answer is awaited only if it is a
/// refusal.
async fn call(world: &World, client: &str, method: &str) -> Result<Value, (i64, String)> {
    let connection = world.client().await;
    let hello = json!({"client": client});
    let welcome: Value = connection.request("hello", &hello).await.unwrap();
    assert_eq!(welcome["sender"], format!("client:{client}"));
    let answer = connection.request::<Value>(method, &params(method)).await;
    match answer {
        Ok(answer) => Ok(answer),
        refusal => Err(refused(refusal)),
    }
}

/// Checks what a method that is open to all clients answers a client without chats.
fn assert_names_no_chat(method: &str, answer: &Value) {
    match method {
        "hello" => assert!(answer["sender"].as_str().unwrap().starts_with("client:")),
        "ping" => assert_eq!(*answer, Value::Null),
        // The agents of the configuration, which belong to no chat.
        "agents.list" => assert!(answer.is_array()),
        _ => panic!("{method}: state here what it answers a client without chats: {answer}"),
    }
}

#[tokio::test]
async fn client_limited_to_chats_reaches_no_other_chat_by_any_method() {
    let world = world();
    *world.daemon.outcome.lock() = Some(avocet_protocol::chat::Outcome::Replied);
    world.daemon.log.add("terminal:local:a", "hi");
    for client in ["foreign", "nothing"] {
        for method in METHODS {
            let name = method.name;
            let answer = call(&world, client, name).await;
            match method.touches {
                // There is no open delivery.
                Touches::Nothing if name == "file.get" => {
                    assert_eq!(answer.unwrap_err().0, RpcError::NOT_FOUND);
                }
                Touches::Nothing => assert_names_no_chat(name, &answer.unwrap()),
                Touches::Rows(_) => assert_eq!(answer, Ok(json!([])), "{name}"),
                Touches::Events if name == "subscribe" => assert!(answer.is_ok(), "{answer:?}"),
                Touches::Events if name == "trace" => {
                    let (code, message) = answer.unwrap_err();
                    assert_eq!(code, RpcError::NOT_ALLOWED, "{message}");
                }
                Touches::Events => assert_eq!(answer.unwrap()["events"], json!([]), "{name}"),
                _ => {
                    let (code, message) = answer.unwrap_err();
                    assert_eq!(code, RpcError::NOT_ALLOWED, "{name}: {message}");
                    let setting = format!("in [gateway.clients.{client}]");
                    assert!(message.contains(&setting), "{name}: {message}");
                }
            }
        }
    }
    assert_eq!(world.daemon.asked.lock().len(), 0);
    assert_eq!(world.daemon.attached.lock().len(), 0);
}

#[tokio::test]
async fn client_limited_to_chats_cannot_tell_a_row_of_others_from_none() {
    let world = world();
    *world.daemon.outcome.lock() = Some(avocet_protocol::chat::Outcome::Replied);
    world.daemon.log.add("terminal:local:a", "hi");
    let connection = world.client().await;
    let _: Value = connection.request("hello", &json!({"client": "foreign"})).await.unwrap();
    for (method, key, unknown) in [
        ("wait", "message", "m99"),
        ("trace", "message", "m99"),
        ("approval.decide", "id", "w99"),
        ("dead.show", "id", "o99"),
        ("job.show", "id", "j99"),
        ("task.show", "id", "t99"),
        ("schedule.show", "id", "s99"),
    ] {
        let foreign = params(method);
        let mut missing = foreign.clone();
        missing[key] = json!(unknown);
        let mut refusals = Vec::new();
        for params in [&foreign, &missing] {
            let answer = connection.request::<Value>(method, params).await;
            let (code, message) = refused(answer);
            let id = params[key].as_str().unwrap();
            refusals.push((code, message.replace(id, "ID")));
        }
        assert_eq!(refusals[0], refusals[1], "{method}");
        assert!(!refusals[0].1.contains("terminal:local"), "{method}: {refusals:?}");
    }
}

#[tokio::test]
async fn client_limited_to_a_chat_calls_every_method_about_it() {
    let world = world();
    *world.daemon.outcome.lock() = Some(avocet_protocol::chat::Outcome::Replied);
    world.daemon.log.add("terminal:local:a", "hi");
    for method in METHODS {
        let name = method.name;
        let answer = call(&world, "own", name).await;
        match (&method.touches, answer) {
            (Touches::Events, Ok(list)) if name == "events.list" => {
                assert_eq!(list["events"][0]["message"]["text"], "hi");
            }
            (Touches::Rows(_), Ok(rows)) if name == "sessions.list" => {
                assert_eq!(rows, json!([]), "no session of the fake is that of the chat");
            }
            (Touches::Rows(_), answer) => {
                let rows = answer.unwrap();
                assert!(!rows.as_array().unwrap().is_empty(), "{name}");
            }
            (Touches::Everything, answer) => {
                assert_eq!(answer.unwrap_err().0, RpcError::NOT_ALLOWED, "{name}");
            }
            // A position is that of all chats.
            (_, Err((code, _))) if name == "cursor.move" => {
                assert_eq!(code, RpcError::NOT_ALLOWED);
            }
            (_, Err((code, message))) => {
                assert_ne!(code, RpcError::NOT_ALLOWED, "{name}: {message}");
            }
            (_, Ok(_)) => {}
        }
        let answer = call(&world, "wide", name).await;
        let is_refused = answer.is_err_and(|(code, _)| code == RpcError::NOT_ALLOWED);
        assert!(!is_refused, "{name} of a client that reaches all chats");
    }
}

#[tokio::test]
async fn client_of_a_linked_chat_reads_the_shared_session_and_writes_to_its_own_chat() {
    let world = world();
    *world.daemon.outcome.lock() = Some(avocet_protocol::chat::Outcome::Replied);
    for (method, expected) in [
        ("wait", true),
        ("sessions.show", true),
        ("sessions.sent", true),
        ("sessions.search", true),
        ("task.show", true),
        ("approval.decide", true),
        ("ask", false),
        ("send", false),
        ("attach", false),
        ("job.show", false),
    ] {
        assert_eq!(call(&world, "linked", method).await.is_ok(), expected, "{method}");
    }
}

#[tokio::test]
async fn sessions_list_of_a_limited_client_fills_each_page_with_its_own_rows() {
    let world = world();
    let connection = world.client().await;
    let _: Value = connection.request("hello", &json!({"client": "two"})).await.unwrap();
    let (mut names, mut after) = (Vec::new(), Value::Null);
    loop {
        let params = json!({"limit": 1, "after": after});
        let page: Vec<SessionSummary> = connection.request("sessions.list", &params).await.unwrap();
        let Some(last) = page.last() else { break };
        after = json!({"used_at": last.used_at, "session": last.session});
        names.push(last.session.to_string());
    }
    assert_eq!(names, ["terminal:local:7", "terminal:local:1100"]);
    let many: Vec<SessionSummary> =
        connection.request("sessions.list", &json!({"limit": 500})).await.unwrap();
    assert_eq!(many.len(), 2);
}

#[tokio::test]
async fn each_role_and_list_of_methods_refuses_the_other_methods() {
    let world = world();
    for (client, role) in [("sender", ClientRole::Sender), ("observer", ClientRole::Observer)] {
        for method in METHODS.iter().filter(|method| method.least > role) {
            let (code, message) = call(&world, client, method.name).await.unwrap_err();
            assert_eq!(code, RpcError::NOT_ALLOWED);
            let reason = format!(
                "client:{client} may not do this: {} needs the role {}, and its role is {role}; to \
                 permit it, set role in [gateway.clients.{client}]",
                method.name, method.least
            );
            assert_eq!(message, reason);
        }
    }
    let open: BTreeSet<&str> = ["ask", "hello", "ping"].into();
    for method in METHODS.iter().filter(|method| method.least <= ClientRole::Sender) {
        let answer = call(&world, "narrow", method.name).await;
        assert_eq!(answer.is_ok(), open.contains(method.name), "{}", method.name);
    }
}

#[tokio::test]
async fn mcp_tools_with_refresh_needs_the_role_operator() {
    let world = world();
    let connection = world.client().await;
    let _: Value = connection.request("hello", &json!({"client": "observer"})).await.unwrap();
    for (refresh, is_allowed) in [(false, true), (true, false)] {
        let params = json!({"server": "files", "refresh": refresh});
        let answer = connection.request::<Value>("mcp.tools", &params).await;
        if is_allowed {
            answer.unwrap();
        } else {
            assert_eq!(refused(answer).0, RpcError::NOT_ALLOWED);
        }
    }
}

#[tokio::test]
async fn ask_of_a_named_client_is_logged_with_its_name() {
    let world = world();
    let connection = world.client().await;
    let _: Value = connection.request("hello", &json!({"client": "sender"})).await.unwrap();
    let _: AskResult = connection.request("ask", &ask("hello")).await.unwrap();
    let asked = world.daemon.asked.lock()[0].clone();
    assert_eq!(asked.sender.id.as_str(), "client:sender");
}

#[tokio::test]
async fn hello_of_an_unknown_client_leaves_the_rights_unchanged() {
    let world = world();
    let connection = world.client().await;
    let (code, message) =
        refused(connection.request::<Value>("hello", &json!({"client": "nix"})).await);
    assert_eq!(code, RpcError::NOT_ALLOWED);
    assert!(message.contains("add a table [gateway.clients.nix]"), "{message}");
    let welcome: Value = connection.request("hello", &json!(null)).await.unwrap();
    let uid = rustix::process::geteuid().as_raw();
    let expected = json!({
        "sender": format!("uid:{uid}"), "role": "operator", "chats": ["*"], "methods": null, "protocol": 1,
    });
    assert_eq!(welcome, expected);
    let missing = refused(connection.request::<Value>("job.show", &json!({"id": JobId(9)})).await);
    assert_eq!(missing.0, RpcError::NOT_FOUND);
}

#[tokio::test]
async fn subscribe_of_a_limited_client_sends_the_events_of_its_chats_under_a_name_of_its_own() {
    let world = world();
    let connection = world.client().await;
    let _: Value = connection.request("hello", &json!({"client": "two"})).await.unwrap();
    let refusal =
        refused(connection.request::<Value>("subscribe", &json!({"name": "a@client.own"})).await);
    assert_eq!(refusal.0, RpcError::PARAMS);
    let params = json!({"name": "watch", "from": 0});
    let _: Value = connection.request("subscribe", &params).await.unwrap();
    for (session, text) in [("terminal:local:8", "secret"), ("terminal:local:7", "mine")] {
        world.daemon.log.add(session, text);
    }
    let Incoming::Events { batch, confirmation } =
        connection.incoming().recv_async().await.unwrap()
    else {
        panic!("no batch")
    };
    let numbers: Vec<_> = batch.events.iter().map(|event| event.seq.0).collect();
    assert_eq!(numbers, [2]);
    confirmation.confirm().await;
    world.daemon.log.confirmed("watch@client.two", 2).await;
    assert_eq!(world.daemon.log.position("watch"), None);
}

#[tokio::test]
async fn status_names_waiting_chats_only_to_clients_of_all_chats() {
    let world = world();
    let waiting = WaitingChat {
        chat: session().address(),
        count: 3,
        next: DeliveryId(9),
        since: Timestamp(5),
        attempts: 0,
        error: None,
    };
    let log = LogStatus { waiting_chats: vec![waiting], ..LogStatus::default() };
    let status = json!({
        "version": "1", "pid": 1, "uptime_seconds": 1, "data_dir": "/", "model": "a/b", "log": log, "channels": [],
    });
    *world.daemon.status.lock() = Some(serde_json::from_value(status).unwrap());
    let shown = call(&world, "observer", "status").await.unwrap()["log"]["waiting_chats"].clone();
    assert_eq!((&shown[0]["chat"], &shown[0]["next"]), (&json!(session()), &json!("o9")));
    for client in ["own", "two", "foreign", "nothing"] {
        let (code, message) = call(&world, client, "status").await.unwrap_err();
        assert_eq!(code, RpcError::NOT_ALLOWED, "{client}: {message}");
        assert!(!message.contains("terminal:local"), "{client}: {message}");
    }
}

#[tokio::test]
async fn sessions_branch_needs_the_right_to_both_conversations() {
    let world = world();
    for (client, into, is_allowed) in [
        ("own", "terminal:local:a", true),
        ("own", "terminal:local:b", false),
        ("own", "web:console:b", false),
        ("foreign", "terminal:local:b", false),
        ("sender", "web:console:b", true),
    ] {
        let connection = world.client().await;
        let _: Value = connection.request("hello", &json!({"client": client})).await.unwrap();
        let params = json!({"session": session(), "into": into});
        match connection.request::<u64>("sessions.branch", &params).await {
            Ok(turns) => assert!(is_allowed && turns == 2, "{client} {into}"),
            refusal => {
                assert!(!is_allowed, "{client} {into}: {refusal:?}");
                assert_eq!(refused(refusal).0, RpcError::NOT_ALLOWED);
            }
        }
    }
    assert_eq!(world.daemon.branches.lock().len(), 2);
}
