//! Tests of a full and of a read-only disk: a tiny tmpfs in a separate mount namespace, which ends with its processes.
//! Messages that cannot be stored are refused. Accepted messages are answered once there is room
//! again.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use avocet_testkit::telegram::TelegramFake;
use avocet_tests::{DaemonProcess, Home, ProgramOutput, now, program};

use crate::support::{
    assert_names, end, log_status, printed, run, soon, start, status, stop, until,
};

/// A process that holds the disk's namespace for as long as its stdin is open.
struct Disk {
    holder: Child,
    mounted_at: PathBuf,
}

impl Disk {
    /// Mounts a disk of 2 MiB as the data directory; `None` if mounting is forbidden.
    fn mount(home: &Home) -> Option<Self> {
        let mounted_at = home.path("data");
        fs::create_dir(&mounted_at).unwrap();
        let script = "mount -t tmpfs -o size=2m,mode=700 tmpfs \"$0\" && echo mounted && exec cat";
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", script]);
        command.arg(&mounted_at).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = command.stderr(Stdio::piped()).spawn().ok()?;
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let disk = Self { holder, mounted_at };
        (line == "mounted\n").then_some(disk)
    }

    /// Returns a command that runs the program in the disk's namespace.
    fn command(&self, home: &Home, arguments: &[&str]) -> Command {
        let program = home.command(arguments);
        let mut command = Command::new("nsenter");
        command.arg(format!("--mount=/proc/{}/ns/mnt", self.holder.id()));
        command.arg(program.get_program()).args(program.get_args()).env_clear();
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(home.path(""));
        command
    }

    fn daemon(&self, home: &Home) -> DaemonProcess {
        let mut daemon = DaemonProcess::spawn(&mut self.command(home, &["run"]));
        daemon.wait_until_ready();
        daemon
    }

    /// Returns a path on the disk, from outside of the namespace.
    fn path(&self, below: &str) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.holder.id()));
        root.join(self.mounted_at.strip_prefix("/").unwrap()).join(below)
    }

    fn fill(&self) {
        let mut file = File::create(self.path("filler")).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    fn free(&self) {
        fs::remove_file(self.path("filler")).unwrap();
    }

    /// Runs a script in the namespace, with the directory of the disk as `$0`.
    fn run_script(&self, script: &str) {
        let mut command = Command::new("nsenter");
        command.arg(format!("--mount=/proc/{}/ns/mnt", self.holder.id()));
        let ended = command.args(["sh", "-ec", script]).arg(&self.mounted_at).output().unwrap();
        assert!(ended.status.success(), "{script}: {}", String::from_utf8_lossy(&ended.stderr));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // The namespace and its disk end with the last process in it.
        drop(self.holder.kill());
        drop(self.holder.wait());
    }
}

const CONFIG: &str = "data_dir = \"../../data\"\n[agents.defaults]\nworkspace = \"../../files\"\n\
                      [gateway]\nsocket = \"../../door/avocet.sock\"\n";

fn home() -> Home {
    Home::new(program!()).with_config(CONFIG)
}

fn with_disk(test: impl FnOnce(&Home, &Disk)) {
    let home = home();
    match Disk::mount(&home) {
        Some(disk) => test(&home, &disk),
        None => println!("not run: mounting is not permitted here"),
    }
}

const FULL: [&str; 3] = ["the disk that holds", "avocet.db is full", "free some space"];

/// Asks until the log refuses. Returns the numbers of the accepted messages.
fn ask_until_refused(home: &Home) -> Vec<String> {
    let mut accepted = Vec::new();
    for number in 0..10_000 {
        let ran = run(home, &["ask", "me", &format!("count to {}", number % 3 + 1), "--json"]);
        if ran.code != Some(0) {
            assert_eq!((ran.code, ran.out.as_str()), (Some(75), ""), "{ran:?}");
            assert_names(&ran.err, &FULL);
            return accepted;
        }
        let asked: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        accepted.push(asked["message"].as_str().unwrap().to_owned());
    }
    panic!("the log is never full");
}

/// Returns the outcome of every turn of the session, and its texts.
fn answers(home: &Home, disk: &Disk) -> Vec<String> {
    let show = disk.command(home, &["sessions", "show", "me", "--json"]);
    let ran = end(start(show, b""));
    let turns: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let steps = turns.as_array().unwrap().iter().map(|turn| {
        assert_eq!(turn["state"], "done", "{turn}");
        turn["steps"][0]["text"].as_str().unwrap().to_owned()
    });
    steps.collect()
}

#[track_caller]
fn until_all_is_answered(home: &Home) {
    until("the last answer", || {
        let log = log_status(home);
        (log["queued"] == 0 && log["running"] == 0).then_some(())
    });
}

