//! `session.servers`: servers for the time of a connection.

use serde_json::{Value, json};

use super::world::{World, refused};
use crate::RpcError;
use crate::testing::session;

fn params(servers: &Value) -> Value {
    json!({"session": session(), "servers": servers})
}

#[tokio::test]
async fn session_servers_names_those_that_fail_and_ends_with_the_connection() {
    let world = World::new();
    let connection = world.client().await;
    let servers = json!([
        {"name": "files", "command": "node", "args": ["a.js"], "env": {"TOKEN": "s3cret-value"}},
        {"name": "far", "url": "https://mcp.example.org", "headers": {"Authorization": "x"}},
    ]);
    let started: Value = connection.request("session.servers", &params(&servers)).await.unwrap();
    assert_eq!(
        started,
        json!([
            {"name": "files", "server": "editor-files"},
            {"name": "far", "server": "editor-far", "error": "it does not answer"},
        ])
    );
    let ended = {
        let given = world.daemon.given.lock();
        assert_eq!(given[0].session, session());
        assert_eq!(given[0].servers[0].env["TOKEN"].expose(), "s3cret-value");
        assert!(!format!("{given:?}").contains("s3cret"), "{given:?}");
        given[0].ended.clone()
    };
    assert!(!ended.is_cancelled());
    drop(connection);
    ended.cancelled().await;
}

#[tokio::test]
async fn session_servers_refuses_unknown_fields_and_too_many_servers() {
    let connection = World::new().client().await;
    let many: Vec<Value> = (0..65).map(|number| json!({"name": number.to_string()})).collect();
    for (servers, says) in
        [(json!([{"name": "a", "cwd": "/"}]), "cwd"), (json!(many), "at most 64")]
    {
        let refusal =
            refused(connection.request::<Value>("session.servers", &params(&servers)).await);
        assert_eq!(refusal.0, RpcError::PARAMS);
        assert!(refusal.1.contains(says), "{}", refusal.1);
    }
}
