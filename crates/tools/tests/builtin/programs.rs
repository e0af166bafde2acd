//! Programs in the sandbox: timeouts, the list of allowed commands, and approval prompts.

use std::time::Duration;

use avocet_protocol::tool::ToolError;
use serde_json::json;

use crate::world::{World, until};

#[tokio::test]
async fn exec_shell_timeout_error_shows_the_last_output() {
    let world = World::new().await;
    let command =
        "i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i + 1)); done; touch ready; sleep 1000";
    let arguments = json!({"command": command, "timeout": 7});
    let (ran, ()) = tokio::join!(world.run("exec_shell", arguments), async {
        until(|| world.workspace.path().join("ready").exists()).await;
        world.clock.advance(Duration::from_secs(7));
    });
    let error = ran.unwrap_err().to_string();
    assert!(error.starts_with("command timed out after 7s; the end of its output:\n"), "{error}");
    assert!(error.ends_with("line 498\nline 499"), "{error}");
    assert!(!error.contains("line 100\n") && error.len() < 2100, "{error}");
}

#[tokio::test]
async fn exec_shell_timeout_without_output_is_plain() {
    let world = World::new().await;
    let arguments = json!({"command": "touch ready; sleep 1000", "timeout": 7});
    let (ran, ()) = tokio::join!(world.run("exec_shell", arguments), async {
        until(|| world.workspace.path().join("ready").exists()).await;
        world.clock.advance(Duration::from_secs(7));
    });
    assert_eq!(ran.unwrap_err(), ToolError::Timeout(7));
}