#[test]
fn f35_full_disk_refuses_new_messages_and_loses_no_accepted_one() {
    with_disk(|home, disk| {
        let daemon = disk.daemon(home);
        assert_eq!(printed(home, &["ask", "me", "count to 1", "--wait"]), "1.\n");
        disk.fill();
        let accepted = ask_until_refused(home);
        // The daemon runs, answers queries, and still refuses messages.
        assert_eq!(status(home)["pid"], daemon.pid());
        for command in ["ask", "send"] {
            let ran = run(home, &[command, "me", "count to 2"]);
            assert_eq!(ran.code, Some(75));
            assert_names(&ran.err, &FULL);
        }
        disk.free();
        assert_eq!(printed(home, &["ask", "me", "count to 2", "--wait"]), "1, 2.\n");
        until_all_is_answered(home);
        let log = log_status(home);
        assert_eq!(log["messages"], accepted.len() + 2, "the log lacks refused messages");
        assert_eq!(answers(home, disk).len(), accepted.len() + 2);
        stop(daemon);
    });
}

/// Telegram keeps the update, because the answer to its request is an error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_disk_makes_a_webhook_answer_503_until_there_is_room() {
    let platform = TelegramFake::start("4711:AA-secret").await;
    platform.set_now(now());
    let bot = format!(
        "[channels.telegram]\ntoken = \"4711:AA-secret\"\napi_url = \"{}\"\nowners = [7]\n\
         webhook = \"https://bus.example\"\n[http]\nlisten = \"127.0.0.1:0\"\n\
         hosts = [\"bus.example\"]\n[http.tokens.phone]\ntoken = \"0123456789abcdef\"\n\
         chats = [\"*\"]\n",
        platform.base_url()
    );
    let home = home().with_config(&format!("{CONFIG}{bot}"));
    let Some(disk) = Disk::mount(&home) else {
        return println!("not run: mounting is not permitted here");
    };
    let mut daemon = DaemonProcess::spawn(&mut disk.command(&home, &["run"]));
    let line = daemon.wait_for("serving HTTP");
    let address = line.split_once("address=").unwrap().1.split_whitespace().next().unwrap();
    platform.deliver_to(Some(address.parse().unwrap()));
    daemon.wait_until_ready();
    disk.fill();
    ask_until_refused(&home);
    platform.private_text(7, "count to 3");
    let error = "Wrong response from the webhook: 503";
    until("the error", || (platform.webhook_info()["last_error_message"] == error).then_some(()));
    assert_eq!((platform.unconfirmed().len(), platform.sent().len()), (1, 0));
    daemon.wait_for("cannot commit an update; Telegram sends it again");
    disk.free();
    let sent = soon("the answer", platform.wait_for_sent(1)).await;
    assert_eq!(sent[0].text, "1, 2, 3.");
    soon("the confirmation", platform.wait_for_confirmed()).await;
    until_all_is_answered(&home);
    stop(daemon);
}

#[test]
fn full_disk_delays_an_answer_until_there_is_room() {
    with_disk(|home, disk| {
        let mut daemon = disk.daemon(home);
        let waiting = start(home.command(&["ask", "me", "count to 3", "--wait"]), b"");
        until("the turn", || (log_status(home)["running"] == 1).then_some(()));
        disk.fill();
        daemon.wait_for("cannot write the log; retrying");
        disk.free();
        let answered = end(waiting);
        assert_eq!((answered.code, answered.out.as_str()), (Some(0), "1, 2, 3.\n"));
        stop(daemon);
    });
}

#[test]
fn f35_full_disk_and_kill_resume_once_there_is_room() {
    with_disk(|home, disk| {
        let mut daemon = disk.daemon(home);
        printed(home, &["ask", "me", "count to 2"]);
        printed(home, &["ask", "me", "count to 3"]);
        until("the turn", || (log_status(home)["running"] == 1).then_some(()));
        disk.fill();
        daemon.wait_for("cannot write the log; retrying");
        daemon.kill();
        let ran = end(start(disk.command(home, &["run"]), b""));
        assert_eq!(ran.code, Some(75), "{ran:?}");
        let error = ran.err.lines().last().unwrap();
        assert_names(error, &FULL);
        disk.free();
        let daemon = disk.daemon(home);
        until_all_is_answered(home);
        assert_eq!(answers(home, disk), ["1, 2.", "1, 2, 3."]);
        stop(daemon);
    });
}

