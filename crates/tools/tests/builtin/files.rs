//! The file tools: reads, writes, directories, and refusals.

use std::fs;

use avocet_protocol::tool::ToolError;
use serde_json::json;

use crate::world::World;

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
async fn file_tools_refuse_paths_outside_the_workspace_with_a_hint() {
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
async fn file_tools_errors_show_the_resolved_and_the_given_path() {
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
async fn create_directory_makes_parents_and_delete_file_removes_files() {
    let world = World::new().await;
    let make = json!({"path": "a/b"});
    assert_eq!(world.value("mkdir", make.clone()).await, json!("made a/b"));
    assert_eq!(world.value("mkdir", make).await, json!("a/b existed already"));
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
async fn file_tools_refuse_hostile_arguments() {
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
async fn file_tools_refuse_secrets() {
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
async fn file_tools_and_programs_refuse_a_replaced_workspace() {
    let world = World::new().await;
    world.put("a.txt", "old\n");
    let root = world.workspace.path();
    fs::rename(root, root.with_extension("old")).unwrap();
    fs::create_dir(root).unwrap();
    world.put("a.txt", "new\n");
    for (tool, arguments) in [
        ("read_file", json!({"path": "a.txt"})),
        ("write_file", json!({"path": "a.txt", "content": "x"})),
        ("list_directory", json!({})),
        ("search_files", json!({"pattern": "o"})),
        ("exec_shell", json!({"command": "cat a.txt"})),
        ("exec_shell", json!({"command": "cat a.txt", "background": true})),
        ("git_status", json!({})),
        ("run_tests", json!({})),
    ] {
        let error = world.error(tool, arguments).await;
        assert!(
            error.contains("restart the daemon") && error.contains("another directory is"),
            "{tool}: {error}"
        );
    }
    fs::remove_dir_all(root).unwrap();
    fs::rename(root.with_extension("old"), root).unwrap();
    let read = world.value("exec_shell", json!({"command": "cat a.txt"})).await;
    assert_eq!(read["output"], "old\n");
}
