//! Tests of `avocet service` with fakes of systemd's programs, which note how they are called.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use avocet_tests::{Home, program};
use serde_json::json;

use crate::support::{as_nobody, assert_fails, end, run, start};

const UNIT: &str = ".config/systemd/user/avocet.service";
const PROBE: &str = "systemctl --user show --property=Version";
const NO_BUS: &str = "echo 'Failed to connect to bus:' >&2; echo 'No medium found' >&2; exit 1";
const LINGER: &str = "loginctl enable-linger";
/// The properties of a running service.
const RUNNING: &str = "ActiveState=active\nSubState=running\nMainPID=4711\nNRestarts=2\n\
    StatusText=ready\nUnitFileState=enabled\n";

/// A home with fakes of `systemctl`, `loginctl` and `journalctl`.
struct Systemd {
    home: Home,
}

impl Systemd {
    fn new() -> Self {
        let home = Home::new(program!());
        fs::create_dir(home.path("bin")).unwrap();
        let path = format!("{}:/usr/bin:/bin", home.path("bin").display());
        let systemd = Self { home: home.with("PATH", &path) };
        systemd.answers("systemctl", "exit 0");
        systemd.answers("loginctl", "echo yes");
        systemd.answers("journalctl", "echo 'the log'");
        systemd
    }

