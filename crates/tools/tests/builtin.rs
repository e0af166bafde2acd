//! The built-in tools, through the registry and on a real log.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use std::fs;
use std::sync::Arc;

use avocet_protocol::{
    Arguments, Attachment, AttachmentKind, AttachmentSource, CallId, LogWrite, MAX_SENT_FILE_BYTES,
    Role, SessionId, ToolCall, ToolClass, ToolContext, ToolError, ToolOutcome, ToolOutput, Toolbox,
    TurnId, Verdict,
};
use avocet_sandbox::Workspace;
use avocet_store::SqliteStore;
use avocet_store::testing::TempStore;
use avocet_testkit::{FakeDestinations, FakeRoles, ManualClock};
use avocet_tools::{Parts, Registry, add_builtin};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

struct World {
    registry: Registry,
    store: Arc<SqliteStore>,
    workspace: TempDir,
    _log: TempStore,
}

impl World {
    async fn new() -> Self {
        let (workspace, log) = (TempDir::new().unwrap(), TempStore::new());
        let clock = Arc::new(ManualClock::default());
        let store = log.open(clock.clone()).await;
        let parts = Parts {
            workspace: Arc::new(Workspace::open(workspace.path()).unwrap()),
            notes: store.clone(),
            kept_results: store.clone(),
            destinations: Arc::new(FakeDestinations::default()),
            roles: Arc::new(FakeRoles),
            shell: None,
        };
        let mut registry = Registry::new(clock);
        add_builtin(&mut registry, &parts).unwrap();
        Self { registry, store, workspace, _log: log }
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.workspace.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn get(&self, path: &str) -> String {
        fs::read_to_string(self.workspace.path().join(path)).unwrap()
    }

    async fn run(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let call = call(name, &arguments);
        self.registry.prepare(&call, false, &context()).await?;
        match self.registry.execute(&call, &context()).await? {
            ToolOutcome::Finished(output) => Ok(output),
            ToolOutcome::Waiting(request) => panic!("{request:?}"),
        }
    }

    async fn value(&self, name: &str, arguments: Value) -> Value {
        self.run(name, arguments).await.unwrap().value
    }

    async fn error(&self, name: &str, arguments: Value) -> String {
        self.run(name, arguments).await.unwrap_err().to_string()
    }
}

fn call(name: &str, arguments: &Value) -> ToolCall {
    ToolCall { name: name.to_owned(), arguments: Arguments::parse(&arguments.to_string()) }
}

fn session() -> SessionId {
    SessionId::parse("terminal:local:a").unwrap()
}

fn context() -> ToolContext {
    ToolContext {
        call: CallId { turn: TurnId(1), step: 0, ordinal: 0 },
        session: session(),
        chat: Some(session().address()),
        cancel: CancellationToken::new(),
        role: Role::Owner,
    }
}

#[tokio::test]
async fn every_tool_is_described_to_the_model() {
    let world = World::new().await;
    let specs: Vec<Value> = world
        .registry
        .specs(Role::Owner)
        .iter()
        .map(|spec| {
            json!({ "name": spec.name, "aliases": spec.aliases, "description": spec.description, "parameters": spec.parameters })
        })
        .collect();
    insta::assert_snapshot!(serde_json::to_string_pretty(&specs).unwrap());
}

#[tokio::test]
async fn prompts_for_other_agents_work() {
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

#[tokio::test]
async fn read_file_numbers_lines() {
    let world = World::new().await;
    world.put("poem.txt", "one\ntwo\nthree\nfour\n");
    world.put("empty.txt", "");
    let table = [
        (json!({"path": "poem.txt"}), "     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour"),
        (json!({"path": "poem.txt", "start_line": 3}), "     3\tthree\n     4\tfour"),
        (json!({"path": "poem.txt", "end_line": 1}), "     1\tone"),
        (
            json!({"path": "poem.txt", "start_line": 2, "end_line": 99}),
            "     2\ttwo\n     3\tthree\n     4\tfour",
        ),
        (json!({"path": "empty.txt"}), "(the file is empty)"),
    ];
    for (arguments, text) in table {
        assert_eq!(world.value("read_file", arguments).await, json!(text));
    }
    let beyond = json!({"path": "poem.txt", "start_line": 5, "end_line": 7});
    let error = world.error("read_file", beyond).await;
    assert_eq!(error, "invalid arguments: lines 5 to 7 are not in poem.txt, which has 4 lines");
    let backwards = json!({"path": "poem.txt", "start_line": 3, "end_line": 2});
    assert!(world.error("read_file", backwards).await.contains("lines 3 to 2"));
    fs::write(world.workspace.path().join("binary"), [0, 159, 146, 150]).unwrap();
    let error = world.error("read_file", json!({"path": "binary"})).await;
    assert_eq!(error, "execution failed: binary is not text (UTF-8)");
}

#[tokio::test]
async fn paths_stay_in_the_workspace_and_errors_show_the_way() {
    let world = World::new().await;
    world.put("src/lib.rs", "x");
    world.put("crates/a/src/lib.rs", "x");
    let root = world.workspace.path().canonicalize().unwrap();
    let absolute = root.join("src/lib.rs");
    let read = world.value("read_file", json!({"path": absolute})).await;
    assert_eq!(read, json!("     1\tx"));
    assert_eq!(
        world.error("read_file", json!({"path": "lib.rs"})).await,
        "file not found: lib.rs does not exist; did you mean one of these? Give its full path: \
         src/lib.rs, crates/a/src/lib.rs"
    );
    let outside = root.parent().unwrap().join("secret");
    assert_eq!(
        world.error("read_file", json!({"path": "../secret"})).await,
        format!(
            "invalid path: \"../secret\" resolves to {}, which is outside the workspace; give \
             full relative paths from the workspace root, such as src/main.rs",
            outside.display()
        )
    );
    for (tool, more) in [
        ("write_file", json!({"content": "x"})),
        ("edit_file", json!({"find": "x", "replace": "y"})),
        ("list_directory", json!({})),
    ] {
        let mut arguments = more;
        arguments["path"] = json!("/etc/passwd");
        let refused = world.run(tool, arguments).await;
        assert!(matches!(refused, Err(ToolError::InvalidPath(_))), "{tool}: {refused:?}");
    }
}

#[tokio::test]
async fn a_failure_shows_the_resolved_path_and_the_input() {
    let world = World::new().await;
    world.put("src/a.rs", "one\none\n");
    fs::write(world.workspace.path().join("src/binary"), [0]).unwrap();
    let root = world.workspace.path().canonicalize().unwrap();
    let absolute = root.join("src/b.rs");
    let shown = format!("src/b.rs (given as {absolute:?}) does not exist; did you mean src/a.rs?");
    let a = "src/a.rs (given as \"./src//a.rs\")";
    let edit = |find: &str| json!({"path": "./src//a.rs", "find": find, "replace": "two"});
    for (tool, arguments, error) in [
        ("read_file", json!({"path": absolute}), shown.clone()),
        ("edit_file", json!({"path": absolute, "find": "a", "replace": "b"}), shown),
        (
            "read_file",
            json!({"path": "./src//a.rs", "start_line": 9}),
            format!("are not in {a}, which"),
        ),
        ("edit_file", edit("three"), format!("the text to find is not in {a}")),
        ("edit_file", edit("one"), format!("the text to find occurs 2 times in {a}")),
        (
            "read_file",
            json!({"path": "./src/binary"}),
            "(given as \"./src/binary\") is not".to_owned(),
        ),
        (
            "write_file",
            json!({"path": "./src", "content": ""}),
            "src (given as \"./src\") is".to_owned(),
        ),
        (
            "list_directory",
            json!({"path": "./srk"}),
            "srk (given as \"./srk\") does not".to_owned(),
        ),
        ("message", json!({"files": ["src/a.rs", "./srk"]}), "srk (given as \"./srk\")".to_owned()),
    ] {
        let found = world.error(tool, arguments).await;
        assert!(found.contains(&error), "{tool}: {found}");
    }
}

#[tokio::test]
async fn write_file_makes_parents_and_reports_bytes() {
    let world = World::new().await;
    let arguments = json!({"path": "a/b/c.txt", "content": "grün"});
    let report = world.value("write_file", arguments).await;
    assert_eq!(report, json!("wrote 5 bytes to a/b/c.txt"));
    assert_eq!(world.get("a/b/c.txt"), "grün");
    world.run("write_file", json!({"path": "a/b/c.txt", "content": ""})).await.unwrap();
    assert_eq!(world.get("a/b/c.txt"), "");
}

#[tokio::test]
async fn edit_file_replaces_exactly_what_was_meant() {
    let world = World::new().await;
    let text = "let a = 1;\nlet b = 1;\n  let c = 1;\n";
    world.put("x.rs", text);
    let edit = |find: &str, replace: &str, all: Option<bool>| {
        let mut arguments = json!({"path": "x.rs", "find": find, "replace": replace});
        if let Some(all) = all {
            arguments["replace_all"] = json!(all);
        }
        arguments
    };
    let once = world.value("edit_file", edit("b = 1", "b = 2", None)).await;
    assert_eq!(once, json!("replaced 1 occurrence in x.rs"));
    assert_eq!(world.get("x.rs"), "let a = 1;\nlet b = 2;\n  let c = 1;\n");
    assert_eq!(
        world.error("edit_file", edit("= 1", "= 3", Some(false))).await,
        "execution failed: the text to find occurs 2 times in x.rs; give more of the text around \
         it, or set replace_all. Places:\nline 1: let a = 1;\nline 3: let c = 1;"
    );
    let all = world.value("edit_file", edit("= 1", "= 3", Some(true))).await;
    assert_eq!(all, json!("replaced 2 occurrences in x.rs"));
    assert_eq!(world.get("x.rs"), "let a = 3;\nlet b = 2;\n  let c = 3;\n");
    let table = [
        (edit("nowhere", "x", None), "execution failed: the text to find is not in x.rs"),
        (edit("", "x", None), "invalid arguments: find is empty"),
        (edit("let", "let", None), "invalid arguments: find and replace are the same"),
    ];
    for (arguments, error) in table {
        assert!(world.error("edit_file", arguments).await.starts_with(error));
    }
}

#[tokio::test]
async fn an_interrupted_write_is_recognised() {
    let world = World::new().await;
    world.put("x.txt", "before");
    for (tool, arguments) in [
        ("write_file", json!({"path": "x.txt", "content": "after"})),
        ("edit_file", json!({"path": "x.txt", "find": "before", "replace": "after"})),
    ] {
        world.put("x.txt", "before");
        let call = call(tool, &arguments);
        let prepared = world.registry.prepare(&call, false, &context()).await.unwrap();
        assert_eq!(prepared.class, ToolClass::Verifiable);
        let evidence = prepared.evidence.unwrap();
        let verify = async || world.registry.verify(&call, &evidence).await;
        assert_eq!(verify().await, Verdict::DidNotHappen, "{tool}");
        world.put("x.txt", "after");
        let happened = "x.txt was written before a restart and is as it should be";
        assert_eq!(verify().await, Verdict::Happened(json!(happened)), "{tool}");
        world.put("x.txt", "something else");
        assert_eq!(verify().await, Verdict::Unknown, "{tool}");
        fs::remove_file(world.workspace.path().join("x.txt")).unwrap();
        assert_eq!(verify().await, Verdict::Unknown, "{tool}");
    }
    let call = call("write_file", &json!({"path": "new.txt", "content": "x"}));
    let evidence = world.registry.prepare(&call, false, &context()).await.unwrap().evidence;
    let verdict = world.registry.verify(&call, &evidence.unwrap()).await;
    assert_eq!(verdict, Verdict::DidNotHappen);
}

#[tokio::test]
async fn list_directory_shows_type_and_size() {
    let world = World::new().await;
    world.put("b.txt", "hello");
    world.put("a/x", "");
    let listed = world.value("list_directory", json!({})).await;
    assert_eq!(
        listed,
        json!([
            {"name": "a", "type": "directory"},
            {"name": "b.txt", "type": "file", "size": 5},
        ])
    );
    let listed = world.value("list_directory", json!({"path": "a"})).await;
    assert_eq!(listed, json!([{"name": "x", "type": "file", "size": 0}]));
}

#[tokio::test]
async fn memory_is_written_with_the_result_and_read_by_words() {
    let world = World::new().await;
    let text = "the key is under the mat";
    let output = world.run("memory_write", json!({"text": format!(" {text}\n")})).await.unwrap();
    assert_eq!(output.value, json!("remembered: the key is under the mat"));
    assert_eq!(output.writes, [LogWrite::Note { text: text.to_owned() }]);
    assert!(world.error("memory_write", json!({"text": " "})).await.ends_with("text is empty"));
    let long = json!({"text": "x".repeat(8193)});
    assert!(world.error("memory_write", long).await.contains("8193 bytes long"));

    let nothing = json!("nothing about this was remembered");
    assert_eq!(world.value("memory_read", json!({"query": "key"})).await, nothing);
    remember(&world, text).await;
    assert_eq!(world.value("memory_read", json!({"query": "key"})).await, json!([text]));
    assert_eq!(world.value("memory_read", json!({})).await, json!([text]));
    let error = world.error("memory_read", json!({"limit": 51})).await;
    assert!(error.contains("51 is greater than the maximum of 50"), "{error}");
}

/// A note in the log, by way of a turn.
async fn remember(world: &World, text: &str) {
    finish_call(world, None, &[LogWrite::Note { text: text.to_owned() }]).await;
}

/// The first call of a turn of the session, with this whole result and these writes.
async fn finish_call(world: &World, kept: Option<&str>, writes: &[LogWrite]) {
    use avocet_protocol::{
        CallResult, Claim, Content, Inbound, InboundKind, Inbox, NewInbound, NewStep, Sender,
        TurnLog, Turns, Usage,
    };
    let inbound = Inbound::new(
        session().address(),
        Sender::new("me".parse().unwrap()),
        "1".parse().unwrap(),
        Content::text("hi"),
    );
    let kind = InboundKind::Text;
    let message = NewInbound { session: session(), kind, inbound, removed: 0 };
    world.store.accept(&message, None).await.unwrap();
    let Claim::Turn(claimed) = world.store.claim(&session(), false, Duration::ZERO).await.unwrap()
    else {
        panic!("a message waits")
    };
    let turn = claimed.turn.id;
    let calls = vec![call("tool", &json!({}))];
    let step =
        NewStep { number: 0, text: String::new(), calls, reasoning: None, usage: Usage::default() };
    world.store.record_step(turn, &step).await.unwrap();
    let id = CallId { turn, step: 0, ordinal: 0 };
    let result = CallResult { ok: true, value: json!("done") };
    world.store.finish_call(id, &result, kept, writes).await.unwrap();
}

#[tokio::test]
async fn f14_a_user_has_the_tools_that_stay_in_the_own_chat() {
    let world = World::new().await;
    let specs = world.registry.specs(Role::User);
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["message", "read_result"]);
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
    // Nor is a user told which files there are.
    let files = call("message", &json!({ "text": "here", "files": ["inbox/m1-0.jpg"] }));
    assert_eq!(
        world.registry.execute(&files, &context).await.unwrap_err().to_string(),
        "permission denied: sending files of the workspace is for owners"
    );
}

#[tokio::test]
async fn message_goes_to_this_chat_or_to_another_that_may_be_written_to() {
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
    assert_eq!(here, (json!("sent to terminal:local:a"), address, words));
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
async fn message_takes_files_that_could_be_read_and_no_others() {
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
             be sent",
        ),
        ("../secret", "invalid path: \"../secret\" resolves to"),
        ("/etc/passwd", "invalid path: \"/etc/passwd\" resolves to /etc/passwd"),
        ("way-out", "permission denied: way-out: "),
    ];
    for (path, error) in table {
        let found = world.error("message", json!({ "text": "look", "files": [path] })).await;
        assert!(found.starts_with(error), "{found}");
    }
    let many = vec!["chart.PNG"; 11];
    let found = world.error("message", json!({ "files": many })).await;
    assert!(found.starts_with("invalid arguments: ") && found.contains("files"), "{found}");
}

#[tokio::test]
async fn read_result_gives_the_rest_of_what_was_cut() {
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
