//! MCP servers of others, from npm, and servers that misbehave, against the real program.

mod adding;
mod asking;
mod configuring;
mod foreign;
mod inspector;
mod misbehaving;
mod oauth;

use std::path::{Path, PathBuf};

use avocet_testkit::{SystemPart, skip_without};
use avocet_tests::{DaemonProcess, Home, program};

use serde_json::Value;

use crate::support::{printed, run, stop, until};

/// A file of a package that `tests/run` installs.
fn installed(file: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let file = target.join("mcp/node_modules/@modelcontextprotocol").join(file);
    assert!(file.exists(), "{} is missing; run tests/run once, which installs it", file.display());
    file
}

/// A file in `tests/mcp`.
fn own(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp").join(file)
}

/// The table of a server that is a program of Node.js. `more` are its other keys.
fn node(name: &str, package: &str, args: &[&Path], more: &str) -> String {
    let script = installed(package).join("dist/index.js");
    let modules = installed("").parent().unwrap().to_owned();
    let args: Vec<_> = [&*script].iter().chain(args).map(|arg| format!("{arg:?}")).collect();
    format!(
        "[tools.mcp_servers.{name}]\ncommand = \"node\"\nargs = [{}]\nread = [{modules:?}]\n{more}\n",
        args.join(", ")
    )
}

/// A rule that lets every tool of these servers run without a question.
fn allow(servers: &[&str]) -> String {
    let rules = servers.iter().map(|server| {
        format!("\"{server}__*\" = {{ default = \"allow\", low_trust = \"allow\" }}\n")
    });
    format!("[tools.policy]\n{}", rules.collect::<String>())
}

/// A running daemon with MCP servers.
struct McpHome {
    home: Home,
    daemon: DaemonProcess,
}

impl McpHome {
    /// Starts a daemon; `None` if this system has no sandbox for the servers.
    fn start(home: Home) -> Option<Self> {
        let mut daemon = home.daemon();
        if daemon.logged("exec_shell is off") > 0 {
            skip_without(SystemPart::ProgramSandbox);
            stop(daemon);
            return None;
        }
        let mcp = Self { home, daemon };
        mcp.until_known();
        Some(mcp)
    }

    /// Waits until the tools of each server are known, or its failure.
    fn until_known(&self) {
        until("the first start of each server", || {
            // Reading 5000 tools keeps a busy daemon from answering for seconds, and the command then warns.
            let listed = run(&self.home, &["mcp", "list", "--json"]).out;
            let listed: Value = serde_json::from_str(&listed).unwrap();
            let mut states = listed.as_array().unwrap().iter().map(|row| &row["status"]);
            let is_known =
                |status: &Value| status["state"] == "failed" || status["software"].is_string();
            states.all(is_known).then_some(())
        });
    }

    fn with_config(config: &str) -> Option<Self> {
        Self::start(Home::new(program!()).with_config(config))
    }

    /// Lets the built-in model call a tool. Returns its answer, which has the result.
    #[track_caller]
    fn call(&self, tool: &str, arguments: &str) -> String {
        printed(&self.home, &["ask", "me", &format!("{tool} {arguments}"), "--wait"])
    }

    /// Stops the daemon and starts it again.
    fn restarted(self) -> Self {
        stop(self.daemon);
        Self { daemon: self.home.daemon(), home: self.home }
    }
}
