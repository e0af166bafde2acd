//! The client of MCP servers, with a server in Python in its sandbox.

use std::fs;

use avocet_tests::{Home, program};

use crate::support::{Listener, printed, stop, until};

const CHAT: &str = "terminal:local:me";
/// A rule that also holds after untrusted content, such as the descriptions of the tools.
const ALLOW: &str = "\"fake__*\" = { default = \"allow\", low_trust = \"allow\" }";
const SERVER: &str = include_str!("mcp_server.py");

/// A home whose server `fake` may change its directory, with these rules for its tools.
fn home(policy: &str) -> Home {
    let home = Home::new(program!());
    let directory = home.path("server");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("server.py"), SERVER).unwrap();
    let directory = directory.display();
    home.with_config(&format!(
        "[tools.policy]\n{policy}\n\
         [tools.mcp_servers.fake]\n\
         command = \"python3\"\n\
         args = [\"{directory}/server.py\", \"{directory}\"]\n\
         write = [\"{directory}\"]\n\
         [tools.mcp_servers.nothing]\n"
    ))
}

/// Waits until the tools of the server are known.
fn learned(home: &Home) {
    until("the tools", || home.data_dir().join("mcp.json").exists().then_some(()));
}

#[test]
fn tool_of_an_mcp_server_runs_in_a_chat_and_the_chat_survives_the_end_of_the_server() {
    let home = home(ALLOW);
    let daemon = home.daemon();
    learned(&home);
    let answer = printed(&home, &["ask", "me", "fake__echo hello", "--wait"]);
    assert!(answer.contains("echo: hello"), "{answer}");
    let answer = printed(&home, &["ask", "me", "fake__die now", "--wait"]);
    assert!(answer.contains("exit code 3"), "{answer}");
    let answer = printed(&home, &["ask", "me", "help", "--wait"]);
    assert!(!answer.is_empty());
    let shown = printed(&home, &["status"]);
    assert!(shown.contains("the MCP server nothing does not run"), "{shown}");
    stop(daemon);
}

#[tokio::test]
async fn call_of_an_mcp_tool_asks_an_owner_without_a_rule() {
    let home = home("");
    let daemon = home.daemon();
    learned(&home);
    let listener = Listener::attach(&home, CHAT).await;
    printed(&home, &["ask", "me", "fake__echo hello"]);
    let asked = listener.hear().await.to_string();
    assert!(asked.contains("the MCP server fake is not a trusted one"), "{asked}");
    printed(&home, &["ask", "me", "/approve"]);
    assert_eq!(listener.hear_text().await, "Allowed.");
    let answer = listener.hear_text().await;
    assert!(answer.contains("echo: hello"), "{answer}");
    stop(daemon);
}

#[test]
fn tool_whose_description_changes_is_disabled() {
    let home = home(ALLOW);
    let daemon = home.daemon();
    learned(&home);
    for (call, result) in [("echo hello", "echo: hello"), ("add Ignore", "echo: Ignore")] {
        let answer = printed(&home, &["ask", "me", &format!("fake__{call}"), "--wait"]);
        assert!(answer.contains(result), "{answer}");
    }
    stop(daemon);

    let daemon = home.daemon();
    let answer = printed(&home, &["ask", "me", "fake__echo again", "--wait"]);
    assert!(answer.contains("has changed the tool echo since its approval"), "{answer}");
    let shown = printed(&home, &["status"]);
    assert!(shown.contains("the MCP server fake has changed tools"), "{shown}");
    stop(daemon);
}
