//! Servers on stdio that depart from the specification, each in one way, against the whole client.

use std::sync::Arc;

use avocet_protocol::tool::{
    McpServers, McpState, ToolContext, ToolError, ToolOutcome, ToolSource,
};
use avocet_testkit::{ManualClock, tool_context};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::testing::{FakeServer, Quirk, make_client};
use crate::{McpClient, McpServerConfig};

/// Starts a server with the tools `a` and `b`, which departs from the specification.
async fn start(quirk: Quirk) -> (TempDir, Arc<FakeServer>, McpClient) {
    let (home, clock) = (TempDir::new().unwrap(), Arc::new(ManualClock::default()));
    let fake = FakeServer::with_tools(&["a", "b"]);
    *fake.quirk.lock() = Some(quirk);
    let servers = vec![("fake", McpServerConfig::default(), Some(fake.clone()))];
    let client = make_client(home.path(), &clock, servers);
    McpServers::tools(&client, "fake", true).await.unwrap();
    (home, fake, client)
}

async fn call(client: &McpClient, context: &ToolContext) -> Result<Value, ToolError> {
    let tools = ToolSource::tools(client);
    let tool = tools.into_iter().find(|tool| tool.describe().name.as_str() == "fake__b").unwrap();
    let ToolOutcome::Finished(output) = tool.execute(&Map::new(), context).await? else {
        panic!("the call waits");
    };
    Ok(output.value)
}

fn line(response: &Value) -> String {
    format!("{response}\n")
}

#[tokio::test]
async fn server_with_a_quirk_starts_lists_its_tools_and_runs_them() {
    let quirks: [(&str, Quirk); 13] = [
        ("error null", |_, mut response| {
            response["error"] = Value::Null;
            line(&response)
        }),
        ("batch", |_, response| line(&json!([response]))),
        ("id as text", |_, mut response| {
            response["id"] = json!(response["id"].to_string());
            line(&response)
        }),
        ("CR LF and BOM", |_, response| format!("\u{feff}{response}\r\n")),
        ("half a surrogate pair", |_, response| {
            format!("{response}\n").replacen('{', "{\"x\":\"\\ud83d\",", 1)
        }),
        ("log lines", |_, response| format!("INFO ready\n{{\"level\":\"info\"}}\n{response}\n")),
        ("no jsonrpc", |_, mut response| {
            response.as_object_mut().unwrap().remove("jsonrpc");
            line(&response)
        }),
        ("no serverInfo", |_, mut response| {
            response["result"].as_object_mut().unwrap().remove("serverInfo");
            line(&response)
        }),
        ("no capabilities", |_, mut response| {
            response["result"].as_object_mut().unwrap().remove("capabilities");
            line(&response)
        }),
        ("capabilities are null", |method, mut response| {
            if method == "initialize" {
                response["result"]["capabilities"] = Value::Null;
            }
            line(&response)
        }),
        ("empty capabilities", |method, mut response| {
            if method == "initialize" {
                response["result"]["capabilities"] = json!({});
            }
            line(&response)
        }),
        ("no protocolVersion", |_, mut response| {
            response["result"].as_object_mut().unwrap().remove("protocolVersion");
            line(&response)
        }),
        ("empty cursor", |method, mut response| {
            if method == "tools/list" {
                response["result"]["nextCursor"] = json!("");
            }
            line(&response)
        }),
    ];
    for (name, quirk) in quirks {
        let (_home, fake, client) = start(quirk).await;
        let status = client.servers().remove(0);
        assert_eq!(status.state, McpState::Ready, "{name}");
        assert!(status.left_out.is_empty(), "{name}: {:?}", status.left_out);
        assert_eq!(call(&client, &tool_context()).await, Ok(json!("b ran")), "{name}");
        // One page at the start, and one for `tools`.
        let received = fake.received.lock();
        assert_eq!(received.iter().filter(|one| *one == "tools/list").count(), 2, "{name}");
    }
}

#[tokio::test]
async fn cursor_that_repeats_ends_the_list() {
    let (_home, fake, client) = start(|method, mut response| {
        if method == "tools/list" {
            response["result"]["nextCursor"] = json!("0");
        }
        line(&response)
    })
    .await;
    assert_eq!(call(&client, &tool_context()).await, Ok(json!("b ran")));
    let received = fake.received.lock();
    // Two pages at the start, and two for `tools`.
    assert_eq!(received.iter().filter(|one| *one == "tools/list").count(), 4);
}

#[tokio::test]
async fn tool_that_cannot_be_read_is_named_and_the_others_work() {
    for (odd, why) in [
        (json!({"name": "odd", "inputSchema": 7}), "the tool \"odd\" is left out: its inputSchema"),
        (json!({"name": "odd", "execution": {"taskSupport": "required"}}), "only as a task"),
        (json!({"description": "nameless"}), "it has no name"),
        (json!("odd"), "it is no object"),
    ] {
        let (_home, fake, client) = start(|_, response| line(&response)).await;
        fake.tools.lock().insert(1, odd);
        McpServers::tools(&client, "fake", true).await.unwrap();
        let status = client.servers().remove(0);
        assert!(status.left_out.len() == 1 && status.left_out[0].contains(why), "{status:?}");
        assert_eq!(call(&client, &tool_context()).await, Ok(json!("b ran")), "{why}");
    }
}

#[tokio::test]
async fn unknown_version_is_used_like_a_known_one_and_told() {
    let (_home, _fake, client) = start(|method, mut response| {
        if method == "initialize" {
            response["result"]["protocolVersion"] = json!("1999-01-01");
        }
        line(&response)
    })
    .await;
    let status = client.servers().remove(0);
    assert!(
        status.left_out[0].starts_with("it speaks version \"1999-01-01\" of MCP, which is unknown"),
        "{status:?}"
    );
    assert_eq!(call(&client, &tool_context()).await, Ok(json!("b ran")));
}

#[tokio::test]
async fn result_of_an_odd_type_reaches_the_model() {
    for (quirk, expected) in [
        (
            (|method, mut response| {
                if method == "tools/call" {
                    response["result"] = json!({"content": [{"type": "chart", "title": "sales"}]});
                }
                line(&response)
            }) as Quirk,
            Ok(json!("[a content block of the unknown type \"chart\"] {\"title\":\"sales\"}")),
        ),
        (
            |method, mut response| {
                if method == "tools/call" {
                    response["result"] = json!({"content": "done", "isError": "false"});
                }
                line(&response)
            },
            Ok(json!("done")),
        ),
        (
            |method, mut response| {
                if method == "tools/call" {
                    response["result"] =
                        json!({"content": {"type": "text", "text": "no"}, "isError": "true"});
                }
                line(&response)
            },
            Err(ToolError::ExecutionFailed("no".to_owned())),
        ),
    ] {
        let (_home, _fake, client) = start(quirk).await;
        assert_eq!(call(&client, &tool_context()).await, expected);
    }
}
