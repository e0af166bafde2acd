//! Tests of `avocet doctor` on this machine, with any findings.

use avocet_tests::{DaemonProcess, Home, program};
use serde_json::Value;

use crate::support::{as_nobody, assert_fails, end, is_root, run, set_mode, start, stop};

fn check<'a>(found: &'a Value, section: &str, name: &str) -> &'a Value {
    let checks = found[section].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name}: {found}"))
}

#[test]
fn doctor_lists_available_and_missing_sandbox_layers() {
    let home = Home::new(program!());
    let ran = run(&home, &["doctor", "--json"]);
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    let has_walls = check(&found, "walls", "exec_shell")["state"] == "good";
    assert_eq!(ran.code, Some(if has_walls { 0 } else { 71 }), "{ran:?}");
    let one_holds =
        ["namespaces", "Landlock"].map(|name| check(&found, "walls", name)["state"] == "good");
    assert_eq!(one_holds.contains(&true), has_walls, "{found}");
    let fix = check(&found, "avocet", "daemon")["fix"].as_str().unwrap();
    assert!(fix.starts_with("start it: avocet run;") && fix.contains("--config"), "{fix}");
    assert!(!home.data_dir().exists(), "it leaves nothing behind");

    let daemon = home.daemon();
    let ran = run(&home, &["doctor"]);
    let process = format!("\n  ✓ daemon         process {}, version ", daemon.pid());
    for part in [
        "avocet\n  ✓ configuration  ",
        &process,
        " can be written to\n",
        " free\n",
        "\nsandbox\n",
        " exec_shell ",
    ] {
        assert!(ran.out.contains(part), "{part:?} is not in {}", ran.out);
    }
    assert!(!ran.out.contains(".doctor-"), "{}", ran.out);
    stop(daemon);
}

#[test]
fn doctor_reports_a_bad_configuration_with_its_exit_code() {
    let home = Home::new(program!()).with_config("[sandbox]\nallow_unsandboxed_shel = true\n");
    let ran = run(&home, &["doctor"]);
    assert_eq!(ran.code, Some(78), "{ran:?}");
    assert!(
        ran.out.contains("✗ configuration") && ran.out.contains("allow_unsandboxed_shell"),
        "{}",
        ran.out
    );
    assert_fails(&run(&home, &["config", "check"]), 78, &["allow_unsandboxed_shel"]);
}

/// Returns the check of the database in a finding of a stopped daemon's user.
fn database(home: &Home) -> (String, String) {
    let ran = end(start(as_nobody(home, &["doctor", "--json", "--offline"]), b""));
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    let check = check(&found, "avocet", "database");
    let text = |name: &str| check[name].as_str().unwrap().to_owned();
    (text("state"), text("says"))
}

#[test]
fn doctor_without_a_daemon_opens_the_database() {
    if !is_root() {
        return println!("not run: only root can become somebody else");
    }
    let home = Home::new(program!()).with_config("data_dir = \"../../data\"\n");
    [".config", ".config/avocet"].iter().for_each(|below| set_mode(&home, below, 0o755));
    std::fs::create_dir(home.path("data")).unwrap();
    std::os::unix::fs::chown(home.path("data"), Some(65534), Some(65534)).unwrap();
    let mut daemon = DaemonProcess::spawn(&mut as_nobody(&home, &["run"]));
    daemon.wait_until_ready();
    stop(daemon);
    assert_eq!(database(&home).0, "good");

    set_mode(&home, "data/avocet.db", 0o444);
    let (state, says) = database(&home);
    assert!(state == "bad" && says.ends_with("avocet.db: Permission denied"), "{state} {says}");
    let refused = end(start(as_nobody(&home, &["run"]), b""));
    assert_fails(&refused, 78, &["avocet.db cannot be used", "its owner and its permissions"]);

    set_mode(&home, "data/avocet.db", 0o600);
    std::fs::write(home.path("data/avocet.db"), "no database".repeat(1000)).unwrap();
    let (state, says) = database(&home);
    assert!(state == "bad" && says.contains("avocet.db is damaged"), "{state} {says}");
    assert!(home.path("data/avocet.db").exists(), "it moves nothing");
}

/// With `sudo avocet doctor`, the caller and the daemon are different users.
#[test]
fn doctor_reports_for_the_user_of_the_daemon_instead_of_the_caller() {
    if !is_root() {
        return println!("not run: only root can become somebody else");
    }
    let home = Home::new(program!())
        .with_config("data_dir = \"../../data\"\n[sandbox]\nmax_processes = 77\n");
    [".config", ".config/avocet"].iter().for_each(|below| set_mode(&home, below, 0o755));
    std::fs::create_dir(home.path("data")).unwrap();
    std::os::unix::fs::chown(home.path("data"), Some(65534), Some(65534)).unwrap();
    let mut daemon = DaemonProcess::spawn(&mut as_nobody(&home, &["run"]));
    daemon.wait_until_ready();
    let found: Value = serde_json::from_str(&run(&home, &["doctor", "--json"]).out).unwrap();
    let user = check(&found, "walls", "user");
    assert!(user["state"] == "good" && user["says"] == "uid 65534", "{found}");
    let limits = check(&found, "walls", "limits")["says"].as_str().unwrap();
    assert!(limits.contains("77 processes"), "{limits}");
    stop(daemon);
    let found: Value = serde_json::from_str(&run(&home, &["doctor", "--json"]).out).unwrap();
    assert_eq!(check(&found, "avocet", "daemon")["state"], "fair");
    assert!(
        check(&found, "walls", "user")["says"].as_str().unwrap().starts_with("root"),
        "{found}"
    );
}
