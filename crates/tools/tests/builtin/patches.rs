//! Patches of several files: all of them are changed or none.

use std::fs;
use std::os::unix::fs::symlink;

use avocet_protocol::tool::{Toolbox, Verdict};
use serde_json::{Value, json};

use crate::world::{World, call, context};

const PATCH: &str = "\
diff --git a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -1,2 +1,2 @@
 one
-two
+2
diff --git a/b.txt b/deep/c.txt
rename from b.txt
rename to deep/c.txt
--- a/b.txt
+++ b/deep/c.txt
@@ -1 +1 @@
-bee
+see
--- /dev/null
+++ b/new/d.txt
@@ -0,0 +1 @@
+new
--- a/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-old
";

async fn world() -> World {
    let world = World::new().await;
    world.put("a.txt", "zero\none\ntwo\n");
    world.put("b.txt", "bee\n");
    world.put("old.txt", "old\n");
    world
}

/// Every file of the workspace with its content.
fn all(world: &World) -> Vec<(String, String)> {
    let mut open = vec![world.workspace.path().to_owned()];
    let mut files = Vec::new();
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else {
                let name = path.strip_prefix(world.workspace.path()).unwrap().display().to_string();
                files.push((name, fs::read_to_string(&path).unwrap_or_default()));
            }
        }
    }
    files.sort();
    files
}

fn patch(text: &str) -> Value {
    json!({ "patch": text })
}

#[tokio::test]
async fn apply_patch_changes_creates_renames_and_deletes() {
    let world = world().await;
    let report = world.value("apply_patch", patch(PATCH)).await;
    assert_eq!(
        report,
        json!(
            "changed a.txt; hunk 1 applied 1 line further down\nrenamed b.txt to deep/c.txt\nmade \
             new/d.txt\ndeleted old.txt"
        )
    );
    let expected = [("a.txt", "zero\none\n2\n"), ("deep/c.txt", "see\n"), ("new/d.txt", "new\n")];
    assert_eq!(all(&world), expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
}

#[tokio::test]
async fn apply_patch_that_does_not_fit_changes_nothing() {
    let world = world().await;
    world.put(".env", "A=1\n");
    symlink("a.txt", world.workspace.path().join("link")).unwrap();
    let before = all(&world);
    let on = |path: &str, hunk: &str| format!("{PATCH}--- a/{path}\n+++ b/{path}\n{hunk}");
    let table = [
        (
            on("a.txt", "@@ -1 +1 @@\n-nothing\n+x\n"),
            "execution failed: a.txt: hunk 1: at line 1, expected \"nothing\", but there stands \"zero\". \
             Nothing is changed",
        ),
        (on("gone.txt", "@@ -1 +1 @@\n-a\n+x\n"), "file not found: gone.txt does not exist"),
        (
            on("old.txt", "@@ -1 +1 @@\n-old\n+x\n"),
            "old.txt is deleted or renamed earlier in the patch",
        ),
        (on(".env", "@@ -1 +1 @@\n-A=1\n+x\n"), "permission denied: .env is not opened"),
        (on("../x", "@@ -1 +1 @@\n-a\n+x\n"), "invalid path: \"../x\" resolves to"),
        (on("link", "@@ -1 +1 @@\n-zero\n+x\n"), "link is not a regular file"),
        (format!("{PATCH}--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n"), "a.txt exists already"),
        (
            format!("{PATCH}--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-zero\n"),
            "does not remove all of its lines",
        ),
        (
            format!("{PATCH}@@ -1 +1 @@\n-x\n"),
            "invalid arguments: patch: line 24: the hunk ends before",
        ),
        ("--- a/a.txt\n+++ b/a.txt\n".to_owned(), "the patch changes nothing"),
    ];
    for (text, error) in table {
        let found = world.error("apply_patch", patch(&text)).await;
        assert!(found.contains(error), "{found}");
        assert_eq!(all(&world), before, "{found}");
    }
}

#[tokio::test]
async fn apply_patch_restores_written_files_after_an_error() {
    let world = world().await;
    let before = all(&world);
    // A path that is both file and directory fails only when the second file is written.
    let make = |path: &str| format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n");
    let text = format!("{PATCH}{}{}", make("z"), make("z/x.txt"));
    let found = world.error("apply_patch", patch(&text)).await;
    assert!(found.contains("z/x.txt: ") && found.ends_with("; nothing is changed"), "{found}");
    assert_eq!(all(&world), before);
}

#[tokio::test]
async fn apply_patch_is_recognised_after_an_interruption() {
    let world = world().await;
    let call = call("apply_patch", &patch(PATCH));
    let prepared = world.registry.prepare(&call, None, &context()).await.unwrap();
    let evidence = prepared.evidence.unwrap();
    let verify = async || world.registry.verify(&call, &evidence).await;
    assert_eq!(verify().await, Verdict::DidNotHappen);
    world.put("a.txt", "zero\none\n2\n");
    assert_eq!(verify().await, Verdict::Unknown);
    world.put("a.txt", "zero\none\ntwo\n");
    world.value("apply_patch", patch(PATCH)).await;
    assert!(matches!(verify().await, Verdict::Happened(_)));
}
