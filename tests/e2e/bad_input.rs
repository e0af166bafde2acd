//! Tests of bad input on the socket and on the command line: each gets one clear error, and other
//! clients are served as before.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use avocet_testkit::socket::{CallError, SocketClient};
use avocet_tests::{Home, program};
use serde_json::{Value, json};

use crate::support::{Listener, assert_fails, log_status, printed, run, run_with, said_in, soon};

const TEN_MEGABYTES: usize = 10 * 1024 * 1024;

/// A connection for raw bytes.
struct Raw {
    writer: UnixStream,
    reader: BufReader<UnixStream>,
}

impl Raw {
    fn connect(home: &Home) -> Self {
        let writer = UnixStream::connect(home.socket()).unwrap();
        writer.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let reader = BufReader::new(writer.try_clone().unwrap());
        Self { writer, reader }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Checks that the next line is an error with this code that contains all these words.
    #[track_caller]
    fn reads_error(&mut self, code: i64, names: &[&str]) {
        let read = self.read();
        let message = read["error"]["message"].as_str().unwrap();
        assert_eq!((&read["jsonrpc"], &read["error"]["code"]), (&json!("2.0"), &json!(code)));
        for name in names {
            assert!(message.contains(name), "{name:?} is not in: {message}");
        }
    }

    /// Checks that a request on this connection is still answered.
    #[track_caller]
    fn still_works(&mut self) {
        self.write(b"{\"jsonrpc\": \"2.0\", \"id\": \"still\", \"method\": \"status\"}\n");
        let read = self.read();
        assert_eq!(read["id"], "still", "{read}");
        assert!(read["result"]["pid"].is_u64(), "{read}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn socket_line_of_10_mb_is_one_error_and_affects_no_other_client() {
    let home = Home::new(program!());
    let _daemon = home.daemon();
    let listener = Listener::attach(&home, "terminal:local:me").await;
    let (mut sinner, mut other) = (Raw::connect(&home), Raw::connect(&home));
    let line = vec![b'x'; TEN_MEGABYTES];
    sinner.write(&line[..TEN_MEGABYTES / 2]);
    // In the middle of the line, the others are served.
    other.still_works();
    printed(&home, &["ask", "me", "count to 1"]);
    assert_eq!(listener.hear_text().await, "1.");
    sinner.write(&line[TEN_MEGABYTES / 2..]);
    sinner.write(b"\n");
    let names = ["10485760 bytes", "at most 1048576", "Send large texts as files"];
    sinner.reads_error(-32600, &names);
    sinner.still_works();
    other.still_works();
    assert_eq!(log_status(&home)["messages"], 1);
}

#[test]
fn socket_refuses_invalid_requests_and_keeps_the_connection() {
    let home = Home::new(program!());
    let _daemon = home.daemon();
    let table: [(&[u8], i64, &[&str]); 9] = [
        (b"{\"id\": 1, \"method\": \"\xff\"}", -32700, &["not UTF-8 (at byte 21)", "UTF-8"]),
        (b"\xc3", -32700, &["not UTF-8 (at byte 0)", "send JSON in UTF-8"]),
        (b"{oops", -32700, &["the line cannot be read: it is not JSON", "column 2"]),
        (b"[]", -32600, &["the line is a batch of 0 requests", "on its own line"]),
        (b"7", -32600, &["give jsonrpc, id, method and params"]),
        (
            b"{\"id\": 1, \"method\": \"aks\"}",
            -32601,
            &["\"aks\"", "there are agents.list, approval.decide, approval.list, ask"],
        ),
        (b"{\"id\": 1, \"method\": \"ask\"}", -32602, &["ask: "]),
        (
            b"{\"id\": 1, \"method\": \"ask\", \"params\": {\"sesion\": \"me\"}}",
            -32602,
            &["`sesion`", "`session`"],
        ),
        (
            b"{\"id\": 1, \"method\": \"wait\", \"params\": {\"message\": \"m99\"}}",
            -32002,
            &["m99"],
        ),
    ];
    let mut connection = Raw::connect(&home);
    for (line, code, names) in table {
        connection.write(line);
        connection.write(b"\n");
        connection.reads_error(code, names);
        connection.still_works();
    }
    assert_eq!(log_status(&home)["messages"], 0);
}

#[test]
fn ask_and_send_refuse_text_that_is_not_utf_8_with_the_position() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    let check = || {
        for command in ["ask", "send"] {
            for form in [&["me"][..], &["me", "-"]] {
                let ran = run_with(&home, &[&[command], form].concat(), b"caf\xe9 please\n");
                assert_fails(&ran, 1, &["the text is not UTF-8 (at byte 3)", "send it in UTF-8"]);
            }
        }
    };
    check();
    let log = log_status(&home);
    assert_eq!((&log["messages"], &log["pending"]), (&0.into(), &0.into()));
    drop(daemon);
    check();
}

#[test]
fn chat_refuses_a_line_that_is_not_utf_8_and_answers_the_next() {
    let home = Home::new(program!());
    let ran = run_with(&home, &["chat"], b"caf\xe9 please\ncount to 1\n");
    assert!(ran.err.starts_with("not sent: "), "{ran:?}");
    assert!(ran.err.contains("not UTF-8 (at byte 3)"), "{ran:?}");
    assert_eq!((ran.out.as_str(), ran.code), ("1.\n", Some(1)));
    assert_eq!(said_in(&home, "me"), ["count to 1"]);
}

#[test]
fn ask_refuses_a_text_over_the_limit() {
    let home = Home::new(program!());
    let _daemon = home.daemon();
    let table = [(300_000, "262144"), (TEN_MEGABYTES, "1048576")];
    for (bytes, limit) in table {
        let ran = run_with(&home, &["ask", "me"], "x".repeat(bytes).as_bytes());
        assert_fails(&ran, 1, &[limit, "file"]);
    }
    assert_eq!(log_status(&home)["messages"], 0);
}

/// Invalid ids, and a part of the error.
const BAD_IDS: [(&str, &str); 7] = [
    ("../../etc/passwd", "contains `/`"),
    ("..", "contains `..`"),
    ("terminal:local:../x", "contains `/`"),
    ("terminal:local:a\\b", "contains `\\`"),
    ("terminal:local:a\u{1}", "control character U+0001"),
    ("terminal:local:", "is empty"),
    ("a:b", "has 2 parts"),
];

#[test]
fn command_line_refuses_an_invalid_id_as_wrong_usage() {
    let home = Home::new(program!());
    let mut wrong = Vec::new();
    for (id, fault) in BAD_IDS {
        let commands: [&[&str]; 4] = [
            &["ask", id, "hi"],
            &["send", id, "hi"],
            &["sessions", "show", id],
            &["chat", "--chat", id],
        ];
        for arguments in commands {
            let ran = run(&home, arguments);
            let shown = id.escape_debug().to_string();
            let named = ran.err.contains(&shown) && ran.err.contains(fault);
            if ran.code != Some(2) || !named {
                wrong.push(format!("{arguments:?}: not {fault}: {ran:?}"));
            }
        }
    }
    let ran = run(&home, &["ask", "me", "hi", "--key", "../x"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(!home.data_dir().exists(), "it left something behind");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn socket_refuses_an_invalid_id_as_an_invalid_parameter() {
    let home = Home::new(program!());
    let _daemon = home.daemon();
    let client = SocketClient::connect(&home.socket()).await.unwrap();
    for (id, fault) in BAD_IDS {
        let calls = [
            ("ask", json!({ "session": id, "text": "hi" })),
            ("send", json!({ "chat": id, "text": "hi" })),
            ("attach", json!({ "chat": id })),
            ("sessions.show", json!({ "session": id })),
        ];
        for (method, params) in calls {
            let refused = soon(method, client.call(method, params)).await;
            let Err(CallError::Refused(error)) = refused else { panic!("{method} {id}") };
            assert_eq!(error["code"], -32602, "{method} {id}: {error}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(fault), "{method} {id}: {message}");
        }
    }
    for key in ["../x", "", "a/b"] {
        let ask = json!({ "session": "terminal:local:me", "text": "hi", "key": key });
        let Err(CallError::Refused(error)) = client.call("ask", ask).await else { panic!("{key}") };
        assert_eq!(error["code"], -32602, "{key}: {error}");
    }
    let log = log_status(&home);
    assert_eq!((&log["messages"], &log["sessions"]), (&0.into(), &0.into()));
}
