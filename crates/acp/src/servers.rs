//! The MCP servers of the editor for a session. The daemon starts them, and stops them with the
//! connection of the session.

use std::collections::HashSet;
use std::fmt;

use agent_client_protocol::v1::schema::{HttpHeader, McpServer, McpServerStdio};
use avocet_gateway::ClientError;
use avocet_protocol::chat::SessionId;
use avocet_protocol::session::SessionServerStart;
use serde_json::{Map, Value, json};

/// The servers that an editor has named for a session. They may hold secrets, so `Debug` shows none of
/// them.
#[derive(Default)]
pub(crate) struct EditorServers {
    /// The servers for the daemon, as the socket's method has them.
    servers: Vec<Value>,
    /// The names of the servers that the daemon does not know, with the reasons.
    unknown: Vec<(String, &'static str)>,
    /// The names of the servers whose failure the person knows.
    told: HashSet<String>,
}

impl fmt::Debug for EditorServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EditorServers")
            .field("servers", &self.servers.len())
            .finish_non_exhaustive()
    }
}

impl EditorServers {
    /// Reads the servers of a request.
    pub(crate) fn new(servers: Vec<McpServer>) -> Self {
        let mut read = Self::default();
        for server in servers {
            match server {
                McpServer::Stdio(McpServerStdio { name, command, args, env, .. }) => {
                    let env = env.into_iter().map(|one| (one.name, Value::String(one.value)));
                    let env: Map<String, Value> = env.collect();
                    let command = command.display().to_string();
                    read.servers.push(
                        json!({ "name": name, "command": command, "args": args, "env": env }),
                    );
                }
                McpServer::Http(server) => {
                    let headers = headers_of(server.headers);
                    read.servers.push(
                        json!({ "name": server.name, "url": server.url, "headers": headers }),
                    );
                }
                McpServer::Sse(server) => read.unknown.push((
                    server.name,
                    "it has the old transport SSE; give it the type `http` if it speaks streamable HTTP",
                )),
                _ => read.unknown.push(("without a name".to_owned(), "its transport is unknown")),
            }
        }
        read
    }

    /// Returns `true` if the daemon has no server to start.
    pub(crate) fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Returns the parameters of `session.servers`.
    pub(crate) fn to_params(&self, session: &SessionId) -> Value {
        json!({ "session": session, "servers": self.servers })
    }

    /// Returns a remark for the person about the servers that cannot be used, and were not named
    /// before; empty if there are none.
    pub(crate) fn describe_failures(
        &mut self,
        started: Result<Vec<SessionServerStart>, ClientError>,
    ) -> String {
        let starts = match started {
            Ok(starts) => starts,
            // The next connection gives the servers again.
            Err(ClientError::Lost) => return String::new(),
            Err(error) => {
                let is_new = self.told.insert(String::new());
                let remark = || format!("I cannot use the MCP servers of the editor: {error}\n\n");
                return if is_new { remark() } else { String::new() };
            }
        };
        let failed = starts.into_iter().filter_map(|start| Some((start.name, start.error?)));
        let unknown = self.unknown.drain(..).map(|(name, why)| (name, why.to_owned()));
        let failed: Vec<(String, String)> = failed.chain(unknown).collect();
        let new = failed.into_iter().filter(|(name, _)| self.told.insert(name.clone()));
        new.map(|(name, why)| {
            format!("I cannot use the MCP server `{name}` of the editor: {why}.\n\n")
        })
        .collect()
    }
}

fn headers_of(headers: Vec<HttpHeader>) -> Map<String, Value> {
    headers.into_iter().map(|one| (one.name, Value::String(one.value))).collect()
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::{EnvVariable, McpServerHttp, McpServerSse};

    use super::*;

    fn servers() -> EditorServers {
        let env = vec![EnvVariable::new("TOKEN", "s3cret")];
        let headers = vec![HttpHeader::new("Authorization", "s3cret")];
        EditorServers::new(vec![
            McpServer::Stdio(
                McpServerStdio::new("files", "/usr/bin/node").args(vec!["a.js".into()]).env(env),
            ),
            McpServer::Http(McpServerHttp::new("far", "https://mcp.example.org").headers(headers)),
            McpServer::Sse(McpServerSse::new("old", "https://old.example.org")),
        ])
    }

    fn start(name: &str, error: Option<&str>) -> SessionServerStart {
        let (name, error) = (name.to_owned(), error.map(str::to_owned));
        SessionServerStart { server: format!("editor-{name}"), name, error }
    }

    #[test]
    fn params_have_the_servers_that_the_daemon_can_start() {
        let servers = servers();
        assert_eq!(
            servers.to_params(&"terminal:local:a".parse().unwrap()),
            json!({ "session": "terminal:local:a", "servers": [
                {
                    "name": "files", "command": "/usr/bin/node", "args": ["a.js"],
                    "env": {"TOKEN": "s3cret"},
                },
                {
                    "name": "far", "url": "https://mcp.example.org",
                    "headers": {"Authorization": "s3cret"},
                },
            ]})
        );
        assert!(!format!("{servers:?}").contains("s3cret"), "{servers:?}");
    }

    #[test]
    fn describe_failures_names_each_server_once() {
        let mut servers = servers();
        let starts = || Ok(vec![start("files", None), start("far", Some("it does not answer"))]);
        let remark = servers.describe_failures(starts());
        assert!(remark.contains("server `far` of the editor: it does not answer."), "{remark}");
        assert!(remark.contains("server `old` of the editor: it has the old"), "{remark}");
        assert!(!remark.contains("files"), "{remark}");
        assert_eq!(servers.describe_failures(starts()), "");
        assert_eq!(servers.describe_failures(Err(ClientError::Lost)), "");
    }
}
