//! `avocet mcp add` beside a running daemon, and a program that the sandbox hides.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use avocet_tests::{Home, program};

use super::{McpHome, allow, own};
use crate::support::{printed, run, stop};

#[test]
fn mcp_add_tests_the_server_and_a_running_daemon_has_its_tools_without_a_restart() {
    let Some(mcp) = McpHome::with_config(&allow(&["late"])) else { return };
    let script = own("servers/noisy.py").display().to_string();
    let added =
        run(&mcp.home, &["mcp", "add", "late", "--", "/usr/bin/python3", "-B", script.as_str()]);
    assert_eq!(added.code, Some(0), "{added:?}");
    assert!(added.out.contains("late runs; tools: 1\n"), "{added:?}");
    assert!(added.out.contains("late__work"), "{added:?}");
    mcp.until_known();
    let answer = mcp.call("late__work", "{}");
    assert!(answer.contains("work is done"), "{answer}");
    stop(mcp.daemon);
}

#[test]
fn mcp_server_whose_program_the_sandbox_hides_is_named_with_its_place() {
    let home = Home::new(program!());
    let place = home.path(".local/bin/mcp-hidden");
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(&place, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    let config = "[tools.mcp_servers.hidden]\ncommand = \"mcp-hidden\"\n";
    let Some(mcp) = McpHome::start(home.with_config(config)) else { return };
    let listed = printed(&mcp.home, &["mcp", "list", "--json"]);
    let place = place.display().to_string();
    for part in ["there is no program", &format!("it is at {place}, and the sandbox hides it")] {
        assert!(listed.contains(part), "{part:?} is not in {listed}");
    }
    stop(mcp.daemon);
}
