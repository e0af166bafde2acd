//! Tests of lists over the socket: page by page, without secrets, and short enough for a line.

use avocet_protocol::store::{SessionRow, SessionSummary};
use avocet_protocol::turn::TurnRecord;
use avocet_supervise::Group;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixListener;

use super::world::{World, refused};
use crate::testing::{BUSY, session};
use crate::{Approve, Client, ListSessions, MAX_LINE_BYTES, MOST_ROWS, RpcError};

#[tokio::test]
async fn sessions_list_is_read_page_by_page() {
    let world = World::new();
    let client = world.client().await;
    let (mut all, mut after) = (Vec::<SessionSummary>::new(), None);
    loop {
        let list = ListSessions { limit: MOST_ROWS, after, only: None };
        let page: Vec<SessionSummary> = client.request("sessions.list", &list).await.unwrap();
        let is_last = page.len() < MOST_ROWS as usize;
        let last = page.last().unwrap();
        after = Some(SessionRow { used_at: last.used_at, session: last.session.clone() });
        all.extend(page);
        if is_last {
            break;
        }
    }
    let used_at: Vec<i64> = all.iter().map(|one| one.used_at.0).collect();
    assert_eq!(used_at, (0..1200).collect::<Vec<_>>());
    let page: Vec<Value> = client.request("sessions.list", &json!(null)).await.unwrap();
    assert_eq!(page.len(), 50, "without parameters");
}

#[tokio::test]
async fn list_methods_refuse_a_page_that_is_too_large_with_the_largest() {
    let world = World::new();
    let client = world.client().await;
    for (method, name) in [
        ("approval.list", "limit"),
        ("link.list", "limit"),
        ("memory.list", "limit"),
        ("memory.log", "limit"),
        ("people.list", "limit"),
        ("sessions.list", "limit"),
        ("sessions.search", "limit"),
        ("sessions.sent", "limit"),
        ("sessions.show", "turns"),
        ("usage", "limit"),
    ] {
        for rows in [0, 100_000] {
            let mut params = json!({ name: rows });
            match method {
                "sessions.show" | "sessions.sent" => params["session"] = json!(session()),
                "sessions.search" => params["words"] = json!("hi"),
                _ => {}
            }
            let (code, message) = refused(client.request::<Value>(method, &params).await);
            assert_eq!(code, RpcError::PARAMS, "{method}");
            assert!(
                message.contains(&format!("{name} is {rows}; it must be from 1 to 500")),
                "{message}"
            );
        }
    }
}

#[tokio::test]
async fn lists_show_people_and_agents_without_secrets() {
    let world = World::new();
    let client = world.client().await;
    let title = format!("use [secret] {}…", "x".repeat(66));
    let sent = json!([{"delivery": "o8", "at": 5, "text": "the key is [secret]", "state": "sent"}]);
    let source = json!({
        "session": null, "turn": null, "message": null, "said_by": null, "written_at": 5,
    });
    let memory = json!({
        "id": "m1", "scope": "everyone", "text": "the key is [secret]", "trust": "full",
        "source": source, "revision": 2, "forgotten": false,
    });
    let change = json!({
        "id": "c2", "memory": "m1", "scope": "everyone", "at": 6, "author": "process",
        "kind": "written", "before": {"text": "the word is [secret]", "trust": "full"},
        "after": {"text": "the key is [secret]", "trust": "full"},
    });
    let mut details = memory.clone();
    details["changes"] = json!([change]);
    let table = [
        (
            "sessions.list",
            json!({"limit": 1}),
            json!([{
                "session": "terminal:local:0", "turns": 1, "used_at": 0, "open": null, "title": title,
            }]),
        ),
        ("sessions.sent", json!({"session": session()}), sent),
        ("sessions.sent", json!({"session": session(), "before": "o8"}), json!([])),
        ("memory.list", json!(null), json!([memory])),
        ("memory.list", json!({"words": "key"}), json!([memory])),
        ("memory.list", json!({"words": "other"}), json!([])),
        ("memory.list", json!({"scope": "person a:b:c"}), json!([])),
        ("memory.show", json!({"memory": "m1"}), details),
        ("memory.log", json!(null), json!([change])),
        ("memory.log", json!({"memory": "m2"}), json!([])),
    ];
    for (method, params, expected) in table {
        let found: Value = client.request(method, &params).await.unwrap();
        assert_eq!(found, expected, "{method} {params}");
    }
    let unknown = refused(client.request::<Value>("memory.show", &json!({"memory": "m2"})).await);
    assert_eq!(unknown.0, RpcError::NOT_FOUND);
    assert!(unknown.1.starts_with("there is no memory m2"), "{}", unknown.1);
}

#[tokio::test]
async fn sessions_branch_returns_the_number_of_turns_or_the_reason() {
    let world = World::new();
    let client = world.client().await;
    for (params, expected) in [
        (json!({"session": session(), "into": "web:console:b", "before": "t2"}), Ok(2)),
        (json!({"session": session(), "into": "web:console:b", "through": "t1"}), Ok(2)),
        (json!({"session": session(), "into": BUSY}), Err((-32004, "choose another name"))),
        (json!({"session": BUSY, "into": "web:console:b"}), Err((-32002, "there is no session"))),
        (
            json!({"session": session(), "into": "web:console:b", "before": "t9"}),
            Err((-32002, "has no turn t9")),
        ),
        (
            json!({"session": session(), "into": "web:console:b", "through": "t2"}),
            Err((-32004, "t2 has not ended")),
        ),
        (
            json!({"session": session(), "into": "telegram:main:5"}),
            Err((-32602, "must be a session of terminal:local, of the terminal or of the web")),
        ),
    ] {
        let answer = client.request::<u64>("sessions.branch", &params).await;
        match expected {
            Ok(turns) => assert_eq!(answer.unwrap(), turns, "{params}"),
            Err((code, words)) => {
                let (refused, message) = refused(answer);
                assert_eq!(refused, code, "{message}");
                assert!(message.contains(words), "{message}");
            }
        }
    }
}

