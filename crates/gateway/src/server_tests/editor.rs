//! Editors that are attached to a chat.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::tool::{EditorError, Editors, SessionEditor};
use avocet_supervise::{Group, run_blocking};
use serde_json::{Value, json};

use super::world::World;
use crate::testing::{KEY, session};
use crate::{Client, EditorAction, EditorCall, Incoming, MAX_LINE_BYTES};

/// Longer than every limit for an answer.
const LONG: Duration = Duration::from_mins(1);

fn place() -> PathBuf {
    "/code/a.txt".into()
}

async fn attached(world: &World, client: &Client) -> Arc<dyn SessionEditor> {
    let attach = json!({ "chat": session(), "read": true, "write": true });
    let _: Value = client.request("editor.attach", &attach).await.unwrap();
    world.parts.editors.editor_of(&session()).unwrap()
}

/// Starts to read or write a file in a thread.
async fn ask<T: Send + 'static>(
    editor: &Arc<dyn SessionEditor>,
    ask: impl FnOnce(&dyn SessionEditor) -> T + Send + 'static,
) -> T {
    let editor = editor.clone();
    run_blocking(move || ask(editor.as_ref())).await.unwrap()
}

async fn next_call(client: &Client) -> EditorCall {
    match client.incoming().recv_async().await.unwrap() {
        Incoming::Editor(call) => call,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attached_editor_reads_and_writes_files_of_its_session_only() {
    let world = World::new();
    let client = world.client().await;
    let editor = attached(&world, &client).await;
    assert!(editor.can_read() && editor.can_write());
    let other = "terminal:local:other".parse().unwrap();
    assert!(world.parts.editors.editor_of(&other).is_none());

    let answer = async {
        let EditorCall { action, reply } = next_call(&client).await;
        assert_eq!(action, EditorAction::Read(place()));
        reply.send_text("unsaved".to_owned()).await;
        let EditorCall { action, reply } = next_call(&client).await;
        assert_eq!(action, EditorAction::Write(place(), "new".to_owned()));
        assert!(editor.has_open_change(&place()));
        reply.confirm_saved().await;
        let EditorCall { reply, .. } = next_call(&client).await;
        reply.refuse_with("it is read-only").await;
    };
    let work = async {
        let read = ask(&editor, |editor| editor.read_text(&place())).await;
        assert_eq!(read, Ok("unsaved".to_owned()));
        let write = || ask(&editor, |editor| editor.write_text(&place(), "new"));
        assert_eq!(write().await, Ok(()));
        assert_eq!(write().await, Err(EditorError::Refused("it is read-only".to_owned())));
        assert!(!editor.has_open_change(&place()));
    };
    tokio::join!(answer, work);
}

#[tokio::test(flavor = "multi_thread")]
async fn editor_that_answers_late_counts_as_silent_and_ends_its_open_change() {
    let world = World::new();
    let client = world.client().await;
    let editor = attached(&world, &client).await;
    let late = async {
        let call = next_call(&client).await;
        world.clock.sleeper(Duration::from_secs(1)).await;
        world.clock.advance(LONG);
        call
    };
    let write = ask(&editor, |editor| editor.write_text(&place(), "new"));
    let (call, written) = tokio::join!(late, write);
    assert_eq!(written, Err(EditorError::Silent));
    assert!(editor.has_open_change(&place()));
    assert!(!editor.has_open_change(Path::new("/code/b.txt")));
    call.reply.confirm_saved().await;
    while editor.has_open_change(&place()) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn editor_that_disconnects_is_silent_and_removed() {
    let world = World::new();
    let clients = Group::new("clients");
    let client = Client::connect(&world.path, &clients).await.unwrap();
    let editor = attached(&world, &client).await;
    let leave = async {
        next_call(&client).await;
        clients.abort_tasks();
    };
    let read = ask(&editor, |editor| editor.read_text(&place()));
    let ((), read) = tokio::join!(leave, read);
    assert_eq!(read, Err(EditorError::Silent));
    while world.parts.editors.editor_of(&session()).is_some() {
        tokio::task::yield_now().await;
    }
    assert_eq!(editor.read_text(&place()), Err(EditorError::Silent));
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_that_are_too_long_for_a_line_are_refused() {
    let world = World::new();
    let client = world.client().await;
    let editor = attached(&world, &client).await;
    let long = "x".repeat(MAX_LINE_BYTES);
    let text = long.clone();
    let written = ask(&editor, move |editor| editor.write_text(&place(), &text)).await;
    assert!(matches!(written, Err(EditorError::Refused(_))), "{written:?}");
    assert!(!editor.has_open_change(&place()));
    let answer = async { next_call(&client).await.reply.send_text(long).await };
    let read = ask(&editor, |editor| editor.read_text(&place()));
    let ((), read) = tokio::join!(answer, read);
    assert!(matches!(read, Err(EditorError::Refused(_))), "{read:?}");
}

#[tokio::test]
async fn editor_attach_to_a_linked_chat_serves_its_session() {
    let world = World::new();
    let client = world.client().await;
    let attach = json!({ "chat": "terminal:local:linked", "read": true });
    let _: Value = client.request("editor.attach", &attach).await.unwrap();
    let editor = world.parts.editors.editor_of(&session()).unwrap();
    assert!(editor.can_read() && !editor.can_write());
}

#[tokio::test]
async fn attached_editor_gets_output_in_batches_without_secrets() {
    let world = World::new();
    let client = world.client().await;
    let attach = json!({ "chat": session(), "output": true });
    let _: Value = client.request("editor.attach", &attach).await.unwrap();
    let editor = world.parts.editors.editor_of(&session()).unwrap();
    assert!(editor.can_show_output());
    let call = "t4s1c0".parse().unwrap();
    let next = async || match client.incoming().recv_async().await.unwrap() {
        Incoming::Output(piece) => piece,
        other => panic!("{other:?}"),
    };
    editor.show_output(call, "one\n");
    let first = next().await;
    assert_eq!((first.chat, first.call), (session().address(), call));
    assert_eq!(first.text, "one\n");
    // The next pieces wait for the end of the pause, and come together.
    world.clock.sleeper(Duration::from_millis(10)).await;
    editor.show_output(call, "two\n");
    editor.show_output(call, &format!("{KEY}\n"));
    world.clock.advance(LONG);
    let second = next().await.text;
    assert!(second.starts_with("two\n") && !second.contains(KEY), "{second}");
}
