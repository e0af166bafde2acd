//! Searches of the workspace: the matches, and the files that are skipped.

use std::fs;
use std::os::unix::fs::symlink;

use crate::world::{World, call, context};
use avocet_protocol::tool::{ToolContext, Toolbox};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn search_files_sorts_lines_by_path() {
    let world = World::new().await;
    world.put("b.txt", "one\ntwo\nOne\r\n");
    world.put("a/c.rs", "let one = 1;\nlet x = a.b;\n");
    world.put("a/d.TS", "none\n");
    let table = [
        (
            json!({"pattern": "one"}),
            "a/c.rs:1: let one = 1;\na/d.TS:1: none\nb.txt:1: one\nb.txt:3: One",
        ),
        (json!({"pattern": "One"}), "b.txt:3: One"),
        (json!({"pattern": "one", "case": "sensitive", "path": "b.txt"}), "b.txt:1: one"),
        (
            json!({"pattern": "ONE", "case": "insensitive", "glob": "*.txt"}),
            "b.txt:1: one\nb.txt:3: One",
        ),
        (json!({"pattern": "^one$", "path": "./b.txt"}), "b.txt:1: one\nb.txt:3: One"),
        (json!({"pattern": "a.b", "literal": true}), "a/c.rs:2: let x = a.b;"),
        (
            json!({"pattern": "one", "glob": "a/*.{rs,TS}", "path": "a"}),
            "a/c.rs:1: let one = 1;\na/d.TS:1: none",
        ),
        (
            json!({"pattern": "two|let one", "context": 1}),
            "a/c.rs:1: let one = 1;\na/c.rs-2- let x = a.b;\n--\nb.txt-1- one\nb.txt:2: two\nb.txt-3- One",
        ),
        (json!({"pattern": "nowhere"}), "no match in 3 files"),
        (json!({"pattern": "nowhere", "path": "b.txt"}), "no match in 1 file"),
    ];
    for (arguments, found) in table {
        assert_eq!(
            world.value("search_files", arguments.clone()).await,
            json!(found),
            "{arguments}"
        );
    }
    let table = [
        (json!({"pattern": "("}), "pattern is not a regular expression: "),
        (json!({"pattern": ""}), "pattern is empty"),
        (json!({"pattern": "x", "glob": "["}), "glob: "),
        (json!({"pattern": "x", "context": 11}), "11 is greater than the maximum of 10"),
        (json!({"pattern": "x", "path": "c.txt"}), "c.txt does not exist; did you mean b.txt?"),
        (json!({"pattern": "x", "path": "/etc"}), "outside the workspace"),
    ];
    for (arguments, error) in table {
        let found = world.error("grep", arguments.clone()).await;
        assert!(found.contains(error), "{arguments}: {found}");
    }
}

#[tokio::test]
async fn search_files_skips_ignored_hidden_binary_secret_and_outside_files() {
    let (world, outside) = (World::new().await, TempDir::new().unwrap());
    fs::write(outside.path().join("out"), "key").unwrap();
    for (path, text) in [
        (".gitignore", "target/\n*.log\n!keep.log\n/only-here\n[\n"),
        ("a/.gitignore", "!b.log\nsecret-plans\n"),
        ("a/.ignore", "c.txt\n"),
        ("a/b.log", "key"),
        ("a/c.txt", "key"),
        ("a/only-here", "key"),
        ("a/secret-plans", "key"),
        ("keep.log", "key"),
        ("only-here", "key"),
        ("other.log", "key"),
        ("target/x.rs", "key"),
        (".hidden/x", "key"),
        (".git/x", "key"),
        (".env", "key"),
        ("server.pem", "key"),
        ("binary", "key\0"),
    ] {
        world.put(path, text);
    }
    let root = world.workspace.path();
    symlink(outside.path(), root.join("door")).unwrap();
    symlink(outside.path().join("out"), root.join("window")).unwrap();
    symlink(".", root.join("loop")).unwrap();
    let large = fs::File::create(root.join("large")).unwrap();
    large.set_len(10 * 1024 * 1024 + 1).unwrap();

    let seen = "a/b.log:1: key\na/only-here:1: key\nkeep.log:1: key";
    let rest = "[1 file not searched: too large]\n[1 file not searched: secret]";
    let found = world.value("search_files", json!({"pattern": "key"})).await;
    assert_eq!(found, json!(format!("{seen}\n{rest}")));
    let found = world.value("search_files", json!({"pattern": "key", "path": "a"})).await;
    assert_eq!(found, json!("a/b.log:1: key\na/only-here:1: key"));
    // A path that is named explicitly is searched.
    let found = world.value("search_files", json!({"pattern": "key", "path": "target"})).await;
    assert_eq!(found, json!("target/x.rs:1: key"));
    let hidden = json!({"pattern": "key", "hidden": true, "glob": "x"});
    let found = world.value("search_files", hidden).await;
    assert_eq!(found, json!(".hidden/x:1: key\n[2 files not searched: secret]"));
    for (path, error) in
        [("door", "door: "), ("window", "window: "), (".env", ".env is not opened")]
    {
        let found = world.error("search_files", json!({"pattern": "key", "path": path})).await;
        assert!(found.starts_with(&format!("permission denied: {error}")), "{found}");
    }
}

