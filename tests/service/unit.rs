//! Tests of the shipped unit: systemd accepts it, and its settings fit the program. Also tests the
//! credentials that systemd passes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use avocet_config::ConfigSettings;
use avocet_testkit::openai::{KEY, ModelAnswer, OpenAiFake};
use avocet_tests::{Home, program};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::chat::AttachedChat;
use crate::model::config;
use crate::patience::stop;

const UNIT: &str = include_str!("../../systemd/avocet.service");
const USER_UNIT: &str = include_str!("../../systemd/avocet.user.service");
const SYSUSERS: &str = include_str!("../../systemd/avocet.sysusers");

/// The time beyond the drain deadline: turns are released, deliveries end.
const AFTER_THE_DRAIN: u64 = 15;

/// Returns the values of a setting, which may be given several times.
fn values(setting: &str) -> Vec<&'static str> {
    let settings = UNIT.lines().filter_map(|line| line.split_once('='));
    settings.filter(|(name, _)| *name == setting).map(|(_, value)| value).collect()
}

/// Returns the value of a setting that is given once.
fn value(setting: &str) -> &'static str {
    let [value] = values(setting)[..] else { panic!("{setting}={:?}", values(setting)) };
    value
}

/// Parses a span of systemd.time(7), in the forms that the unit uses.
fn seconds(setting: &str) -> u64 {
    let span = value(setting);
    match span.strip_suffix("min") {
        Some(minutes) => minutes.parse::<u64>().unwrap() * 60,
        None => span.parse().unwrap(),
    }
}

#[test]
fn unit_passes_systemd_analyze_verify() {
    // systemd looks for the program, which may be missing here.
    let (installed, rest) = value("ExecStart").split_once(' ').unwrap();
    assert!(Path::new(installed).is_absolute(), "{installed}");
    let unit = UNIT.replace(
        &format!("ExecStart={installed} {rest}"),
        &format!("ExecStart={} {rest}", program!()),
    );
    assert!(unit.contains(program!()));
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("avocet.service");
    fs::write(&path, unit).unwrap();
    let verify = Command::new("systemd-analyze").arg("verify").arg("--man=no").arg(path).output();
    let verify = verify.unwrap_or_else(|error| {
        panic!("systemd-analyze cannot be run ({error}); it is in the package `systemd`")
    });
    let says = [verify.stdout, verify.stderr].map(|said| String::from_utf8(said).unwrap()).concat();
    assert_eq!((verify.status.code(), says.as_str()), (Some(0), ""));
}

/// The rating of `systemd-analyze security`, in tenths, that the unit may have.
const EXPOSURE: &str = "25";

#[test]
fn unit_exposure_is_at_most_2_5() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("avocet.service");
    fs::write(&path, UNIT).unwrap();
    let threshold = format!("--threshold={EXPOSURE}");
    let mut rate = Command::new("systemd-analyze");
    let rate = rate.args(["security", "--offline=yes", "--no-pager", &threshold]).arg(path);
    let rated = rate.output().unwrap();
    let says = String::from_utf8(rated.stdout).unwrap();
    assert!(rated.status.success(), "{says}");
    assert!(says.contains("Overall exposure level for avocet.service: "), "{says}");
}

/// Each right that the unit leaves has its reason in a comment.
#[test]
fn unit_comments_name_each_setting_that_weakens_its_rating() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("avocet.service");
    fs::write(&path, UNIT).unwrap();
    let mut rate = Command::new("systemd-analyze");
    let rate = rate.args(["security", "--offline=yes", "--no-pager", "--json=short"]).arg(path);
    let rows: Vec<serde_json::Value> =
        serde_json::from_slice(&rate.output().unwrap().stdout).unwrap();
    let comments: String = UNIT.lines().filter(|line| line.starts_with('#')).collect();
    for row in rows.iter().filter(|row| row["exposure"].is_string()) {
        let name = row["name"].as_str().unwrap().split('=').next().unwrap();
        // The lists of addresses and of system calls have separate comments.
        let is_known = comments.contains(&format!("{name}=")) || name == "IPAddressDeny";
        assert!(is_known || name == "SystemCallFilter", "no reason for {row}");
    }
}

