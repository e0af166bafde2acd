//! Servers that misbehave, in `tests/mcp/servers`: each fault is one clear line, and the turn
//! continues.

use std::path::Path;

use avocet_tests::{Home, program};

use super::{McpHome, allow, own};
use crate::support::{printed, printed_json, run, stop, until};

/// The place of the line about a fault.
#[derive(Debug, Clone, Copy)]
enum Line {
    /// The answer to a call.
    Answer,
    /// The list of servers.
    List,
}

use Line::{Answer, List};

/// Each row: a server, further keys of its table, the place of the line about its fault, a part of
/// this line, and a part of the expected line in the daemon's log, or an empty text.
const SERVERS: [(&str, &str, Line, &str, &str); 12] = [
    ("absent", "", List, "cannot find my database; set DATABASE", ""),
    ("ancient", "", List, "it speaks version \\\"1999-01-01\\\" of MCP, which is unknown", ""),
    (
        "changes",
        "",
        Answer,
        "work is done",
        "changes__work; `avocet mcp tools changes` shows the changes",
    ),
    ("dies", "", Answer, "exit code 7, during the call", ""),
    ("hangs", "timeout_seconds = 1", List, "it did not answer within 1 s", ""),
    ("huge", "", Answer, "a line of more than 16 MB", ""),
    ("impostor", "", Answer, "the impostor's work is done", "it has two tools named \"read_file\""),
    ("invalid", "timeout_seconds = 1", Answer, "timed out", "lines are ignored server=\"invalid\""),
    ("many", "", List, "it has 5000 tools, and the first 200 are used", "it has 5000 tools"),
    ("noisy", "", Answer, "work is done", "lines are ignored server=\"noisy\""),
    ("sampler", "", Answer, "last answer", "refused a sampling request"),
    ("silent", "timeout_seconds = 1", Answer, "timed out", ""),
];

/// The table of a server in `tests/mcp/servers`.
fn python(name: &str, more: &str) -> String {
    let folder = own("servers");
    let script = folder.join(format!("{name}.py"));
    format!(
        "[tools.mcp_servers.{name}]\ncommand = \"/usr/bin/python3\"\n\
         args = [\"-B\", {script:?}]\nread = [{folder:?}]\n{more}\n"
    )
}

pub(super) fn start(servers: &[(&str, &str)]) -> Option<McpHome> {
    let tables: String = servers.iter().map(|(name, more)| python(name, more)).collect();
    let names: Vec<_> = servers.iter().map(|(name, _)| *name).collect();
    McpHome::start(Home::new(program!()).with_config(&(tables + &allow(&names))))
}

/// Returns the state of a server in the daemon.
fn status(mcp: &McpHome, name: &str) -> serde_json::Value {
    let listed = printed_json(&mcp.home, &["mcp", "list"]);
    let mut rows = listed.as_array().unwrap().iter();
    rows.find(|row| row["name"] == name).unwrap()["status"].clone()
}

#[test]
fn mcp_misbehaving_servers_have_one_clear_line_and_the_turn_goes_on() {
    let servers = SERVERS.map(|(name, more, ..)| (name, more));
    let Some(mut mcp) = start(&servers) else { return };
    let scripts = own("servers").read_dir().unwrap().map(|file| file.unwrap().path());
    let scripts = scripts.filter(|path| path.extension().is_some_and(|end| end == "py"));
    let behave = ["asker.py", "base.py"];
    for script in scripts.filter(|path| !behave.iter().any(|name| path.ends_with(name))) {
        let name = Path::new(&script).file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(SERVERS.iter().any(|server| server.0 == name), "{name} is not tested");
    }
    for (name, _, line, expected, _) in SERVERS {
        match line {
            Answer => {
                let answer = mcp.call(&format!("{name}__work"), "{}");
                assert!(answer.contains(expected), "{name}: no {expected:?} in {answer:.2000}");
                assert!(answer.len() < 100_000, "{name}: {} bytes", answer.len());
            }
            List => {
                let listed = || status(&mcp, name).to_string();
                until(name, || listed().contains(expected).then_some(()));
            }
        }
    }
    for (name, .., logged) in SERVERS.iter().filter(|server| !server.4.is_empty()) {
        until(name, || (mcp.daemon.logged(logged) > 0).then_some(()));
        // A server is started once for its list, and once for its call.
        assert!(mcp.daemon.logged(logged) <= 2, "{name}: {logged}");
    }
    let answer = printed(&mcp.home, &["ask", "me", "count to 3", "--wait"]);
    assert_eq!(answer.trim(), "1, 2, 3.");
    let doctor = run(&mcp.home, &["doctor"]).out;
    for name in ["absent", "hangs"] {
        assert_eq!(doctor.lines().filter(|line| line.contains(name)).count(), 1, "{doctor}");
    }
    stop(mcp.daemon);
}

#[test]
fn mcp_server_asks_the_model_within_the_limits_of_its_table() {
    let limits = "sampling = { max_requests = 3, max_tokens = 100000 }";
    let Some(mut mcp) = start(&[("sampler", limits)]) else { return };
    let answer = mcp.call("sampler__work", "{}");
    assert!(answer.contains("a call may ask the model 3 times"), "{answer}");
    assert_eq!(mcp.daemon.logged("refused a sampling request"), 1);
    stop(mcp.daemon);
}

#[test]
fn mcp_tool_that_changes_its_description_is_off_until_it_is_approved() {
    let Some(mcp) = start(&[("changes", "")]) else { return };
    let work = || mcp.call("changes__work", "{}");
    // The first call approves the tool, and the server changes it.
    until("the tool", || work().contains("work is done").then_some(()));
    let state = || printed_json(&mcp.home, &["mcp", "tools", "changes"])[0]["state"].clone();
    until("the change", || (state() == "changed").then_some(()));
    let refused = work();
    assert!(!refused.contains("work is done"), "{refused}");
    let listed = printed(&mcp.home, &["mcp", "list"]);
    assert!(listed.contains("`avocet mcp tools changes` shows"), "{listed}");
    let approved = printed_json(&mcp.home, &["mcp", "approve", "changes", "work", "--yes"]);
    assert_eq!(approved, serde_json::json!(["changes__work"]));
    until("the tool", || work().contains("work is done").then_some(()));
    stop(mcp.daemon);
}

#[test]
fn mcp_tool_never_replaces_one_of_the_agent() {
    let Some(mcp) = start(&[("impostor", "")]) else { return };
    std::fs::write(mcp.home.workspace().join("a.txt"), "the file").unwrap();
    let read = mcp.call("read_file", "a.txt");
    assert!(read.contains("the file") && !read.contains("impostor"), "{read}");
    let own = mcp.call("impostor__read_file", "{}");
    assert!(own.contains("the impostor's read_file is done"), "{own}");
    let left_out = status(&mcp, "impostor")["left_out"].to_string();
    assert!(left_out.contains("read_file"), "{left_out}");
    stop(mcp.daemon);
}

#[test]
fn mcp_stop_cancels_the_call_at_the_server() {
    let Some(mcp) = start(&[("silent", "")]) else { return };
    printed(&mcp.home, &["ask", "me", "silent__work {}"]);
    let seen = || printed(&mcp.home, &["ask", "other", "silent__seen {}", "--wait"]);
    until("the call", || seen().contains("calls: 1, cancelled: 0").then_some(()));
    printed(&mcp.home, &["ask", "me", "/stop", "--wait"]);
    until("the cancellation", || seen().contains("calls: 1, cancelled: 1").then_some(()));
    stop(mcp.daemon);
}
