use std::time::Duration;

use avocet_sandbox::{Rights, Workspace};
use avocet_testkit::{ManualClock, tool_context};
use tempfile::TempDir;

use super::*;
use crate::builtin::programs::tests::nowhere;

fn heard(pieces: &[&[u8]]) -> UnreadOutput {
    let mut heard = UnreadOutput::default();
    pieces.iter().for_each(|piece| heard.push(piece));
    heard
}

#[test]
fn read_keeps_the_newest_output_and_counts_dropped_bytes() {
    let mut heard = heard(&[b"old", &[b'x'; KEPT_BYTES - 2], b"new"]);
    let text = heard.read();
    assert!(text.starts_with("[… 4 bytes were not read in time and fell out …]\nxx"), "{text:.60}");
    assert!(text.ends_with("xnew"));
    assert_eq!(heard.read(), "", "what was read is read");
    heard.push(b"more");
    assert_eq!(heard.read(), "more", "and what fell out is said once");
}

#[test]
fn read_waits_for_the_rest_of_a_split_character() {
    let mut heard = heard(&["gr\u{fc}".as_bytes().split_last().unwrap().1]);
    assert_eq!(heard.read(), "gr");
    heard.push(&[0xbc]);
    assert_eq!(heard.read(), "\u{fc}");
    heard.push(&[0xff, b'a', 0xc3]);
    assert_eq!(heard.read(), "\u{fffd}a\u{fffd}", "what is no text holds nothing up");
    heard.push(&[0xc3]);
    heard.end = Some(BackgroundEnd { how: Ok(ProgramEnd::Code(0)), at: Duration::ZERO });
    assert_eq!(heard.read(), "\u{fffd}");
}

fn background(clock: &Arc<ManualClock>, start: i64) -> Arc<Background> {
    let hour = Duration::from_hours(1);
    Arc::new(Background::new(start, hour, clock.clone(), Group::new("test")))
}

/// A program that fails to start, and so ends at once.
fn errand(clock: &Arc<ManualClock>) -> BackgroundTask {
    let (command, program) = ("make".to_owned(), vec!["make".to_owned()]);
    let (cell, rights) = (Arc::new(nowhere(clock.clone())), Rights::Ordinary);
    let workspace = Workspace::open(TempDir::new().unwrap().path()).unwrap();
    BackgroundTask {
        watched: ProgramWatch::new(&cell, &rights, &workspace),
        cell,
        rights,
        command,
        program,
        directory: "/".into(),
        limit: None,
    }
}

async fn start(background: &Arc<Background>, clock: &Arc<ManualClock>, of: &SessionId) -> String {
    let started = background.start(errand(clock), of).unwrap();
    let id = started["id"].as_str().unwrap().to_owned();
    background.find(&id, of).unwrap().ended().await;
    id
}

#[tokio::test]
async fn background_keeps_ended_programs_for_an_hour_up_to_a_limit() {
    let (clock, one) = (Arc::new(ManualClock::default()), SessionId::parse("terminal:local:a"));
    let (background, one) = (background(&clock, 3), one.unwrap());
    let first = start(&background, &clock, &one).await;
    assert_eq!(first, "p3.1");
    for _ in 0..MOST {
        start(&background, &clock, &one).await;
    }
    let context = ToolContext { session: one.clone(), ..tool_context() };
    let listed = background.list(&context);
    assert_eq!(listed.as_array().unwrap().len(), MOST, "what has ended takes nobody's place");
    assert_eq!(listed[0]["id"], "p3.2", "the oldest has made room");
    clock.advance(KEPT_FOR);
    assert_eq!(background.list(&context), json!([]));
    let Err(error) = background.find(&first, &one) else { panic!("it is kept") };
    assert!(error.to_string().contains("more than an hour ago"), "{error}");
}

#[tokio::test]
async fn poll_reports_a_program_from_before_a_restart_as_ended() {
    let (clock, one) = (Arc::new(ManualClock::default()), SessionId::parse("terminal:local:a"));
    let one = one.unwrap();
    let before = start(&background(&clock, 3), &clock, &one).await;
    let after = background(&clock, 4);
    start(&after, &clock, &one).await;
    for (id, why) in [
        (before.as_str(), "it ended with a restart of the daemon"),
        ("p4.9", "it was never started in this conversation"),
        ("p4", "ids are those that exec_shell gives"),
        ("1234", "ids are those that exec_shell gives"),
        ("p4.x", "ids are those that exec_shell gives"),
    ] {
        let Err(error) = after.find(id, &one) else { panic!("{id} is there") };
        let error = error.to_string();
        assert!(error.contains(&format!("there is no program {id}: {why}")), "{error}");
    }
}