#[test]
fn user_unit_passes_systemd_analyze_verify_and_has_the_limits_of_the_other() {
    let unit = USER_UNIT.replace("%h/.cargo/bin/avocet", program!());
    assert!(unit.contains(program!()));
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("avocet.service");
    fs::write(&path, unit).unwrap();
    let mut verify = Command::new("systemd-analyze");
    let verify = verify.args(["verify", "--user", "--man=no"]).arg(path);
    let verify = verify.env("XDG_RUNTIME_DIR", directory.path()).output().unwrap();
    let says = [verify.stdout, verify.stderr].map(|said| String::from_utf8(said).unwrap()).concat();
    assert!(verify.status.success() && !says.contains("avocet.service:"), "{says}");
    let common = [
        "Type",
        "NotifyAccess",
        "TimeoutStartSec",
        "WatchdogSec",
        "TimeoutStopSec",
        "KillMode",
        "Restart",
        "RestartSec",
        "RestartPreventExitStatus",
        "UMask",
        "LimitCORE",
        "OOMPolicy",
        "Delegate",
        "NoNewPrivileges",
    ];
    for name in common {
        let setting = format!("\n{name}={}\n", value(name));
        assert!(USER_UNIT.contains(&setting), "{setting} is not in the unit of users");
    }
}

#[test]
fn unit_settings_match_the_program() {
    let table = [
        // The started process itself reports that it is ready.
        ("Type", "notify"),
        ("NotifyAccess", "main"),
        // At a stop, the program ends the processes of its tools itself.
        ("KillMode", "mixed"),
        ("Restart", "on-failure"),
        ("StateDirectory", "avocet"),
        ("StateDirectoryMode", "0700"),
        ("UMask", "0077"),
        // The daemon opens it to the group of the socket.
        ("RuntimeDirectory", "avocet"),
        ("RuntimeDirectoryMode", "0700"),
        ("LogsDirectory", "avocet"),
        ("LimitCORE", "0"),
    ];
    for (setting, expected) in table {
        assert_eq!(value(setting), expected, "{setting}");
    }
    // Its programs have namespaces, mounts in them, and a control group each.
    let all = |setting: &str| values(setting).join(" ");
    for (setting, needed) in [
        ("RestrictNamespaces", "user pid mnt net ipc uts"),
        ("RestrictAddressFamilies", "AF_UNIX AF_INET AF_INET6 AF_NETLINK"),
        ("SystemCallFilter", "@mount sethostname landlock_create_ruleset landlock_add_rule"),
        ("SystemCallFilter", "landlock_restrict_self seccomp"),
        ("Delegate", "memory pids"),
    ] {
        let has = all(setting);
        let missing = needed.split(' ').find(|one| !has.split(' ').any(|other| other == *one));
        assert_eq!(missing, None, "{setting}={has}");
    }
    for hindrance in [
        "MemoryDenyWriteExecute",
        "ProtectControlGroups",
        "ProtectHostname",
        "ProtectKernelLogs",
        "ProtectKernelTunables",
        "ProcSubset",
    ] {
        assert_eq!(all(hindrance), "", "{hindrance}");
    }
    assert!(seconds("WatchdogSec") > 0);
    assert!(seconds("RestartSec") > 0);
}

/// systemd refuses a dynamic user whose name is that of a group.
#[test]
fn sysusers_create_the_group_of_the_socket_which_is_not_the_dynamic_user() {
    let entries = SYSUSERS.lines().filter(|line| !line.starts_with('#'));
    let entries: Vec<&str> = entries.collect();
    assert_eq!(entries, ["g avocet-clients -"]);
    assert_ne!(value("User"), "avocet-clients");
    assert!(UNIT.contains("#   SupplementaryGroups=avocet-clients\n"));
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("avocet.conf");
    fs::write(&path, SYSUSERS).unwrap();
    let checked = Command::new("systemd-sysusers").arg("--dry-run").arg(&path).output().unwrap();
    let says = String::from_utf8(checked.stderr).unwrap();
    assert!(checked.status.success() && !says.contains("Ignoring"), "{says}");
}

#[test]
fn f25_unit_stop_timeout_exceeds_the_drain() {
    let drain = ConfigSettings::default().daemon.drain_seconds;
    assert!(seconds("TimeoutStopSec") > drain + AFTER_THE_DRAIN, "the default drain is {drain} s");
}

