//! `avocet doctor`: what it finds on this machine, whatever that is.

use avocet_tests::{Home, program};
use serde_json::Value;

use crate::support::{assert_fails, run, stop};

fn check<'a>(found: &'a Value, section: &str, name: &str) -> &'a Value {
    let checks = found[section].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name}: {found}"))
}

#[test]
fn the_doctor_says_which_walls_there_are_and_what_is_missing() {
    let home = Home::new(program!());
    let ran = run(&home, &["doctor", "--json"]);
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    let has_walls = check(&found, "walls", "exec_shell")["state"] == "good";
    assert_eq!(ran.code, Some(if has_walls { 0 } else { 71 }), "{ran:?}");
    let one_holds =
        ["namespaces", "Landlock"].map(|name| check(&found, "walls", name)["state"] == "good");
    assert_eq!(one_holds.contains(&true), has_walls, "{found}");
    assert_eq!(check(&found, "avocet", "daemon")["fix"], "start it: avocet run");
    assert!(!home.data_dir().exists(), "it leaves nothing behind");

    let daemon = home.daemon();
    let ran = run(&home, &["doctor"]);
    for part in [
        "avocet\n  ✓ configuration  ",
        "\n  ✓ daemon         answers at ",
        "\nwalls\n",
        " exec_shell ",
    ] {
        assert!(ran.out.contains(part), "{part:?} is not in {}", ran.out);
    }
    assert!(!ran.out.contains(".doctor-"), "{}", ran.out);
    stop(daemon);
}

#[test]
fn the_doctor_says_what_is_wrong_with_the_configuration_and_exits_with_its_code() {
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