#[tokio::test]
async fn sessions_change_takes_a_title_in_one_line() {
    let world = World::new();
    let client = world.client().await;
    for (change, expected) in [
        (json!({"session": session(), "title": " The\n\u{202e}garden "}), Ok("The garden")),
        (json!({"session": session(), "title": "x".repeat(81)}), Err((-32602, "may have 80"))),
        (json!({"session": "terminal:local:none", "title": "x"}), Err((-32002, "there is no"))),
    ] {
        let answer = client.request::<Value>("sessions.change", &change).await;
        let changes = world.daemon.labels.lock().drain(..).collect::<Vec<_>>();
        match expected {
            Ok(title) => {
                assert_eq!(answer.unwrap(), json!(null));
                assert_eq!(changes[0].title.as_deref(), Some(title));
            }
            Err((code, words)) => {
                let refusal = refused(answer);
                assert!(refusal.0 == code && refusal.1.contains(words), "{refusal:?}");
                assert_eq!(changes, []);
            }
        }
    }
}

#[tokio::test]
async fn sessions_search_returns_the_part_of_each_text_around_the_words_without_secrets() {
    let world = World::new();
    let client = world.client().await;
    let found: Value =
        client.request("sessions.search", &json!({"words": "password"})).await.unwrap();
    let text = found[0]["text"].as_str().unwrap();
    assert!(text.starts_with('…') && text.ends_with("the password is [secret]"), "{text}");
    assert!(text.chars().count() <= 240);
    let expected = json!([{
        "session": session(), "turn": "t1", "at": 5, "author": "agent", "text": text,
    }]);
    assert_eq!(found, expected);
    let empty = refused(client.request::<Value>("sessions.search", &json!({"words": "?!"})).await);
    let message = "sessions.search: `words` contains no word to look for: \"?!\"".to_owned();
    assert_eq!(empty, (RpcError::PARAMS, message));
}

#[tokio::test]
async fn sessions_show_returns_a_transcript_without_secrets_that_fits_a_line() {
    let world = World::new();
    let client = world.client().await;
    let show = json!({ "session": session() });
    let turns: Vec<TurnRecord> = client.request("sessions.show", &show).await.unwrap();
    let notice = turns[0].notice.as_deref().unwrap();
    assert!(notice.starts_with("[secret] xxx") && notice.ends_with(" more bytes)"));
}

#[tokio::test]
async fn server_returns_an_error_for_an_answer_longer_than_a_line() {
    let world = World::new();
    let client = world.client().await;
    let approve = Approve { code: "HUGE".to_owned(), owner: false };
    let (code, message) = refused(client.request::<Value>("pair.approve", &approve).await);
    assert_eq!(code, RpcError::PARAMS);
    assert!(message.contains("a line has at most 1048576"), "{message}");
    assert_eq!(client.request::<Value>("ping", &json!({})).await, Ok(Value::Null), "it goes on");
}

#[tokio::test]
async fn client_call_fails_at_once_if_the_answer_is_too_long() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let group = Group::new("test");
    let client = Client::connect(&path, &group).await.unwrap();
    let answering = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let answer = format!(r#"{{"id":0,"result":"{}"}}"#, "x".repeat(MAX_LINE_BYTES));
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.write_all(b"\n").await.unwrap();
        stream
    };
    let params = json!({});
    let (answer, _stream) = tokio::join!(client.request::<Value>("status", &params), answering);
    let (_, message) = refused(answer);
    assert!(message.starts_with("the daemon's answer is too long"), "{message}");
}

#[tokio::test]
async fn server_refuses_a_batch_with_one_error() {
    let world = World::new();
    let batch = r#"[{"id":1,"method":"ping"},{"id":2,"method":"ping"},{"method":"x"}]"#;
    let answers =
        world.raw(format!("{batch}\n{{\"id\":3,\"method\":\"ping\"}}\n").as_bytes(), 2).await;
    assert_eq!((&answers[0]["id"], &answers[0]["error"]["code"]), (&Value::Null, &json!(-32600)));
    let message = answers[0]["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("the line is a batch of 3 requests"), "{message}");
    assert_eq!((&answers[1]["id"], &answers[1]["result"]), (&json!(3), &Value::Null));
}

#[tokio::test]
async fn usage_returns_the_cost_of_models() {
    let world = World::new();
    let client = world.client().await;
    let table = [
        (json!({}), "model since 0"),
        (json!({"by": "day", "since": 1_767_225_600_000_i64}), "day since 1767225600000"),
    ];
    for (params, of) in table {
        let rows: Value = client.request("usage", &params).await.unwrap();
        let row = json!({
            "of": of, "answers": 3, "input": 0, "output": 0, "cached": 0, "cache_written": 0,
            "cost": 0, "unpriced": 7,
        });
        assert_eq!(rows, json!([row]));
    }
}
