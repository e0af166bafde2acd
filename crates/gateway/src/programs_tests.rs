use avocet_protocol::channel::Health;
use avocet_protocol::ids::SenderId;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex,
    split,
};

use super::*;
use crate::RpcError;
use crate::server::tests::world::World;

/// A program whose standard streams are the two halves of a stream.
pub(crate) struct Child {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    stdout: WriteHalf<DuplexStream>,
    program: Arc<RunningProgram>,
    group: Group,
}

impl Child {
    pub(crate) fn start(world: &World) -> Self {
        let (ours, theirs) = duplex(4 * 1024 * 1024);
        let (stdout, stdin) = split(ours);
        let (lines, output) = split(theirs);
        let account = ("external".parse().unwrap(), "irc".parse().unwrap());
        let program = Arc::new(RunningProgram::new(&account.0, &account.1).unwrap());
        let (programs, group) =
            (Programs::new(world.parts.clone()), world.group.child_group("child"));
        let child = ChildConnection { stdout, stdin, program: program.clone() };
        let of_child = group.clone();
        group.spawn("child", async move { programs.serve(child, &of_child).await });
        Self { lines: BufReader::new(lines).lines(), stdout: output, program, group }
    }

    async fn write(&mut self, line: &str) {
        self.stdout.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.write(&request.to_string()).await;
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }
}

#[tokio::test]
async fn program_says_hello_and_has_the_rights_of_its_own_chats() {
    let world = World::new();
    let mut child = Child::start(&world);
    let refused = child.call("attach", json!({"channel": "external", "account": "irc"})).await;
    assert_eq!(refused["error"]["code"], RpcError::NOT_ALLOWED);
    let refused = child.call("hello", json!({"client": "irc"})).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("leave out `client`"));
    let refused = child.call("hello", json!({"protocol": 9})).await;
    assert_eq!(refused["error"]["code"], RpcError::PARAMS);

    let welcome = &child.call("hello", json!({"protocol": 1, "capabilities": []})).await["result"];
    assert_eq!(welcome["sender"], "program:external:irc");
    assert_eq!((&welcome["role"], &welcome["protocol"]), (&json!("channel"), &json!(1)));
    assert_eq!(welcome["chats"], json!(["external:irc:*"]));
    let of = json!({"channel": "external", "account": "mail"});
    let refused = child.call("attach", of).await["error"]["message"].to_string();
    assert!(refused.contains("serves the chats of external:irc only"), "{refused}");
    let refused = child.call("status", Value::Null).await;
    assert_eq!(refused["error"]["code"], RpcError::NOT_ALLOWED);

    assert!(!child.program.attached.is_cancelled());
    let attached = child.call("attach", json!({"channel": "external", "account": "irc"})).await;
    assert!(attached["result"]["cursors"].is_object(), "{attached}");
    assert!(child.program.attached.is_cancelled());
    let moved = json!({"channel": "external", "account": "irc", "cursor": {"position": "7"}});
    assert_eq!(child.call("cursor.move", moved).await["result"], json!({}));
    let message = json!({"chat": "external:irc:a", "sender": "ann", "key": "1", "text": "hi"});
    assert_eq!(child.call("publish", message).await["result"]["message"], "m1");
    let gone = json!({"chat": "external:irc:a", "key": "1"});
    assert_eq!(child.call("message.withdraw", gone).await["result"], json!({}));
    let foreign = json!({"chat": "external:mail:a", "key": "1"});
    let refused = child.call("message.withdraw", foreign).await;
    assert_eq!(refused["error"]["code"], RpcError::NOT_ALLOWED);
    let withdrawn = world.daemon.withdrawn.lock().clone();
    assert_eq!(withdrawn, [("external:irc:a".to_owned(), "1".to_owned())]);
    let asked = world.daemon.asked.lock()[0].sender.id.clone();
    assert_eq!(asked, "ann".parse::<SenderId>().unwrap());
}

#[tokio::test]
async fn program_that_prints_other_lines_is_still_served() {
    let world = World::new();
    let mut child = Child::start(&world);
    let long = "x".repeat(crate::MAX_LINE_BYTES + 1);
    for line in ["Loading...", "7", "[]", "\u{1}", &long, "{}", "{\"a\": 1}", "more"] {
        child.write(line).await;
    }
    let welcome = child.call("hello", json!({"protocol": 1})).await;
    assert_eq!(welcome["result"]["protocol"], 1, "{welcome}");
}

#[tokio::test]
async fn program_reports_the_health_of_its_account() {
    let world = World::new();
    let mut child = Child::start(&world);
    let report = |up: bool| {
        let params = json!({"up": up, "reason": "the server is away"});
        json!({"jsonrpc": "2.0", "method": "health", "params": params}).to_string()
    };
    // Without an account, the report concerns no channel.
    child.write(&report(false)).await;
    child.call("hello", json!({"protocol": 1})).await;
    child.call("attach", json!({"channel": "external", "account": "irc"})).await;
    child.write(&report(false)).await;
    child.write(&report(true)).await;
    child.write(r#"{"jsonrpc": "2.0", "method": "health", "params": [false, "as a list"]}"#).await;
    child.call("ping", Value::Null).await;
    let down = Health::Down("the server is away".to_owned());
    assert_eq!(*world.platform.reported.lock(), [down, Health::Up]);
}

#[tokio::test]
async fn serve_closes_the_input_of_the_program_when_its_group_is_cancelled() {
    let world = World::new();
    let mut child = Child::start(&world);
    child.call("hello", json!({"protocol": 1})).await;
    child.group.cancel_tasks();
    assert_eq!(child.lines.next_line().await.unwrap(), None);
}
