//! `avocet mcp add` and `remove`: the changes of the configuration file.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use avocet_tests::{Home, program};
use serde_json::json;

use crate::support::{assert_fails, printed_json, run, run_with};

const CONFIG: &str = ".config/avocet/config.toml";
const BEFORE: &str = "# mine\n[log]\nlevel = \"info\" # kept\n";

fn text(home: &Home) -> String {
    fs::read_to_string(home.path(CONFIG)).unwrap()
}

#[test]
fn mcp_add_makes_a_private_file_and_remove_takes_the_server_out() {
    let home = Home::new(program!());
    let added = run(&home, &["mcp", "add", "files", "--write", "docs", "--", "mcp-x", "-y"]);
    assert_eq!(added.code, Some(0), "{added:?}");
    assert!(added.err.contains("there is no program mcp-x on this machine"), "{added:?}");
    let added = added.out;
    let config = home.path(CONFIG);
    let docs = home.path("").canonicalize().unwrap().join("docs");
    assert!(
        added.contains("added [tools.mcp_servers.files] to") && added.contains("mcp test files")
    );
    assert_eq!(
        text(&home).trim_start(),
        format!(
            "[tools.mcp_servers.files]\ncommand = \"mcp-x\"\nargs = [\"-y\"]\nwrite = [{docs:?}]\n"
        )
    );
    assert_eq!(fs::metadata(&config).unwrap().permissions().mode() & 0o777, 0o600);
    let listed = printed_json(&home, &["mcp", "list"]);
    assert_eq!(listed, json!([{"name": "files", "reached_by": "mcp-x -y", "status": null}]));
    let removed = printed_json(&home, &["mcp", "remove", "files"]);
    assert_eq!(removed["removed"], json!(["files"]));
    assert_eq!(text(&home).trim(), "");
    assert!(fs::read_to_string(removed["before"].as_str().unwrap()).unwrap().contains("mcp-x"));
    assert_fails(&run(&home, &["mcp", "remove", "files"]), 1, &["no [tools.mcp_servers.files]"]);
}

#[test]
fn mcp_add_from_json_on_stdin_keeps_the_file_and_warns_about_secrets() {
    let home = Home::new(program!()).with_config(BEFORE);
    let json = json!({"mcpServers": {
        "Git Hub": {"command": "npx", "args": ["-y", "hub"], "env": {"HUB_TOKEN": "s3cret-value"}},
        "remote": {"type": "http", "url": "https://mcp.example/mcp",
            "headers": {"Authorization": "Bearer ${env:REMOTE}"}},
    }})
    .to_string();
    let ran =
        run_with(&home, &["mcp", "add", "--from", "-", "--json", "--no-test"], json.as_bytes());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.err.contains("write ${GIT-HUB") || ran.err.contains("GIT_HUB_HUB_TOKEN"),
        "{ran:?}"
    );
    assert!(!format!("{ran:?}").contains("s3cret"), "{ran:?}");
    let after = text(&home);
    assert!(after.starts_with(BEFORE), "{after}");
    assert!(after.contains("[tools.mcp_servers.git-hub]"), "{after}");
    assert!(after.contains("headers = { Authorization = \"Bearer ${REMOTE}\" }"), "{after}");
    let again = run_with(&home, &["mcp", "add", "--from", "-"], json.as_bytes());
    assert_fails(&again, 1, &["already has [tools.mcp_servers.git-hub]", "--replace"]);
    assert_eq!(text(&home), after);
    let replaced =
        run_with(&home, &["mcp", "add", "--from", "-", "--replace", "--no-test"], json.as_bytes());
    assert_eq!((replaced.code, text(&home)), (Some(0), after), "{replaced:?}");
}

#[test]
fn mcp_add_writes_nothing_that_no_daemon_would_start_with() {
    let home = Home::new(program!()).with_config(BEFORE);
    let table: [(&[&str], i32, &str); 3] = [
        (&["mcp", "add", "a", "--url", "ftp://x"], 78, "url"),
        (&["mcp", "add", "é", "--", "x"], 1, "no letter or digit"),
        (&["mcp", "add", "--from", "missing.json"], 1, "missing.json"),
    ];
    for (arguments, code, expected) in table {
        assert_fails(&run(&home, arguments), code, &[expected]);
    }
    for arguments in [&["mcp", "add", "a"][..], &["mcp", "add", "a", "--url", "u", "--", "x"]] {
        assert_eq!(run(&home, arguments).code, Some(2));
    }
    assert_eq!(text(&home), BEFORE);
}

#[test]
fn mcp_add_from_a_file_adds_the_good_servers_and_names_the_others() {
    let home = Home::new(program!()).with_config(BEFORE);
    let json = "{ \"servers\": { // mine\n \"good\": { \"command\": \"mcp-a\", \"args\": [80,], },\n\
        \"bad\": { \"type\": \"ws\", \"url\": \"ws://127.0.0.1:1/mcp\" }, }, }";
    let ran = run_with(&home, &["mcp", "add", "--from", "-", "--no-test"], json.as_bytes());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains("added [tools.mcp_servers.good]"), "{ran:?}");
    assert!(ran.out.contains("left out server \"bad\": the transport \"ws\""), "{ran:?}");
    assert!(text(&home).contains("command = \"mcp-a\"\nargs = [\"80\"]\n"), "{}", text(&home));
}
