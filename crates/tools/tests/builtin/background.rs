//! Background programs, with real processes.

use std::time::Duration;

use avocet_protocol::chat::SessionId;
use avocet_protocol::tool::ToolContext;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::world::{World, context, until};

async fn start(world: &World, command: &str) -> String {
    let arguments = json!({"command": command, "background": true});
    let started = world.value("exec_shell", arguments).await;
    assert_eq!(started["running"], true, "{started}");
    started["id"].as_str().unwrap().to_owned()
}

async fn poll(world: &World, id: &str) -> Value {
    world.value("process_poll", json!({"id": id, "wait": 30})).await
}

#[tokio::test]
async fn process_poll_follows_a_program_to_its_end() {
    let world = World::new().await;
    let script = "echo one; until [ -e go ]; do :; done; echo two; exit 3";
    let id = start(&world, script).await;
    assert_eq!(id, "p7.1");
    let first = poll(&world, &id).await;
    let running =
        json!({"id": id, "command": script, "running": true, "seconds": 0, "output": "one\n"});
    assert_eq!(first, running);
    let nothing_new = world.value("process_poll", json!({"id": id})).await;
    assert_eq!(nothing_new["output"], "");
    world.put("go", "");
    let mut output = String::new();
    let last = loop {
        let polled = poll(&world, &id).await;
        output += polled["output"].as_str().unwrap();
        if polled["running"] == false {
            break polled;
        }
    };
    assert_eq!((last["exit_code"].clone(), output.as_str()), (json!(3), "two\n"));
    let error = world.error("process_poll", json!({"id": id})).await;
    assert!(error.contains("its end was reported"), "{error}");
}

#[tokio::test]
async fn process_poll_ends_at_its_timeout_or_on_cancel() {
    let world = World::new().await;
    let id = start(&world, "until [ -e go ]; do :; done; echo late").await;
    let arguments = || json!({"id": id, "wait": 20});
    let (polled, ()) = tokio::join!(world.value("process_poll", arguments()), async {
        // The poll's own timeout, rather than the tool's time limit.
        world.clock.sleeper_within(Duration::from_secs(20)..=Duration::from_secs(20)).await;
        world.clock.advance(Duration::from_secs(20));
    });
    assert_eq!(
        (&polled["running"], &polled["output"], &polled["seconds"]),
        (&json!(true), &json!(""), &json!(20))
    );

    let cancel = CancellationToken::new();
    let stopped = ToolContext { cancel: cancel.clone(), ..context() };
    let (polled, ()) = tokio::join!(world.run_in(&stopped, "process_poll", arguments()), async {
        world.clock.sleeper_within(Duration::from_secs(20)..=Duration::from_secs(20)).await;
        cancel.cancel();
    });
    assert!(polled.unwrap_err().to_string().contains("the poll was stopped; the program was not"));
    world.put("go", "");
    assert_eq!(poll(&world, &id).await["output"], "late\n", "/stop has not killed it");
}

#[tokio::test]
async fn process_kill_ends_a_program_and_its_children() {
    let world = World::new().await;
    // The loop comes last: once it writes, the rest has started.
    let script = "setsid sleep 1000 & echo started; while :; do echo $$ > alive; sleep 0.01; done & sleep 1000";
    let id = start(&world, script).await;
    until(|| world.workspace.path().join("alive").exists()).await;
    let killed = world.value("process_kill", json!({"id": id})).await;
    assert_eq!((&killed["running"], &killed["ended"]), (&json!(false), &json!("killed")));
    assert_eq!(killed["output"], "started\n");
    std::fs::remove_file(world.workspace.path().join("alive")).unwrap();
    assert!(world.error("process_poll", json!({"id": id})).await.contains("there is no program"));
    // All processes are dead by now, so `alive` stays deleted.
    world.value("exec_shell", json!({"command": "true"})).await;
    assert!(!world.workspace.path().join("alive").exists());
}

#[tokio::test]
async fn background_program_is_killed_at_its_timeout() {
    let world = World::new().await;
    let short = json!({"command": "sleep 1000", "background": true, "timeout": 60});
    let started = world.value("exec_shell", short).await;
    assert_eq!(started["killed_after_seconds"], 60);
    let long = json!({"command": "sleep 1000", "background": true, "timeout": 86_400});
    let long = world.value("exec_shell", long).await;
    assert_eq!(long["killed_after_seconds"], 7200, "the operator's limit");
    world.clock.sleeper_within(Duration::from_secs(60)..=Duration::from_secs(60)).await;
    world.clock.advance(Duration::from_secs(60));
    let polled = poll(&world, started["id"].as_str().unwrap()).await;
    assert_eq!(polled["ended"], "killed after its limit of 60 seconds", "{polled}");
    let listed = world.value("process_poll", json!({})).await;
    assert_eq!(listed["programs"].as_array().unwrap().len(), 1, "{listed}");
    world.value("process_kill", json!({"id": long["id"]})).await;
}

#[tokio::test]
async fn background_programs_are_limited_and_private_to_a_conversation() {
    let world = World::new().await;
    let mut ids = Vec::new();
    for _ in 0..8 {
        ids.push(start(&world, "sleep 1000").await);
    }
    let ninth = json!({"command": "sleep 1000", "background": true});
    let error = world.error("exec_shell", ninth.clone()).await;
    assert!(error.contains("8 programs run in the background of this conversation"), "{error}");
    assert!(error.contains("p7.1, p7.2"), "{error}");

    let other = |name: &str| ToolContext {
        session: SessionId::parse(&format!("terminal:local:{name}")).unwrap(),
        ..context()
    };
    let (b, id) = (other("b"), json!({"id": ids[0]}));
    for tool in ["process_poll", "process_kill"] {
        let error = world.run_in(&b, tool, id.clone()).await.unwrap_err().to_string();
        assert!(error.contains("not started in this conversation"), "{tool}: {error}");
    }
    let listed = world.run_in(&b, "process_poll", json!({})).await.unwrap().value;
    assert_eq!(listed, json!({"programs": []}));

    for name in ["b", "c", "d"] {
        for _ in 0..8 {
            world.run_in(&other(name), "exec_shell", ninth.clone()).await.unwrap();
        }
    }
    let error = world.run_in(&other("e"), "exec_shell", ninth.clone()).await.unwrap_err();
    assert!(error.to_string().contains("32 programs run in the background already"), "{error}");
    world.value("process_kill", id).await;
    world.run_in(&other("e"), "exec_shell", ninth).await.unwrap();
}