#[test]
fn unit_does_not_restart_after_permanent_failures() {
    let not_mended: BTreeSet<i32> =
        value("RestartPreventExitStatus").split(' ').map(|code| code.parse().unwrap()).collect();
    let failures: [fn(&Home); 3] = [damage_the_database, make_the_database_newer, mistype_a_key];
    let mut codes = BTreeSet::new();
    for spoil in failures {
        let home = Home::new(program!());
        fs::create_dir_all(home.data_dir()).unwrap();
        spoil(&home);
        let ran = home.run(&["run"]);
        assert!(not_mended.contains(&ran.code.unwrap()), "{ran:?}");
        codes.insert(ran.code.unwrap());
    }
    let home = Home::new(program!());
    let mut daemon = home.daemon();
    fs::remove_dir_all(home.data_dir()).unwrap();
    let (status, log) = daemon.wait();
    assert!(not_mended.contains(&status.code().unwrap()), "{log}");
    codes.insert(status.code().unwrap());
    assert_eq!(codes, not_mended);
}

fn damage_the_database(home: &Home) {
    fs::write(home.data_dir().join("avocet.db"), "no database, by any means".repeat(100)).unwrap();
}

fn make_the_database_newer(home: &Home) {
    let log = Connection::open(home.data_dir().join("avocet.db")).unwrap();
    log.pragma_update(None, "user_version", 1_000_000).unwrap();
}

fn mistype_a_key(home: &Home) {
    let directory = home.path(".config/avocet");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("config.toml"), "durabilty = \"synced\"\n").unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unit_keeps_the_log_in_the_state_directory() {
    let home = Home::new(program!());
    let (state, file) = (home.path("state"), home.path("elsewhere.toml"));
    fs::create_dir(&state).unwrap();
    fs::write(&file, "").unwrap();
    let home = home.with("STATE_DIRECTORY", state.to_str().unwrap());
    let arguments = value("ExecStart").split(' ').skip(1).map(|argument| match argument {
        "/etc/avocet/config.toml" => file.to_str().unwrap(),
        argument => argument,
    });
    let mut daemon = home.spawn(&arguments.collect::<Vec<_>>());
    daemon.wait_until_ready();
    for made in ["avocet.db", "workspace", "run/avocet.sock"] {
        assert!(state.join(made).exists(), "{made}");
    }
    assert!(!home.data_dir().exists());
    stop(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unit_credential_reaches_only_the_provider() {
    const WRONG: &str = "sk-wrong-0987654321";
    // The fake repeats a wrong key in its error, as some providers do.
    for (secret, answer) in [(KEY, "Welcome."), (WRONG, "I could not answer: ")] {
        let model = OpenAiFake::start(|_| ModelAnswer::says("Welcome.")).await;
        let home = Home::new(program!());
        let credentials = home.path("credentials");
        fs::create_dir(&credentials).unwrap();
        fs::write(credentials.join("openai"), format!("{secret}\n")).unwrap();
        let table = "[providers.fake]\napi_key = \"${credential:openai}\"";
        let text = config(&model, "").replace("[providers.fake]", table);
        let home =
            home.with_config(&text).with("CREDENTIALS_DIRECTORY", credentials.to_str().unwrap());
        let mut daemon = home.spawn(&["run", "--log", "trace"]);
        daemon.wait_until_ready();
        let chat = AttachedChat::join(&home, "ann").await;
        chat.ask("May I come in?").await;
        let said = chat.reply().await.text;
        assert!(said.starts_with(answer), "{said}");
        let refused: Vec<String> = (secret == WRONG)
            .then(|| format!("Incorrect API key provided: {WRONG}."))
            .into_iter()
            .collect();
        assert_eq!(model.refusals(), refused, "the provider's refusals");

        let commands: [&[&str]; 4] = [
            &["status", "--json"],
            &["sessions", "show", "ann", "--json"],
            &["config", "check", "--json"],
            &["config", "check"],
        ];
        for command in commands {
            let ran = home.run(command);
            // A provider that refuses the key is down.
            let is_down = secret == WRONG && command[0] == "status";
            assert_eq!(ran.code, Some(if is_down { 76 } else { 0 }), "{ran:?}");
            assert!(!format!("{ran:?}").contains(secret), "{command:?} shows it: {ran:?}");
        }
        assert!(!said.contains(secret), "the chat sees it: {said}");
        assert!(home.data_dir().join("avocet.db-wal").exists(), "the checked file exists");
        is_in_no_file(&home.data_dir(), secret);
        let (_, log) = stop(daemon).await;
        assert!(!log.contains(secret), "the log shows it: {log}");
        is_in_no_file(&home.data_dir(), secret);
    }
}

fn is_in_no_file(directory: &Path, secret: &str) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            is_in_no_file(&entry.path(), secret);
        } else if kind.is_file() {
            let bytes = fs::read(entry.path()).unwrap();
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{} contains it", entry.path().display());
        }
    }
}
