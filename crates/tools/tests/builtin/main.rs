//! The built-in tools, through the registry and on a real log.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod approvals;
mod ask_user;
mod background;
mod buffers;
mod edit_file;
mod files;
mod git;
mod hosts;
mod jobs;
mod memories;
mod new_hosts;
mod pages;
mod patches;
mod programs;
mod protected;
mod reviews;
mod roots;
mod run_tests;
mod schedule;
mod search;
mod search_budget;
mod search_history;
mod skills;
mod spawn;
mod trust;
mod update_plan;
mod verify;
mod web_fetch;
mod web_search;
mod world;

use std::fs;
use std::time::Duration;

use avocet_protocol::access::{Role, Trust};
use avocet_protocol::chat::{Attachment, AttachmentKind, AttachmentSource, MAX_SENT_FILE_BYTES};
use avocet_protocol::ids::CallId;
use avocet_protocol::store::Suspects;
use avocet_protocol::tool::{LogWrite, ToolContext, ToolError, Toolbox};
use avocet_testkit::private_place;
use avocet_tools::BUILT_IN;
use serde_json::{Value, json};
use world::{World, call, context, session};

#[tokio::test]
async fn specs_describe_every_tool() {
    let world = World::new().await;
    let specs: Vec<Value> = world
        .registry
        .specs(Role::Owner, &private_place())
        .iter()
        .map(|spec| {
            json!({ "name": spec.name, "aliases": spec.aliases, "description": spec.description, "parameters": spec.parameters })
        })
        .collect();
    insta::assert_snapshot!(serde_json::to_string_pretty(&specs).unwrap());
}

#[tokio::test]
async fn built_in_names_every_tool() {
    let world = World::new().await;
    assert_eq!(world.registry.tool_names().collect::<Vec<_>>(), BUILT_IN);
}

#[tokio::test]
async fn aliases_accept_the_calls_of_other_agents() {
    let world = World::new().await;
    let wrote = json!({"file_path": "src/a.rs", "file_text": "one two"});
    world.value("create_file", wrote).await;
    let edit = json!({"file_path": "src/a.rs", "old_string": "one", "new_string": "1"});
    world.value("edit", edit).await;
    let edit = json!({"path": "src/a.rs", "find_text": "two", "replace_text": "2"});
    world.value("code_edit", edit).await;
    assert_eq!(world.get("src/a.rs"), "1 2");
    assert_eq!(world.value("show", json!({"file": "src/a.rs"})).await, json!("     1\t1 2"));
    let listed = json!([{"name": "a.rs", "type": "file", "size": 3}]);
    assert_eq!(world.value("ls", json!({"directory": "src"})).await, listed);
    assert_eq!(
        world.error("cat", json!({"file_path": "a.rs"})).await,
        "file not found: read_file (called as cat): a.rs does not exist; did you mean src/a.rs?"
    );
}

/// Finishes the first call of a new turn with this kept result and these writes.
pub(crate) async fn finish_call(world: &World, kept: Option<&str>, writes: &[LogWrite]) {
    use avocet_protocol::chat::{Content, Inbound, InboundKind, NewInbound, Outcome, Sender};
    use avocet_protocol::model::Usage;
    use avocet_protocol::store::{
        Claim, Inbox, Memories, NewStep, ScopeFilter, Settlement, TurnLog, Turns,
    };
    use avocet_protocol::turn::{AnswerEnding, CallResult};
    let inbound = Inbound::new(
        session().address(),
        Sender::new("me".parse().unwrap()),
        format!("{}", world.store.memory_changes(&ScopeFilter::All, None, 99).await.unwrap().len())
            .parse()
            .unwrap(),
        Content::text("hi"),
    );
    let kind = InboundKind::Text;
    let message = NewInbound { session: session(), kind, inbound, removed: 0, trust: Trust::Full };
    world.store.accept(&message, None).await.unwrap();
    let Claim::Turn(claimed) =
        world.store.claim(&session(), Suspects::Exclude, Duration::ZERO).await.unwrap()
    else {
        panic!("a message waits")
    };
    let turn = claimed.turn.id;
    let calls = vec![call("tool", &json!({}))];
    let step = NewStep {
        number: 0,
        text: String::new(),
        ending: AnswerEnding::Complete,
        calls,
        written: None,
        reasoning: None,
        usage: Usage::default(),
        trust: Trust::Full,
        spent: Vec::new(),
    };
    world.store.record_step(turn, &step).await.unwrap();
    let id = CallId { turn, step: 0, ordinal: 0 };
    let result = CallResult::ok(json!("done"));
    world.store.finish_call(id, &result, kept, writes).await.unwrap();
    let outcome = Outcome::Error;
    let failed = Settlement { notice: Some("over".to_owned()), ..Settlement::new(outcome) };
    world.store.settle(turn, &failed).await.unwrap();
}