#[tokio::test]
async fn search_files_limits_the_lines_shown() {
    let world = World::new().await;
    world.put("a", &"x\n".repeat(150));
    world.put("b", &"x\n".repeat(50));
    let found = world.value("search_files", json!({"pattern": "x"})).await;
    assert_eq!(found.as_str().unwrap().lines().count(), 200);
    world.put("c", "x");
    let found = world.value("search_files", json!({"pattern": "x"})).await;
    let last = found.as_str().unwrap().lines().last().unwrap().to_owned();
    assert!(last.starts_with("[only the first 200 matches are shown"), "{last}");
    let world = World::new().await;
    world.put("long", &format!("x{}\n", "é".repeat(1000)).repeat(190));
    let found = world.value("search_files", json!({"pattern": "x"})).await;
    let found = found.as_str().unwrap();
    assert!(found.len() < 65 * 1024 && found.contains("é…\n"), "{}", found.len());
    assert!(found.contains("[only the first "), "{}", found.len());
}

#[tokio::test]
async fn search_files_finds_a_definition_by_its_name() {
    let world = World::new().await;
    world.put("a.rs", "fn run() {}\nrun();\nfn runner() {}\nstruct Run;\n");
    world.put("b.py", "class Run:\n    def run(self):\n        self.run()\n");
    world.put("c.go", "func (s *S) run() {\n\ts.run()\n}\n");
    let run = json!({"pattern": "run", "definitions": true, "case": "sensitive"});
    let found = world.value("search_files", run).await;
    assert_eq!(
        found,
        json!("a.rs:1: fn run() {}\nb.py:2:     def run(self):\nc.go:1: func (s *S) run() {")
    );
    let found = world.value("search_files", json!({"pattern": "Run", "definitions": true})).await;
    assert_eq!(found, json!("a.rs:4: struct Run;\nb.py:1: class Run:"));
}

#[tokio::test]
async fn search_files_stops_on_cancel() {
    let world = World::new().await;
    world.put("a", "x");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let context = ToolContext { cancel, ..context() };
    let call = call("search_files", &json!({"pattern": "x"}));
    let error = world.registry.execute(&call, &context).await.unwrap_err().to_string();
    assert_eq!(error, "execution failed: the search was stopped");
}

#[tokio::test]
async fn outline_shows_definitions_with_their_lines() {
    let world = World::new().await;
    world.put("src/a.rs", "use std::fs;\n\nfn main() {\n}\n");
    world.put("empty.txt", "");
    world.put(".env", "A=1");
    let outline = world.value("outline", json!({"path": "src/a.rs"})).await;
    assert_eq!(outline, json!("src/a.rs, 4 lines\n     1\tuse std::fs\n     3\tfn main()"));
    let empty = world.value("outline", json!({"path": "empty.txt"})).await;
    assert!(empty.as_str().unwrap().starts_with("empty.txt has 0 lines and no outline"));
    let error = world.error("outline", json!({"path": ".env"})).await;
    assert!(error.starts_with("permission denied: .env is not opened"), "{error}");
}
