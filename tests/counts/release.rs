//! Counts what the program of the profile `release` weighs: its bytes, its text in memory, and the
//! instructions of a turn. Only an optimised program shows them, and its build takes minutes, so it is
//! built outside: `.ci/run` names it in `AVOCET_RELEASE_PROGRAM`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use avocet_tests::{DaemonProcess, Home};

use crate::counts::Counts;
use crate::turns::{CountedChat, TurnKind, start_model};
use crate::work::{home_of, prepare};

/// The name in `counts.toml`.
pub(crate) const WORK: &str = "release_program";
const VARIABLE: &str = "AVOCET_RELEASE_PROGRAM";

/// Returns the program to count; `None` if nobody has built one.
#[expect(clippy::disallowed_methods, reason = "whoever has built the program says where it is")]
pub(crate) fn named_program() -> Option<&'static str> {
    let program = std::env::var(VARIABLE).ok()?;
    Some(Box::leak(program.into_boxed_str()))
}

/// Counts bytes, resident pages and instructions of a program.
pub(crate) async fn counted(program: &'static str) -> Counts {
    let mut counts = Counts::default();
    let size = fs::metadata(program);
    let size = size.unwrap_or_else(|error| panic!("cannot read {VARIABLE}={program}: {error}"));
    counts.add(WORK, "bytes", size.len());
    counts.add(WORK, "resident_text_kilobytes", resident_text(program).await);
    counts.extend(instructions(program).await);
    counts
}

/// Counts the kilobytes of the program's text that a start and turns of each kind leave in memory.
async fn resident_text(program: &'static str) -> u64 {
    // What is not in the page cache yet would be mapped page by page.
    drop(fs::read(program).unwrap());
    let model = start_model().await;
    let home = home_of(program, &model, "info");
    let daemon = home.daemon();
    prepare(&home);
    for kind in TurnKind::ALL {
        CountedChat::join(&home, kind.name(), kind).await.median(|| 0).await;
    }
    let maps = fs::read_to_string(format!("/proc/{}/smaps", daemon.pid())).unwrap();
    assert!(daemon.stop().0.success());
    let program = Path::new(program).canonicalize().unwrap();
    text_in(&maps, program.to_str().unwrap())
}

/// Adds up the resident kilobytes of the executable mappings of a file. The format is that of proc(5).
fn text_in(maps: &str, file: &str) -> u64 {
    let mut is_text = false;
    let mut sum = 0;
    for line in maps.lines() {
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        match words[..] {
            ["Rss:", kilobytes, "kB"] if is_text => sum += kilobytes.parse::<u64>().unwrap(),
            [_, flags, _, _, _, path] => is_text = flags.contains('x') && path == file,
            _ => {}
        }
    }
    sum
}

/// Counts the instructions of a turn of each kind with callgrind, a tool of valgrind.
async fn instructions(program: &'static str) -> Counts {
    let model = start_model().await;
    let home = home_of(program, &model, "info");
    let mut daemon = DaemonProcess::spawn(&mut under_callgrind(&home, program));
    daemon.wait_until_ready();
    prepare(&home);
    let mut counts = Counts::default();
    let mut instructions =
        Instructions { daemon: daemon.pid(), traces: home.path("traces"), dumps: 0, sum: 0 };
    for kind in TurnKind::ALL {
        let chat = CountedChat::join(&home, kind.name(), kind).await;
        let median = chat.median(|| instructions.count()).await;
        counts.add(WORK, &format!("{}_instructions", kind.name()), median);
    }
    let (status, log) = daemon.stop();
    assert!(status.success(), "{status}: {log}");
    counts
}

fn under_callgrind(home: &Home, program: &str) -> Command {
    let daemon = home.command(&["run"]);
    let mut command = Command::new("valgrind");
    let traces = home.path("traces");
    fs::create_dir(&traces).unwrap();
    command.args(["-q", "--tool=callgrind"]);
    command.arg(format!("--callgrind-out-file={}/dump", traces.display()));
    command.arg(program).args(daemon.get_args()).env_clear();
    command.envs(daemon.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(home);
    command
}

/// The instructions of a daemon under callgrind since its start.
struct Instructions {
    daemon: u32,
    traces: PathBuf,
    dumps: u32,
    sum: u64,
}

impl Instructions {
    /// Returns the sum so far. A dump has the instructions since the dump before.
    fn count(&mut self) -> u64 {
        let mut control = Command::new("callgrind_control");
        control.arg("--dump").arg(self.daemon.to_string());
        // These are in the names of the pipes to valgrind, which runs without them, as the daemon does.
        for name in ["TMPDIR", "USER", "LOGNAME", "HOST", "HOSTNAME"] {
            control.env_remove(name);
        }
        let dumped = control.output();
        let dumped = dumped
            .unwrap_or_else(|error| panic!("cannot run callgrind_control of valgrind: {error}"));
        assert!(dumped.status.success(), "{dumped:?}");
        self.dumps += 1;
        let dump = fs::read_to_string(self.traces.join(format!("dump.{}", self.dumps)));
        let dump = dump.unwrap_or_else(|error| panic!("no dump: {error}; {dumped:?}"));
        let totals = dump.lines().find_map(|line| line.strip_prefix("totals: "));
        self.sum += totals.unwrap().trim().parse::<u64>().unwrap();
        self.sum
    }
}

#[test]
fn text_in_adds_up_the_executable_mappings_of_the_program() {
    let maps = "55d0-55e0 r--p 00000000 fe:00 12   /usr/bin/avocet\nSize:  4 kB\nRss:   4 kB\n\
        55e0-55f0 r-xp 00001000 fe:00 12   /usr/bin/avocet\nSize:  64 kB\nRss:   48 kB\n\
        VmFlags: rd ex mr mw me sd\n\
        7f00-7f10 r-xp 00000000 fe:00 13   /usr/lib/libc.so.6\nRss:   900 kB\n\
        7ffc-7ffd rw-p 00000000 00:00 0    [stack]\nRss:   16 kB\n";
    assert_eq!(text_in(maps, "/usr/bin/avocet"), 48);
    assert_eq!(text_in(maps, "/usr/bin/other"), 0);
}