    /// Replaces a fake: it notes its arguments, and then runs these lines.
    fn answers(&self, name: &str, lines: &str) {
        let calls = self.home.path("calls");
        let script = format!("#!/bin/sh\necho {name} \"$@\" >>{}\n{lines}\n", calls.display());
        let path = self.home.path("bin").join(name);
        // A file that a test has open for writing cannot be run by another.
        fs::write(path.with_extension("new"), script).unwrap();
        fs::set_permissions(path.with_extension("new"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(path.with_extension("new"), path).unwrap();
    }

    fn has_unit(&self) {
        let fragment = self.unit().display().to_string();
        let properties = format!("FragmentPath={fragment}\n{RUNNING}");
        self.answers("systemctl", &format!("cat <<'END'\n{properties}END"));
    }

    fn unit(&self) -> PathBuf {
        self.home.path(UNIT)
    }

    /// Returns the calls since the last look.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.home.path("calls")).unwrap_or_default();
        drop(fs::remove_file(self.home.path("calls")));
        calls.lines().map(str::to_owned).collect()
    }

    /// Installs the service, and returns the output.
    fn installed(&self, options: &[&str]) -> String {
        let ran = run(&self.home, &[&["service", "install"], options].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.out
    }
}

fn linger_call() -> String {
    let user = rustix::process::getuid().as_raw();
    format!("loginctl show-user --property=Linger --value {user}")
}

#[test]
fn service_install_refuses_a_configuration_that_the_service_cannot_read() {
    let systemd = Systemd::new();
    let directory = tempfile::Builder::new().prefix("avocet").tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let file = directory.path().join("config.toml");
    fs::write(&file, "").unwrap();
    let path = file.display().to_string();
    for (of_directory, of_file, right) in [(0o755, 0o600, "o+r"), (0o700, 0o644, "o+x")] {
        fs::set_permissions(&file, fs::Permissions::from_mode(of_file)).unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(of_directory)).unwrap();
        let arguments = ["--config", &path, "service", "install", "--system", "--dry-run"];
        let refused = run(&systemd.home, &arguments);
        assert_fails(&refused, 1, &["the account of the service cannot read", "chmod", right]);
    }
}

#[test]
fn service_install_writes_the_unit_enables_and_starts_it() {
    let systemd = Systemd::new();
    let home = Systemd { home: systemd.home.with_config("[log]\nlevel = \"debug\"\n") };
    let out = home.installed(&[]);
    assert!(out.contains(&format!("wrote {}\n", home.unit().display())), "{out}");
    assert!(out.contains("avocet service logs --follow\n"), "{out}");
    let calls = [
        PROBE.to_owned(),
        "systemctl --user daemon-reload".to_owned(),
        "systemctl --user enable --now avocet.service".to_owned(),
        linger_call(),
    ];
    assert_eq!(home.calls(), calls);
    let unit = fs::read_to_string(home.unit()).unwrap();
    let config = home.home.path(".config/avocet/config.toml");
    let command = format!("\nExecStart={} --config {} run\n", program!(), config.display());
    assert!(unit.contains(&command), "{command} is not in: {unit}");
    assert!(!home.home.data_dir().exists(), "the command needs no log");
    // A second time, nothing is written.
    let out = home.installed(&[]);
    assert!(out.contains("is up to date\n") && !out.contains("wrote"), "{out}");
    assert_eq!(fs::read_to_string(home.unit()).unwrap(), unit);
}

#[test]
fn service_install_warns_of_the_logout_unless_the_user_lingers() {
    for (answer, warns) in [("echo no", true), ("exit 1", true), ("echo yes", false)] {
        let systemd = Systemd::new();
        systemd.answers("loginctl", answer);
        let ran = run(&systemd.home, &["service", "install"]);
        assert_eq!((ran.code, ran.err.contains(LINGER)), (Some(0), warns), "{answer}: {ran:?}");
    }
}

#[test]
fn service_install_dry_run_prints_the_unit_and_changes_nothing() {
    let systemd = Systemd::new();
    let out = systemd.installed(&["--dry-run", "--no-start"]);
    for part in [&*systemd.unit().display().to_string(), "ExecStart=", "WatchdogSec=2min\n"] {
        assert!(out.contains(part), "{part} is not in: {out}");
    }
    let runs = "systemctl --user daemon-reload\nsystemctl --user enable avocet.service\n";
    assert!(out.ends_with(runs), "{out}");
    assert_eq!(systemd.calls(), [""; 0]);
    assert!(!systemd.home.path(".config").exists());
}

#[test]
fn service_install_keeps_a_changed_unit_until_it_is_forced() {
    let systemd = Systemd::new();
    systemd.installed(&["--no-start"]);
    let written = fs::read_to_string(systemd.unit()).unwrap();
    let changed = written.replace("WatchdogSec=2min", "WatchdogSec=9min");
    fs::write(systemd.unit(), &changed).unwrap();
    systemd.calls();
    let ran = run(&systemd.home, &["service", "install"]);
    assert_fails(&ran, 1, &["avocet.service was changed", "drop-in", "--force"]);
    assert_fails(&run(&systemd.home, &["service", "uninstall"]), 1, &["was changed", "--force"]);
    assert_eq!(
        (fs::read_to_string(systemd.unit()).unwrap(), systemd.calls().len()),
        (changed.clone(), 1)
    );
    let out = systemd.installed(&["--force"]);
    assert!(
        out.contains("avocet.service.before\n") && out.contains("restart avocet.service\n"),
        "{out}"
    );
    assert_eq!(fs::read_to_string(systemd.unit()).unwrap(), written);
    let kept = systemd.unit().with_extension("service.before");
    assert_eq!(fs::read_to_string(kept).unwrap(), changed);
}

#[test]
fn service_install_refuses_a_broken_configuration_and_reports_systemctl() {
    let systemd = Systemd::new();
    let broken = Systemd { home: systemd.home.with_config("durabilty = \"synced\"\n") };
    assert_fails(&run(&broken.home, &["service", "install"]), 78, &["durabilty"]);
    assert!(!broken.unit().exists());

    let systemd = Systemd::new();
    systemd.answers("systemctl", "[ $2 = show ] || { echo 'no' >&2; echo 'memory' >&2; exit 1; }");
    let ran = run(&systemd.home, &["service", "install"]);
    let reason = "`systemctl --user daemon-reload` failed: no memory";
    assert_eq!((ran.code, ran.err), (Some(1), format!("error: {reason}\n")));

    fs::remove_file(systemd.home.path("bin/systemctl")).unwrap();
    let home = systemd.home.with("PATH", "/nowhere");
    assert_fails(&run(&home, &["service", "status"]), 1, &["systemctl", "needs systemd"]);
}

#[test]
fn service_without_a_bus_names_the_ways_and_writes_nothing() {
    let systemd = Systemd { home: Systemd::new().home.with("USER", "ann") };
    systemd.installed(&[]);
    let links = systemd.unit().with_file_name("default.target.wants");
    fs::create_dir(&links).unwrap();
    std::os::unix::fs::symlink(systemd.unit(), links.join("avocet.service")).unwrap();
    systemd.answers("systemctl", NO_BUS);
    systemd.answers("journalctl", "exit 0");
    let names = [
        "systemd runs no user services for ann here: Failed to connect to bus: No medium found; ",
        "log in with ssh instead of su, run `loginctl enable-linger ann`, or use",
        "`sudo avocet service install --system`",
    ];
    for command in ["status", "logs"] {
        assert_fails(&run(&systemd.home, &["service", command]), 69, &names);
    }
    systemd.answers("journalctl", "echo 'the log'");
    assert_eq!(run(&systemd.home, &["service", "logs"]).out, "the log\n");
    let ran = run(&systemd.home, &["service", "uninstall"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("the service was not stopped") && ran.err.contains(names[1]));
    assert!(!systemd.unit().exists() && !links.join("avocet.service").is_symlink());
    assert_fails(&run(&systemd.home, &["service", "install"]), 69, &names);
    assert!(!systemd.unit().exists());
}

#[test]
fn service_of_the_system_needs_root_and_an_open_path() {
    let home = Systemd::new().home;
    let install = as_nobody(&home, &["service", "install", "--system"]);
    let ran = end(start(install, b""));
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{ran:?}");
    let reasons = ["cannot see", "changed by root"];
    assert!(reasons.iter().any(|reason| ran.err.contains(reason)), "{ran:?}");
}

#[test]
fn service_status_shows_the_state_and_exits_with_69_unless_it_runs() {
    let systemd = Systemd::new();
    let ran = run(&systemd.home, &["service", "status"]);
    assert_fails(&ran, 69, &["there is no", UNIT, "`avocet service install` writes it"]);
    systemd.has_unit();
    let ran = run(&systemd.home, &["service", "status"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("active (running), process 4711\n"), "{}", ran.out);
    let ran = run(&systemd.home, &["service", "status", "--json"]);
    let expected = json!({
        "unit": systemd.unit(), "enabled": true, "state": "active", "pid": 4711,
        "status": "ready", "restarts": 2, "lingers": true,
    });
    assert_eq!(serde_json::from_str::<serde_json::Value>(&ran.out).unwrap(), expected);
    systemd.answers("systemctl", "echo FragmentPath=/x; echo ActiveState=failed; echo MainPID=0");
    let ran = run(&systemd.home, &["service", "status"]);
    assert_eq!(ran.code, Some(69), "{ran:?}");
    assert!(!ran.out.contains("process"), "{}", ran.out);
}

#[test]
fn service_uninstall_stops_the_service_and_removes_the_unit_only() {
    let systemd = Systemd::new();
    let ran = run(&systemd.home, &["service", "uninstall"]);
    assert_fails(&ran, 1, &["there is no", UNIT]);
    systemd.installed(&[]);
    systemd.calls();
    let ran = run(&systemd.home, &["service", "uninstall", "--dry-run"]);
    assert_eq!((ran.code, systemd.calls().len()), (Some(0), 0), "{ran:?}");
    assert!(systemd.unit().exists());
    let ran = run(&systemd.home, &["service", "uninstall"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    assert!(!systemd.unit().exists());
    let calls =
        [PROBE, "systemctl --user disable --now avocet.service", "systemctl --user daemon-reload"];
    assert_eq!(systemd.calls(), calls);
}

#[test]
fn service_logs_asks_the_journal_of_the_scope() {
    let systemd = Systemd::new();
    let of_system = "systemctl show --property=Version";
    let table: [(&[&str], &str, &str); 2] = [
        (&["-n", "7"], PROBE, "journalctl --no-pager --lines=7 --user-unit=avocet.service"),
        (
            &["--system", "-f"],
            of_system,
            "journalctl --no-pager --lines=50 --unit=avocet.service --follow",
        ),
    ];
    for (options, probe, call) in table {
        let ran = run(&systemd.home, &[&["service", "logs"], options].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "the log\n"), "{ran:?}");
        assert_eq!(systemd.calls(), [probe, call]);
    }
}