#[test]
fn full_disk_is_reported_by_status_doctor_and_one_log_line() {
    with_disk(|home, disk| {
        let mut daemon = disk.daemon(home);
        assert_eq!(printed(home, &["ask", "me", "count to 1", "--wait"]), "1.\n");
        assert_eq!(run(home, &["status"]).code, Some(0));
        disk.fill();
        for _ in 0..40 {
            ask_until_refused(home);
        }
        let found = status(home);
        let writes = &found["disk"]["writes"];
        assert!(found["disk"]["fault"].as_str().unwrap().contains("avocet.db is full"), "{found}");
        assert!(writes["failure"]["in_a_row"].as_u64() >= Some(40), "{found}");
        assert!(writes["success"].is_number() && found["disk"]["free_bytes"] == 0, "{found}");
        let shown = run(home, &["status"]);
        assert!(
            shown.code == Some(76) && shown.out.contains("disk            down: "),
            "{shown:?}"
        );
        let doctor = run(home, &["doctor", "--json"]);
        let checks: serde_json::Value = serde_json::from_str(&doctor.out).unwrap();
        let data = checks["avocet"].as_array().unwrap().iter().find(|one| one["name"] == "data");
        assert_eq!((doctor.code, &data.unwrap()["state"]), (Some(76), &"bad".into()), "{checks}");
        let lines = daemon.logged("cannot write the log");
        assert!((1..5).contains(&lines), "{lines} lines for as many refusals as there were");
        disk.free();
        // Without any new message, the status finds out that there is room again.
        until("the end of it", || (run(home, &["status"]).code == Some(0)).then_some(()));
        assert_eq!(daemon.logged("the log can be written again"), 1);
        stop(daemon);
    });
}

const READ_ONLY: &str = "is read-only";

/// Returns the check of the data directory by `avocet doctor`, and its exit code.
fn check_of_data(ran: &ProgramOutput) -> (Option<i32>, serde_json::Value) {
    let checks: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let data = checks["avocet"].as_array().unwrap().iter().find(|one| one["name"] == "data");
    (ran.code, data.unwrap().clone())
}

#[test]
fn read_only_disk_prevents_the_start_and_is_named_by_status_and_doctor() {
    with_disk(|home, disk| {
        let daemon = disk.daemon(home);
        assert_eq!(printed(home, &["ask", "me", "count to 1", "--wait"]), "1.\n");
        stop(daemon);
        disk.run_script("mount -o remount,ro \"$0\"");
        let in_namespace = |arguments: &[&str]| end(start(disk.command(home, arguments), b""));
        let started = in_namespace(&["run"]);
        assert_eq!(started.code, Some(75), "{started:?}");
        let error = started.err.lines().last().unwrap();
        assert_names(error, &["the disk that holds", READ_ONLY, "make it writable"]);
        let shown = in_namespace(&["status"]);
        let row = shown.out.lines().find(|line| line.starts_with("disk ")).unwrap();
        assert!(row.contains("down: the disk that holds ") && row.contains(READ_ONLY), "{row}");
        let listed = in_namespace(&["sessions", "list"]);
        assert!(listed.code == Some(0) && listed.out.contains("me"), "{listed:?}");
        let (_, data) = check_of_data(&in_namespace(&["doctor", "--json"]));
        assert!(
            data["state"] == "bad" && data["says"].as_str().unwrap().contains(READ_ONLY),
            "{data}"
        );
        disk.run_script("mount -o remount,rw \"$0\"");
        let daemon = disk.daemon(home);
        assert_eq!(printed(home, &["ask", "me", "count to 2", "--wait"]), "1, 2.\n");
        stop(daemon);
    });
}

/// The kernel refuses to make a mount read-only while files are open for writing, so another mount of
/// the disk covers it.
#[test]
fn read_only_disk_below_a_running_daemon_is_shown_until_it_is_writable() {
    with_disk(|home, disk| {
        let daemon = disk.daemon(home);
        assert_eq!(run(home, &["status"]).code, Some(0));
        disk.run_script("mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\"");
        let shown = run(home, &["status"]);
        let row = shown.out.lines().find(|line| line.starts_with("disk ")).unwrap();
        assert!(row.contains("down: the disk that holds ") && row.contains(READ_ONLY), "{row}");
        assert_eq!(shown.code, Some(76), "{shown:?}");
        let (code, data) = check_of_data(&run(home, &["doctor", "--json"]));
        assert_eq!((code, &data["state"]), (Some(76), &"bad".into()), "{data}");
        assert!(data["says"].as_str().unwrap().contains(READ_ONLY), "{data}");
        disk.run_script("umount \"$0\"");
        assert_eq!(run(home, &["status"]).code, Some(0));
        assert_eq!(printed(home, &["ask", "me", "count to 2", "--wait"]), "1, 2.\n");
        stop(daemon);
    });
}
