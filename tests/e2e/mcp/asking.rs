//! A server that asks the person during a call, and the answers in the chat.

use serde_json::Value;

use super::McpHome;
use super::misbehaving::start;
use crate::support::{Listener, printed, stop};

const CHAT: &str = "terminal:local:me";

/// Returns the commands of the buttons below a question.
fn commands(asked: &Value) -> Vec<String> {
    let choices = asked["choices"].as_array().unwrap();
    choices.iter().map(|choice| choice["says"].as_str().unwrap().to_owned()).collect()
}

/// Lets the model call a tool that asks, and returns the question.
async fn asked(mcp: &McpHome, listener: &Listener, tool: &str) -> Value {
    printed(&mcp.home, &["ask", "me", &format!("asker__{tool} {{}}")]);
    listener.hear().await
}

async fn answer(mcp: &McpHome, listener: &Listener, command: &str) -> String {
    printed(&mcp.home, &["ask", "me", command]);
    listener.hear_text().await
}

#[tokio::test]
async fn mcp_server_asks_the_person_with_a_form_and_a_link() {
    let Some(mcp) = start(&[("asker", "timeout_seconds = 5")]) else { return };
    let listener = Listener::attach(&mcp.home, CHAT).await;
    let first = asked(&mcp, &listener, "form").await;
    let text = first["text"].as_str().unwrap();
    assert!(text.contains("The MCP server asker asks") && text.contains("#2 green"), "{text}");
    let says = commands(&first);
    assert_eq!(says.len(), 3, "{says:?}");
    assert_eq!(answer(&mcp, &listener, &says[1]).await, "Passed on.");
    let second = listener.hear().await;
    let code = commands(&second)[0].split(' ').nth(1).unwrap().to_owned();
    let refused = answer(&mcp, &listener, &format!("/answer {code} 12")).await;
    assert!(refused.starts_with("`12` is not a whole number from 1 to 9."), "{refused}");
    assert_eq!(answer(&mcp, &listener, &format!("/answer {code} 3")).await, "Passed on.");
    let result = listener.hear_text().await;
    assert!(result.contains("'content': {'colour': 'green', 'count': 3}"), "{result}");

    let link = asked(&mcp, &listener, "link").await;
    assert!(link["text"].as_str().unwrap().contains("https://login.example/start?id=7"), "{link}");
    assert_eq!(answer(&mcp, &listener, &commands(&link)[1]).await, "Declined.");
    let result = listener.hear_text().await;
    assert!(result.contains("{'action': 'decline'}"), "{result}");
    stop(mcp.daemon);
}

#[tokio::test]
async fn mcp_question_ends_with_stop_and_with_a_restart() {
    let Some(mcp) = start(&[("asker", "")]) else { return };
    let listener = Listener::attach(&mcp.home, CHAT).await;
    let unknown = async |mcp: &McpHome, listener: &Listener, command: &str| {
        printed(&mcp.home, &["ask", "me", command]);
        // After a restart, the chat is also asked about the interrupted call.
        while !listener.hear_text().await.starts_with("No question waits for this answer") {}
    };
    let first = asked(&mcp, &listener, "link").await;
    assert_eq!(answer(&mcp, &listener, "/stop").await, "Stopped.");
    unknown(&mcp, &listener, &commands(&first)[0]).await;

    let second = asked(&mcp, &listener, "form").await;
    drop(listener);
    let McpHome { home, daemon } = mcp;
    daemon.kill();
    let mcp = McpHome { daemon: home.daemon(), home };
    let listener = Listener::attach(&mcp.home, CHAT).await;
    unknown(&mcp, &listener, &commands(&second)[0]).await;
    stop(mcp.daemon);
}
