#[path = "server_tests/attach.rs"]
mod attach;
#[path = "server_tests/config.rs"]
mod config;
#[path = "server_tests/dead_letters.rs"]
mod dead_letters;
#[path = "server_tests/decisions.rs"]
mod decisions;
#[path = "server_tests/deletion.rs"]
mod deletion;
#[path = "server_tests/editor.rs"]
mod editor;
#[path = "server_tests/events.rs"]
mod events;
#[path = "server_tests/external.rs"]
mod external;
#[path = "server_tests/jobs.rs"]
mod jobs;
#[path = "server_tests/lists.rs"]
mod lists;
#[path = "server_tests/mcp.rs"]
mod mcp;
#[path = "server_tests/messages.rs"]
mod messages;
#[path = "server_tests/options.rs"]
mod options;
#[path = "server_tests/places.rs"]
mod places;
#[path = "server_tests/rights.rs"]
mod rights;
#[path = "server_tests/session_servers.rs"]
mod session_servers;
#[path = "server_tests/web.rs"]
mod web;
#[path = "server_tests/world.rs"]
pub(crate) mod world;

use std::time::Duration;

use avocet_methods::{METHODS, MethodDescription};
use avocet_protocol::bus::PublishError;
use avocet_protocol::ids::MessageId;
use avocet_protocol::store::StoreError;
use avocet_supervise::Group;
use serde_json::{Value, json};

use crate::programs::tests::Child;
use crate::{AskResult, Client, ClientError, MAX_LINE_BYTES, RpcError, Wait};
use world::{World, ask, refused};

#[tokio::test]
async fn server_errors_name_the_reason() {
    let world = World::new();
    let client = world.client().await;
    let not_allowed = |channel: &str, sender: &str| PublishError::NotAllowed {
        channel: channel.to_owned(),
        sender: sender.to_owned(),
    };
    let table = [
        (
            not_allowed("terminal", "uid:7"),
            -32001,
            "uid:7 may not speak on terminal; add it to [channels.terminal] allow",
        ),
        (
            not_allowed("telegram", "uid:7"),
            -32001,
            "ask: uid:7 is not a person on telegram; write to the people of the chat with `send`, or ask in another \
             conversation",
        ),
        (PublishError::Stopping, -32003, "the daemon is stopping; send it again when it is back"),
        (
            PublishError::Empty,
            -32602,
            "the message is empty after control and invisible characters were removed",
        ),
        (
            PublishError::Log(StoreError::Full { path: "db".to_owned() }),
            -32003,
            "the disk that holds db is full; free some space, nothing was lost",
        ),
    ];
    for (refusal, code, message) in table {
        *world.daemon.refusal.lock() = Some(refusal);
        let refusal = refused(client.request::<AskResult>("ask", &ask("hi")).await);
        assert_eq!(refusal, (code, message.to_owned()));
    }
    let table = [
        (
            "ask",
            json!({"session": "terminal:local:../x", "text": "hi"}),
            -32602,
            "ask: session id \"terminal:local:../x\" contains `/`, which is not allowed in an id",
        ),
        ("ask", json!({"session": "terminal:local:a"}), -32602, "ask: `text` is missing"),
        (
            "dance",
            json!({}),
            -32601,
            "there is no method \"dance\"; there are agents.list, approval.decide, approval.list, ask, ask.json, attach, \
             config.check, config.diff, config.form, config.save, config.show, cursor.move, dead.drop, dead.list, dead.retry, dead.show, doctor, editor.attach, events.list, file.get, hello, \
             job.cancel, job.list, job.show, job.submit, link.add, link.list, \
             link.remove, mcp.approve, mcp.list, mcp.tools, memory.add, memory.consolidate, memory.forget, memory.list, memory.log, \
             memory.show, memory.sync, memory.undo, message.withdraw, \
             pair.approve, pair.deny, pair.list, people.list, people.remove, ping, publish, resume_all, rules.add, rules.list, rules.remove, schedule.add, schedule.change, schedule.list, schedule.show, send, \
             session.servers, sessions.branch, sessions.change, sessions.delete, sessions.list, sessions.options, sessions.search, sessions.sent, \
             sessions.set_option, sessions.show, status, stop_all, subscribe, subscriber.list, subscriber.remove, \
             task.cancel, task.list, task.show, trace, usage, wait, web.browsers, web.open, web.sign_out",
        ),
        (
            "ask.json",
            json!({"session": "terminal:local:a", "text": "x", "schema": false}),
            -32602,
            "the JSON Schema is invalid: the whole: nothing is valid",
        ),
        (
            "attach",
            json!({"chat": "telegram:work:1"}),
            -32002,
            "no client can attach to telegram:work:1; the accounts with clients are \
             external:irc, terminal:local",
        ),
        ("wait", json!({"message": "m7"}), -32002, "there is no message m7"),
        ("status", json!({}), -32003, "the log is closed"),
        (
            "usage",
            json!({"by": "moon"}),
            -32602,
            "usage: `moon` is not a possible value; possible values: `model`, `session`, `day`, \
             `purpose`, `schedule`",
        ),
    ];
    for (method, params, code, message) in table {
        let refusal = refused(client.request::<Value>(method, &params).await);
        assert_eq!(refusal, (code, message.to_owned()), "{method}");
    }
}

#[tokio::test]
async fn server_refuses_parameters_in_a_list_for_each_method() {
    let world = World::new();
    let mut child = Child::start(&world);
    let client = world.client().await;
    for MethodDescription { name, .. } in METHODS {
        let message = format!("{name}: the parameters are a list; send an object with their names");
        for params in [json!([]), json!(["terminal:local:a", "hi"])] {
            let refusal = refused(client.request::<Value>(name, &params).await);
            assert_eq!(refusal, (RpcError::PARAMS, message.clone()));
            let error = child.call(name, params).await["error"].take();
            assert_eq!(error, json!({ "code": RpcError::PARAMS, "message": message }));
        }
    }
}

#[tokio::test]
async fn server_refuses_bad_lines_and_serves_the_next() {
    let world = World::new();
    let mut bytes = vec![b'x'; 10 * MAX_LINE_BYTES];
    bytes.extend(b"\n{\"a\": \"\xff\"}\n{oops\n[]\n\n");
    bytes.extend(br#"{"id": "last", "method": "people.list"}"#);
    bytes.push(b'\n');
    let answers = world.raw(&bytes, 5).await;
    let codes: Vec<Value> = answers.iter().map(|answer| answer["error"]["code"].clone()).collect();
    assert_eq!(codes, [json!(-32600), json!(-32700), json!(-32700), json!(-32600), Value::Null]);
    assert_eq!(
        answers[0]["error"]["message"],
        "the line is 10485760 bytes long; at most 1048576 are accepted. Send large texts as files"
    );
    assert_eq!((&answers[4]["id"], &answers[4]["result"]), (&json!("last"), &json!([])));
}

#[tokio::test]
async fn client_calls_fail_if_the_daemon_disconnects() {
    let world = World::new();
    let clients = Group::new("clients");
    let client = Client::connect(&world.path, &clients).await.unwrap();
    let wait = Wait { message: MessageId(1), seconds: None };
    let (waited, ()) = tokio::join!(client.request::<Value>("wait", &wait), async {
        world.clock.sleeper(Duration::from_secs(1)).await;
        world.gateway.close();
    });
    assert_eq!(waited, Err(ClientError::Lost));
    assert!(!world.path.exists());
    assert!(client.incoming().recv_async().await.is_err());
}
