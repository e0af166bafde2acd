//! File tools in a session with an editor: unsaved text, and writes through the editor.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use avocet_protocol::access::Trust;
use avocet_protocol::tool::{Evidence, ToolContext, Toolbox, Verdict};
use avocet_testkit::EditorMood;
use serde_json::{Value, json};

use crate::world::{World, call, context};

/// A world whose editor shows `a.txt` with an unsaved line.
async fn world() -> (World, PathBuf) {
    let world = World::new().await;
    world.put("a.txt", "one\ntwo\n");
    world.editor.attach();
    let place = world.workspace.path().canonicalize().unwrap().join("a.txt");
    world.editor.type_text(&place, "one\ntwo\nunsaved\n");
    (world, place)
}

fn edit() -> Value {
    json!({ "path": "a.txt", "find": "two", "replace": "zwei" })
}

const PATCH: &str = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n unsaved\n";

async fn evidence(world: &World, name: &str, arguments: &Value) -> Evidence {
    let prepared = world.registry.prepare(&call(name, arguments), None, &context()).await;
    prepared.unwrap().evidence.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn read_file_and_outline_see_unsaved_text() {
    let (world, place) = world().await;
    let read = world.value("read_file", json!({ "path": "a.txt", "start_line": 3 })).await;
    assert_eq!(read, json!("     3\tunsaved"));
    let outline = world.value("outline", json!({ "path": "a.txt" })).await;
    assert!(outline.as_str().unwrap().contains("3 lines"), "{outline}");
    let asked = world.editor.take_requests();
    assert_eq!(asked, [(place.clone(), None), (place, None)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_start_from_unsaved_text_and_are_saved_by_the_editor() {
    for (name, arguments) in [("edit_file", edit()), ("apply_patch", json!({ "patch": PATCH }))] {
        let (world, place) = world().await;
        world.run(name, arguments.clone()).await.unwrap();
        let expected = "one\nzwei\nunsaved\n";
        assert_eq!(world.get("a.txt"), expected, "{name}");
        assert_eq!(world.editor.unsaved_text(&place), None, "{name}");
        let asked = world.editor.take_requests();
        assert_eq!(asked.last(), Some(&(place, Some(expected.to_owned()))), "{name}");
        let writes = asked.iter().filter(|(_, text)| text.is_some()).count();
        assert_eq!(writes, 1, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn write_file_writes_an_existing_file_through_the_editor_and_a_new_one_directly() {
    let (world, place) = world().await;
    world.run("write_file", json!({ "path": "a.txt", "content": "new\n" })).await.unwrap();
    world.run("write_file", json!({ "path": "b.txt", "content": "new\n" })).await.unwrap();
    assert_eq!((world.get("a.txt"), world.get("b.txt")), ("new\n".to_owned(), "new\n".to_owned()));
    assert_eq!(world.editor.take_requests(), [(place, Some("new\n".to_owned()))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn edit_file_is_saved_once_whatever_the_editor_answers() {
    let saved = "one\nzwei\nunsaved\n";
    for (mood, on_disk, report) in [
        (EditorMood::KeepsUnsaved, saved, "replaced 1 occurrence in a.txt"),
        (EditorMood::Refuses, saved, "replaced 1 occurrence in a.txt"),
        (EditorMood::IsSilent, saved, "replaced 1 occurrence in a.txt"),
        (
            EditorMood::Appends("formatted\n"),
            "one\nzwei\nunsaved\nformatted\n",
            "replaced 1 occurrence in a.txt; the editor changed the text when it saved it, so read \
             it again before you edit it",
        ),
    ] {
        let (world, _) = world().await;
        world.editor.answer_changes(mood.clone());
        assert_eq!(world.value("edit_file", edit()).await, json!(report), "{mood:?}");
        assert_eq!(world.get("a.txt"), on_disk, "{mood:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn edit_file_never_overwrites_a_file_that_changed_during_a_lost_answer() {
    let (world, _) = world().await;
    world.editor.answer_changes(EditorMood::IsSilentWhileFileBecomes("saved by a person\n"));
    let error = world.error("edit_file", edit()).await;
    assert!(error.contains("the editor did not answer, and the file on the disk has"), "{error}");
    assert_eq!(world.get("a.txt"), "saved by a person\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn edit_file_waits_for_the_answer_to_an_earlier_change() {
    let (world, _) = world().await;
    world.editor.answer_changes(EditorMood::IsSilent);
    world.run("edit_file", edit()).await.unwrap();
    for (name, arguments) in [
        ("edit_file", json!({ "path": "a.txt", "find": "one", "replace": "eins" })),
        ("write_file", json!({ "path": "a.txt", "content": "other" })),
    ] {
        let error = world.error(name, arguments).await;
        assert!(error.contains("has not finished an earlier change"), "{error}");
    }
    world.editor.ignore_reads();
    let error = world.error("edit_file", edit_of_disk()).await;
    assert!(error.contains("has not finished an earlier change"), "{error}");
}

fn edit_of_disk() -> Value {
    json!({ "path": "a.txt", "find": "one", "replace": "eins" })
}

#[tokio::test(flavor = "multi_thread")]
async fn edit_of_the_disk_never_goes_to_an_editor_that_did_not_show_its_text() {
    let (world, place) = world().await;
    world.editor.ignore_reads();
    let read = world.value("read_file", json!({ "path": "a.txt" })).await;
    assert_eq!(read, json!("     1\tone\n     2\ttwo"));
    drop(world.editor.take_requests());
    world.run("edit_file", edit_of_disk()).await.unwrap();
    assert_eq!(world.get("a.txt"), "eins\ntwo\n");
    assert_eq!(world.editor.unsaved_text(&place).as_deref(), Some("one\ntwo\nunsaved\n"));
    assert!(world.editor.take_requests().iter().all(|(_, text)| text.is_none()));
}

#[tokio::test(flavor = "multi_thread")]
async fn editor_is_not_asked_about_paths_that_the_workspace_refuses() {
    let (world, _) = world().await;
    let outside = tempfile::NamedTempFile::new().unwrap();
    let link = world.workspace.path().join("link.txt");
    symlink(outside.path(), link).unwrap();
    world.put(".env", "KEY=1");
    let outside = outside.path().display().to_string();
    for path in [outside.as_str(), "../a.txt", "link.txt", ".env", "none.txt"] {
        for (name, arguments) in [
            ("read_file", json!({ "path": path })),
            ("edit_file", json!({ "path": path, "find": "a", "replace": "b" })),
        ] {
            assert!(world.run(name, arguments).await.is_err(), "{name} {path}");
        }
    }
    for path in [outside.as_str(), "link.txt", ".env"] {
        let write = json!({ "path": path, "content": "x" });
        assert!(world.run("write_file", write).await.is_err(), "{path}");
    }
    assert_eq!(world.editor.take_requests(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_of_a_write_through_an_editor_never_lets_the_call_run_twice() {
    let (world, place) = world().await;
    for (name, arguments) in [
        ("edit_file", edit()),
        ("apply_patch", json!({ "patch": PATCH })),
        ("write_file", json!({ "path": "a.txt", "content": "one\nzwei\nunsaved\n" })),
    ] {
        world.put("a.txt", "one\ntwo\n");
        let evidence = evidence(&world, name, &arguments).await;
        let call = call(name, &arguments);
        assert_eq!(world.registry.verify(&call, &evidence).await, Verdict::Unknown, "{name}");
        world.put("a.txt", "one\nzwei\nunsaved\n");
        let verdict = world.registry.verify(&call, &evidence).await;
        assert!(matches!(verdict, Verdict::Happened(_)), "{name}: {verdict:?}");
    }
    // A change of the text on the disk has the evidence of the disk.
    world.editor.ignore_reads();
    world.put("a.txt", "one\ntwo\n");
    let evidence = evidence(&world, "edit_file", &edit()).await;
    let verdict = world.registry.verify(&call("edit_file", &edit()), &evidence).await;
    assert_eq!(verdict, Verdict::DidNotHappen);
    assert!(world.editor.unsaved_text(&place).is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn file_saved_by_the_editor_has_the_trust_of_the_call() {
    let (world, _) = world().await;
    let low = ToolContext { trust: Trust::Low, ..context() };
    let write = json!({ "path": "a.txt", "content": "from a page" });
    world.run_in(&low, "write_file", write).await.unwrap();
    let read = world.run("read_file", json!({ "path": "a.txt" })).await.unwrap();
    assert_eq!(read.trust, Some(Trust::Low));
}

#[tokio::test(flavor = "multi_thread")]
async fn edit_file_keeps_line_ends_that_the_editor_hides() {
    let (world, place) = world().await;
    world.put("a.txt", "one\r\ntwo\r\n");
    world.editor.answer_changes(EditorMood::Refuses);
    world.run("edit_file", edit()).await.unwrap();
    assert_eq!(world.get("a.txt"), "one\r\nzwei\r\nunsaved\r\n");
    let asked = world.editor.take_requests();
    assert_eq!(asked.last(), Some(&(place, Some("one\nzwei\nunsaved\n".to_owned()))));
}

#[tokio::test(flavor = "multi_thread")]
async fn exec_shell_shows_its_output_in_the_editor_of_its_session() {
    let (world, _) = world().await;
    let command = json!({ "command": "echo one; printf two" });
    let result = world.value("exec_shell", command).await;
    assert_eq!(result["output"], "one\ntwo");
    assert_eq!(world.editor.take_output().concat(), "one\ntwo");
}

#[tokio::test(flavor = "multi_thread")]
async fn file_tools_use_the_disk_while_a_program_runs() {
    let (world, _) = world().await;
    let serve = json!({ "command": "sleep 600", "background": true });
    let started = world.value("exec_shell", serve).await;
    world.run("edit_file", edit()).await.unwrap();
    assert_eq!(world.editor.take_requests(), []);
    assert_eq!(world.get("a.txt"), "one\nzwei\n");
    world.run("process_kill", json!({ "id": started["id"] })).await.unwrap();
    world.run("read_file", json!({ "path": "a.txt" })).await.unwrap();
    assert_eq!(world.editor.take_requests().len(), 1);
}
