//! Secrets in a workspace: closed until the operator opens them, the daemon's own among them.

use std::fs;

use avocet_tests::{Home, program};

use crate::support::{assert_fails, printed, run};

#[test]
fn what_is_secret_is_opened_by_the_configuration_alone() {
    let open = "[agents.defaults]\nworkspace = \"~\"\n[tools]\nsecret_files = [\"open.pem\"]\n";
    let home = Home::new(program!()).with_config(open);
    for path in ["open.pem", "closed.pem", "notes.txt"] {
        fs::write(home.path(path), format!("content of {path}")).unwrap();
    }
    let _daemon = home.daemon();
    let read = |path: &str| printed(&home, &["ask", "me", &format!("read_file {path}"), "--wait"]);
    for path in ["open.pem", "notes.txt"] {
        assert!(read(path).contains(&format!("content of {path}")), "{path}");
    }
    let own = [".config/avocet/config.toml", ".local/state/avocet/avocet.db"];
    for path in ["closed.pem"].into_iter().chain(own) {
        let refused = read(path);
        assert!(refused.contains("is not opened") && refused.contains("secret_files"), "{refused}");
    }
}

#[test]
fn a_pattern_that_is_none_is_named() {
    let home = Home::new(program!()).with_config("[tools]\nsecret_files = [\"a[\"]\n");
    assert_fails(&run(&home, &["run"]), 78, &["[tools] secret_files", "a["]);
}
