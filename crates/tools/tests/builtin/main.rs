//! The built-in tools, through the registry and on a real log.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod approvals;
mod ask_user;
mod background;
mod git;
mod hosts;
mod pages;
mod patches;
mod programs;
mod roots;
mod run_tests;
mod search;
mod trust;
mod web_fetch;
mod web_search;
mod world;

use std::fs;
use std::time::Duration;

use avocet_protocol::{
    Attachment, AttachmentKind, AttachmentSource, CallId, Evidence, LogWrite, MAX_SENT_FILE_BYTES,
    Role, ToolClass, ToolContext, ToolError, Toolbox, Trust, Verdict,
};
use avocet_testkit::private_place;
use serde_json::{Value, json};
use world::{World, call, context, session};

#[tokio::test]
async fn every_tool_is_described_to_the_model() {
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
async fn edit_file_takes_lines_as_well_as_texts() {
    let world = World::new().await;
    let table = [
        (
            json!({"start_line": 2, "end_line": 3, "replace": "x\n", "expect": "two\nthree"}),
            "replaced lines 2 to 3 of 3 in p.txt",
            "one\r\nx",
        ),
        (json!({"l": 2, "replace": ""}), "deleted line 2 of 3 in p.txt", "one\r\nthree"),
        (
            json!({"insert_line": 1, "replace": "a\nb", "expect": "one\n"}),
            "inserted 2 lines as line 1 of p.txt",
            "a\r\nb\r\none\r\ntwo\r\nthree",
        ),
        (
            json!({"insert_line": 4, "replace": "four"}),
            "inserted 1 line as line 4 of p.txt",
            "one\r\ntwo\r\nthree\r\nfour",
        ),
        (
            json!({"find": "one\ntwo", "replace": "1\n2"}),
            "replaced 1 occurrence in p.txt",
            "1\r\n2\r\nthree",
        ),
    ];
    for (mut arguments, done, after) in table {
        world.put("p.txt", "one\r\ntwo\r\nthree");
        arguments["path"] = json!("p.txt");
        assert_eq!(world.value("edit_file", arguments).await, json!(done));
        assert_eq!(world.get("p.txt"), after);
    }
}

#[tokio::test]
async fn edit_file_says_how_to_say_where() {
    let world = World::new().await;
    world.put("p.txt", "one\ntwo\nthree\n");
    let table = [
        (json!({}), "where to edit is missing; say where in one way"),
        (json!({"find": "one", "start_line": 1}), "exclude each other; say where in one way"),
        (json!({"insert_line": 1, "start_line": 1}), "exclude each other"),
        (json!({"end_line": 1}), "end_line needs start_line"),
        (json!({"insert_line": 1, "end_line": 1}), "end_line needs start_line"),
        (json!({"find": "one", "end_line": 1}), "end_line needs start_line"),
        (json!({"start_line": 1, "replace_all": true}), "replace_all needs find"),
        (json!({"find": "one", "expect": "one"}), "expect goes with lines"),
        (json!({"start_line": 0}), "0 is less than the minimum of 1"),
        (
            json!({"start_line": 3, "end_line": 4}),
            "lines 3 to 4 are not in p.txt, which has 3 lines",
        ),
        (
            json!({"start_line": 3, "end_line": 2}),
            "lines 3 to 2 are not in p.txt, which has 3 lines",
        ),
        (
            json!({"insert_line": 5}),
            "insert_line 5 is not in p.txt, which has 3 lines; to append, give 4",
        ),
        (json!({"insert_line": 1, "replace": ""}), "nothing would be inserted"),
        (json!({"start_line": 1, "replace": "one"}), "p.txt would not change"),
        (
            json!({"start_line": 1, "end_line": 2, "expect": "one\n2"}),
            "p.txt is not as expected; there now (lines 1 to 2):\none\ntwo\nRead the file again",
        ),
    ];
    for (mut arguments, error) in table {
        arguments["path"] = json!("p.txt");
        if arguments["replace"].is_null() {
            arguments["replace"] = json!("x");
        }
        let found = world.error("edit_file", arguments.clone()).await;
        assert!(found.contains(error), "{arguments}: {found}");
        assert_eq!(world.get("p.txt"), "one\ntwo\nthree\n");
    }
}

#[tokio::test]
async fn an_interrupted_write_is_recognised() {
    let world = World::new().await;
    world.put("x.txt", "before");
    for (tool, arguments) in [
        ("write_file", json!({"path": "x.txt", "content": "after"})),
        ("edit_file", json!({"path": "x.txt", "find": "before", "replace": "after"})),
        ("edit_file", json!({"path": "x.txt", "start_line": 1, "replace": "after"})),
    ] {
        world.put("x.txt", "before");
        let call = call(tool, &arguments);
        let prepared = world.registry.prepare(&call, None, &context()).await.unwrap();
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
    let evidence = world.registry.prepare(&call, None, &context()).await.unwrap().evidence;
    let verdict = world.registry.verify(&call, &evidence.unwrap()).await;
    assert_eq!(verdict, Verdict::DidNotHappen);
}

#[tokio::test]
async fn directories_are_made_and_files_deleted() {
    let world = World::new().await;
    let make = json!({"path": "a/b"});
    assert_eq!(world.value("mkdir", make.clone()).await, json!("made a/b"));
    assert_eq!(world.value("mkdir", make).await, json!("a/b was there already"));
    world.put("a/b/c.txt", "");
    world.put("a/d.txt", "");
    let full = "execution failed: delete_file (called as rm): a is a directory with 3 entries in it; \
                to remove it with all of them, set recursive to true";
    assert_eq!(world.error("rm", json!({"path": "a"})).await, full);
    let table = [
        (json!({"path": "./a/d.txt"}), "deleted a/d.txt"),
        (json!({"path": "a", "recursive": true}), "deleted the directory a with 2 entries"),
    ];
    for (arguments, done) in table {
        assert_eq!(world.value("delete_file", arguments).await, json!(done));
    }
    assert_eq!(world.value("list_directory", json!({})).await, json!([]));
    let gone = world.error("delete_file", json!({"path": "a"})).await;
    assert_eq!(gone, "file not found: a does not exist");
    let root = world.error("delete_file", json!({"path": ".", "recursive": true})).await;
    assert_eq!(root, "permission denied: .: the root of the workspace stays");
}

#[tokio::test]
async fn an_interrupted_change_of_directories_is_recognised() {
    let world = World::new().await;
    let verdict = async |evidence: &Evidence, tool: &str| {
        world.registry.verify(&call(tool, &json!({"path": "x"})), evidence).await
    };
    let prepare = async |tool: &str| {
        let call = call(tool, &json!({"path": "x", "recursive": true}));
        let call =
            if tool == "create_directory" { self::call(tool, &json!({"path": "x"})) } else { call };
        world.registry.prepare(&call, None, &context()).await.unwrap().evidence.unwrap()
    };
    let real = world.workspace.path().join("x");
    let evidence = prepare("create_directory").await;
    assert_eq!(verdict(&evidence, "create_directory").await, Verdict::DidNotHappen);
    fs::create_dir(&real).unwrap();
    let made = json!("x is there");
    assert_eq!(verdict(&evidence, "create_directory").await, Verdict::Happened(made));

    world.put("x/a", "");
    world.put("x/b", "");
    let evidence = prepare("delete_file").await;
    assert_eq!(verdict(&evidence, "delete_file").await, Verdict::DidNotHappen);
    fs::remove_file(real.join("a")).unwrap();
    assert_eq!(verdict(&evidence, "delete_file").await, Verdict::Unknown);
    fs::remove_dir_all(&real).unwrap();
    let gone = json!("x was deleted before a restart and is gone");
    assert_eq!(verdict(&evidence, "delete_file").await, Verdict::Happened(gone));

    world.put("x", "one");
    let evidence = prepare("delete_file").await;
    assert_eq!(verdict(&evidence, "delete_file").await, Verdict::DidNotHappen);
    world.put("x", "another");
    assert_eq!(verdict(&evidence, "delete_file").await, Verdict::Unknown);
}

#[tokio::test]
async fn what_is_not_there_cannot_be_said_to_have_been_deleted() {
    let world = World::new().await;
    let call = call("delete_file", &json!({"path": "nope.txt"}));
    let refused = world.registry.prepare(&call, None, &context()).await.unwrap_err();
    assert!(matches!(refused, ToolError::FileNotFound(_)), "{refused}");
}

#[tokio::test]
async fn hostile_arguments_of_file_tools_are_refused() {
    let world = World::new().await;
    world.put("a.txt", &"a".repeat(1_000_000));
    world.put("crlf.txt", "a\r\nfoo\r\n");
    world.put(".gitignore", &format!("{}{}\n", "{".repeat(100_000), "}".repeat(100_000)));
    let braces = format!("{}{}", "{".repeat(100_000), "}".repeat(100_000));
    let deep = "a/".repeat(30_000);
    let table = [
        (
            "edit_file",
            json!({"path": "a.txt", "find": "a", "replace": "b".repeat(1000),
            "replace_all": true}),
            "would have 1000000000 bytes",
        ),
        ("search_files", json!({"pattern": "x", "glob": braces}), "too many braces"),
        ("read_file", json!({"path": deep}), "invalid path"),
        ("write_file", json!({"path": deep, "content": ""}), "invalid path"),
    ];
    for (tool, arguments, says) in table {
        let error = world.run(tool, arguments).await.unwrap_err().to_string();
        assert!(error.contains(says), "{tool}: {}", &error[..error.len().min(300)]);
    }
    world.run("search_files", json!({"pattern": "x"})).await.unwrap();
    let breaks = json!({"path": "crlf.txt", "find": "\nfoo", "replace": "\nbar"});
    world.run("edit_file", breaks).await.unwrap();
    assert_eq!(world.get("crlf.txt"), "a\r\nbar\r\n");
}

#[tokio::test]
async fn no_file_tool_opens_a_secret() {
    let world = World::new().await;
    world.put(".ENV", "KEY=1");
    world.put("keys/id_rsa", "key");
    let table = [
        ("read_file", json!({"path": ".ENV"})),
        ("write_file", json!({"path": "new/server.pem", "content": "x"})),
        ("edit_file", json!({"path": ".ENV", "find": "1", "replace": "2"})),
        ("edit_file", json!({"path": ".ENV", "insert_line": 1, "replace": "2"})),
        ("delete_file", json!({"path": ".ENV"})),
        ("delete_file", json!({"path": "keys", "recursive": true})),
        ("message", json!({"files": ["keys/id_rsa"]})),
    ];
    for (tool, arguments) in table {
        let error = world.error(tool, arguments).await;
        assert!(error.starts_with("permission denied: "), "{tool}: {error}");
        assert!(
            error.contains("is not opened: ") && error.contains("[tools] secret_files"),
            "{error}"
        );
    }
    assert_eq!(world.get(".ENV"), "KEY=1");
    let listed = json!([
        {"name": ".ENV", "type": "secret"},
        {"name": "keys", "type": "directory"},
    ]);
    assert_eq!(world.value("list_directory", json!({})).await, listed);
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
    let step = NewStep {
        number: 0,
        text: String::new(),
        calls,
        reasoning: None,
        usage: Usage::default(),
        trust: Trust::Full,
    };
    world.store.record_step(turn, &step).await.unwrap();
    let id = CallId { turn, step: 0, ordinal: 0 };
    let result = CallResult::ok(json!("done"));
    world.store.finish_call(id, &result, kept, writes).await.unwrap();
}

#[tokio::test]
async fn f14_a_user_has_the_tools_that_stay_in_the_own_chat() {
    let world = World::new().await;
    let specs = world.registry.specs(Role::User, &private_place());
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["ask_user", "message", "read_result"]);
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