#[tokio::test]
async fn f14_user_tools_stay_in_the_own_chat() {
    let world = World::new().await;
    let specs = world.registry.specs(Role::User, &private_place());
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    let memory = ["memory_forget", "memory_read", "memory_search", "memory_write"];
    let others = ["message", "read_result", "schedule", "search_history"];
    assert_eq!(names, [&["ask_user"], &memory[..], &others].concat());
    let context = ToolContext { role: Role::User, ..context() };
    let say = async |chat: &str| {
        let call = call("message", &json!({ "text": "hi", "chat": chat }));
        world.registry.execute(&call, &context).await.map(|_| ())
    };
    assert_eq!(say("terminal:local:a").await, Ok(()));
    assert_eq!(
        say("terminal:local:b").await.unwrap_err().to_string(),
        "permission denied: writing to terminal:local:b is for owners; only this chat may be \
         written to"
    );
    // A user cannot learn which files exist, either.
    let files = call("message", &json!({ "text": "here", "files": ["inbox/m1-0.jpg"] }));
    assert_eq!(
        world.registry.execute(&files, &context).await.unwrap_err().to_string(),
        "permission denied: sending files of the workspace is for owners"
    );
}

#[tokio::test]
async fn message_goes_to_this_chat_or_to_another_writable_one() {
    let world = World::new().await;
    let sent = async |arguments| {
        let output = world.run("message", arguments).await?;
        let [LogWrite::Message(planned)] = &output.writes[..] else { panic!("{output:?}") };
        let texts: Vec<String> = planned.chunks.iter().map(|chunk| chunk.text.clone()).collect();
        Ok::<_, ToolError>((output.value, planned.address.to_string(), texts))
    };
    let here = sent(json!({"text": "two words"})).await.unwrap();
    let words = vec!["two".to_owned(), "words".to_owned()];
    let address = "terminal:local:a".to_owned();
    assert_eq!(here, (json!("queued for delivery to terminal:local:a"), address, words));
    let there = sent(json!({"text": "hi", "chat": "terminal:local:b"})).await.unwrap();
    assert_eq!(there.1, "terminal:local:b");
    let table = [
        (
            json!({"text": "hi", "chat": "terminal:local:forbidden"}),
            "permission denied: terminal:local:forbidden is not a chat that you may write to; chats of people \
          who may speak here are, and groups that the configuration names",
        ),
        (
            json!({"text": "hi", "chat": "icq:local:b"}),
            "permission denied: icq:local:b is not a chat that you may write to; chats of people \
          who may speak here are, and groups that the configuration names",
        ),
        (
            json!({"text": "hi", "chat": "b"}),
            "invalid arguments: chat \"b\" has 1 parts; a session id is channel:account:chat or \
          channel:account:chat:topic",
        ),
        (json!({"text": "\n"}), "invalid arguments: text is empty, and there are no files"),
    ];
    for (arguments, error) in table {
        assert_eq!(sent(arguments).await.unwrap_err().to_string(), error);
    }
}

#[tokio::test]
async fn message_sends_a_poll_that_every_platform_accepts() {
    let world = World::new().await;
    let poll = |poll: Value| json!({ "text": "Which?", "poll": poll });
    let output = world.run("message", poll(json!(["tea", "coffee", ":48h"]))).await.unwrap();
    let [LogWrite::Message(planned)] = &output.writes[..] else { panic!("{output:?}") };
    let sent = planned.chunks[0].poll.as_ref().unwrap();
    assert_eq!((&sent.answers[..], sent.hours), (&["tea".to_owned(), "coffee".to_owned()][..], 48));
    let refused = world.run("message", poll(json!(["tea"]))).await.unwrap_err().to_string();
    assert!(refused.contains("2 to 10 answers"), "{refused}");
}

