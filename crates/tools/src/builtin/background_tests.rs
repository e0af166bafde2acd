use std::time::Duration;

use avocet_sandbox::{ProgramRights, Workspace};
use avocet_testkit::{ManualClock, tool_context};
use tempfile::TempDir;

use super::*;
use crate::builtin::programs::tests::nowhere;

fn background(clock: &Arc<ManualClock>, start: i64) -> Arc<BackgroundPrograms> {
    let hour = Duration::from_hours(1);
    Arc::new(BackgroundPrograms::new(start, hour, clock.clone(), Group::new("test")))
}

/// A program that fails to start, and so ends at once.
fn task(clock: &Arc<ManualClock>) -> BackgroundTask {
    let (command, program) = ("make".to_owned(), vec!["make".to_owned()]);
    let (sandbox, rights) = (Arc::new(nowhere(clock.clone())), ProgramRights::Ordinary);
    let workspace = Workspace::open(TempDir::new().unwrap().path()).unwrap();
    BackgroundTask {
        watched: ProgramWatch::new(&sandbox, &rights, &workspace),
        sandbox,
        rights,
        command,
        program,
        directory: "/".into(),
        limit: None,
    }
}

async fn start(
    background: &Arc<BackgroundPrograms>,
    clock: &Arc<ManualClock>,
    of: &SessionId,
) -> String {
    let started = background.start(task(clock), of).unwrap();
    let id = started["id"].as_str().unwrap().to_owned();
    background.find_program(&id, of).unwrap().wait_for_end().await;
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
    let listed = background.list_programs(&context);
    assert_eq!(listed.as_array().unwrap().len(), MOST, "an ended program takes no place");
    assert_eq!(listed[0]["id"], "p3.2", "the oldest has made room");
    clock.advance(KEPT_FOR);
    assert_eq!(background.list_programs(&context), json!([]));
    let Err(error) = background.find_program(&first, &one) else { panic!("it is kept") };
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
        (before.as_str(), "it ended at a restart of the daemon"),
        ("p4.9", "it was not started in this conversation"),
        ("p4", "ids are those that exec_shell gives"),
        ("1234", "ids are those that exec_shell gives"),
        ("p4.x", "ids are those that exec_shell gives"),
    ] {
        let Err(error) = after.find_program(id, &one) else { panic!("{id} is there") };
        let error = error.to_string();
        assert!(error.contains(&format!("there is no program {id}: {why}")), "{error}");
    }
}