#[tokio::test]
async fn message_attaches_readable_files_only() {
    let world = World::new().await;
    world.put("out/report.pdf", "%PDF");
    world.put("chart.PNG", "picture");
    world.put("empty.txt", "");
    let large = fs::File::create(world.workspace.path().join("large.bin")).unwrap();
    large.set_len(MAX_SENT_FILE_BYTES + 1).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", world.workspace.path().join("way-out")).unwrap();
    let files = json!({ "files": ["./out/report.pdf", "chart.PNG"] });
    let output = world.run("message", files).await.unwrap();
    let [LogWrite::Message(planned)] = &output.writes[..] else { panic!("{output:?}") };
    let workspace = |path: &str| AttachmentSource::Workspace(path.to_owned());
    let expected = [
        Attachment {
            name: Some("report.pdf".to_owned()),
            bytes: Some(4),
            ..Attachment::new(AttachmentKind::Document, workspace("out/report.pdf"))
        },
        Attachment {
            name: Some("chart.PNG".to_owned()),
            media_type: Some("image/png".to_owned()),
            bytes: Some(7),
            ..Attachment::new(AttachmentKind::Image, workspace("chart.PNG"))
        },
    ];
    assert_eq!(planned.chunks.last().unwrap().attachments, expected);
    let table = [
        ("gone.pdf", "file not found: gone.pdf does not exist"),
        ("out", "execution failed: out is not a regular file"),
        ("empty.txt", "execution failed: empty.txt is empty, and empty files cannot be sent"),
        (
            "large.bin",
            "execution failed: large.bin is 52428801 bytes long; files of at most 52428800 bytes can \
             be sent to terminal:local:a",
        ),
        ("../secret", "invalid path: \"../secret\" resolves to"),
        ("/etc/passwd", "invalid path: \"/etc/passwd\" resolves to /etc/passwd"),
        ("way-out", "permission denied: way-out: "),
    ];
    for (path, error) in table {
        let found = world.error("message", json!({ "text": "look", "files": [path] })).await;
        assert!(found.starts_with(error), "{found}");
    }
    // The limit of this chat's platform is lower than ours.
    world.put("nine.txt", "123456789");
    let small = |files: &str| json!({ "files": [files], "chat": "terminal:local:small" });
    assert_eq!(
        world.error("message", small("nine.txt")).await,
        "execution failed: nine.txt is 9 bytes long; files of at most 8 bytes can be sent to \
         terminal:local:small"
    );
    world.run("message", small("chart.PNG")).await.unwrap();
    let many = vec!["chart.PNG"; 11];
    let found = world.error("message", json!({ "files": many })).await;
    assert!(found.starts_with("invalid arguments: ") && found.contains("files"), "{found}");
}

#[tokio::test]
async fn read_result_returns_the_rest_of_a_cut_result() {
    let world = World::new().await;
    let whole = "0123456789".repeat(10_000);
    finish_call(&world, Some(&json!(whole).to_string()), &[]).await;
    let read = async |arguments| world.value("read_result", arguments).await;
    let part = read(json!({"handle": "t1s0c0", "offset": 99_990})).await;
    assert_eq!(part, json!("[bytes 99990 to 100000 of 100000]\n0123456789"));
    let part = read(json!({"handle": "t1s0c0", "offset": 3, "length": 4})).await;
    assert_eq!(part, json!("[bytes 3 to 7 of 100000]\n3456"));
    let part = read(json!({"handle": "t1s0c0"})).await;
    assert!(part.as_str().unwrap().starts_with("[bytes 0 to 32768 of 100000]\n0123"));
    let error = world.error("read_result", json!({"handle": "t1s0c0", "offset": 100_000})).await;
    assert_eq!(
        error,
        "invalid arguments: offset 100000 is at the end: the result is 100000 bytes long"
    );
    let error = world.error("read_result", json!({"handle": "t9s0c0"})).await;
    assert!(error.contains("no truncated result of this conversation has the handle \"t9s0c0\""));
}
