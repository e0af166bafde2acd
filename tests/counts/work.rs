//! Runs the daemon twice: once with a log of its statements and under strace, and once with an
//! allocator that counts. A log of statements would add its own allocations.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use avocet_testkit::openai::OpenAiFake;
use avocet_tests::{ALLOCATIONS, DaemonProcess, Home};
use rusqlite::{Connection, OpenFlags};

use crate::counts::Counts;
use crate::log::{self, StatementCounts};
use crate::turns::{COUNTED, CountedChat, TurnKind, WARM_UP, median, start_model};

/// Counts the transactions, the statements and the opened files of a turn.
pub(crate) async fn logged_and_traced() -> Counts {
    let model = start_model().await;
    let home = home(&model, "info,avocet_store=trace");
    let trace = home.path("trace");
    let mut daemon = DaemonProcess::spawn(&mut traced(&home, &trace));
    daemon.wait_until_ready();
    prepare(&home);
    let mut counts = Counts::default();
    for kind in TurnKind::ALL {
        let chat = CountedChat::join(&home, kind.name(), kind).await;
        counts.add(kind.name(), "file_opens", chat.median(|| opens(&trace)).await);
    }
    let (status, log) = daemon.stop();
    assert!(status.success(), "{status}: {log}");
    assert_eq!(model.refusals(), [""; 0]);
    let turns = log::by_turn(&log);
    assert_eq!(turns.len(), TurnKind::ALL.len() * (WARM_UP + COUNTED), "turns in the log:\n{log}");
    for (kind, turns) in TurnKind::ALL.into_iter().zip(turns.chunks(WARM_UP + COUNTED)) {
        let median_of = |count: fn(&StatementCounts) -> u64| {
            median(turns[WARM_UP..].iter().map(count).collect())
        };
        counts.add(kind.name(), "statements", median_of(|turn| turn.statements));
        counts.add(kind.name(), "write_transactions", median_of(|turn| turn.write_transactions));
        counts.add(kind.name(), "read_transactions", median_of(|turn| turn.read_transactions));
    }
    counts
}

/// Counts the bytes and tools of the first request in an empty workspace, and the allocations of a
/// turn.
pub(crate) async fn allocated_and_sent() -> Counts {
    let model = start_model().await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let home = home(&model, "info").with(ALLOCATIONS, &address);
    let daemon = home.daemon();
    let mut program = listener.accept().unwrap().0;
    let mut counts = Counts::default();
    CountedChat::join(&home, "first", TurnKind::Text).await.turn().await;
    let first = &model.requests()[0];
    counts.add("request_for_hi", "bytes", first.to_string().len() as u64);
    counts.add("request_for_hi", "tools", first["tools"].as_array().unwrap().len() as u64);
    prepare(&home);
    for kind in TurnKind::ALL {
        let chat = CountedChat::join(&home, kind.name(), kind).await;
        let allocations = chat.median(|| allocations(&mut program)).await;
        counts.add(kind.name(), "allocations", allocations);
        let mut frames = WalFrames::default();
        let frames = chat.median(|| frames.count_written(&home)).await;
        counts.add(kind.name(), "wal_frames", frames);
        let bytes = chat.median(|| row_bytes(&home)).await;
        counts.add(kind.name(), "row_bytes", bytes);
    }
    let (status, log) = daemon.stop();
    assert!(status.success(), "{status}: {log}");
    assert_eq!(model.refusals(), [""; 0]);
    counts
}

fn home(model: &OpenAiFake, level: &str) -> Home {
    home_of(env!("CARGO_BIN_EXE_avocet-counted"), model, level)
}

/// Returns a home for a program that talks to this model.
pub(crate) fn home_of(program: &'static str, model: &OpenAiFake, level: &str) -> Home {
    Home::new(program).with_config(&format!(
        "[log]\nlevel = \"{level}\"\n[models.\"fake/*\"]\ncontext = 65_536\n[providers.fake]\nkind = \"openai\"\nbase_url = \"{}\"\n\
         [agents.defaults]\nmodel = \"fake/fake\"\n",
        model.base_url()
    ))
}

/// Fills the workspace with the file that the model reads, and with the instructions that each turn
/// reads.
pub(crate) fn prepare(home: &Home) {
    for name in ["notes.txt", "AGENTS.md", "SOUL.md", "TOOLS.md", "USER.md"] {
        fs::write(home.workspace().join(name), "Bread, milk and eggs.\n").unwrap();
    }
}

/// Returns the daemon under strace, which is a grandchild (`-D`), so that signals reach the daemon.
fn traced(home: &Home, trace: &Path) -> Command {
    let strace = Command::new("strace").arg("-V").output();
    assert!(strace.is_ok(), "cannot run strace: {strace:?}; tests/run installs it");
    let daemon = home.command(&["run"]);
    let mut command = Command::new("strace");
    command.args(["-D", "-f", "-qq", "-e", "trace=creat,open,openat,openat2", "-o"]).arg(trace);
    command.arg("--").arg(daemon.get_program()).args(daemon.get_args()).env_clear();
    command.envs(daemon.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(home);
    command
}

/// Counts the calls that open a file, successful or not. A call that another thread interrupts has
/// a second line, which says "resumed".
fn opens(trace: &Path) -> u64 {
    let trace = fs::read_to_string(trace).unwrap();
    let calls = trace.lines().filter(|line| line.contains("open") || line.contains("creat"));
    calls.filter(|line| !line.contains("resumed>")).count() as u64
}

fn allocations(program: &mut TcpStream) -> u64 {
    let mut count = [0; 8];
    program.write_all(&[0]).unwrap();
    program.read_exact(&mut count).unwrap();
    u64::from_le_bytes(count)
}

/// Counts the frames in the `-wal` over the restarts of the file.
#[derive(Debug, Default)]
struct WalFrames {
    last: u64,
    written: u64,
}

impl WalFrames {
    /// Returns the frames that were written between the first call and this one.
    fn count_written(&mut self, home: &Home) -> u64 {
        // The header of the index has the number of valid frames in bytes 16 to 19 (SQLite, "WAL-mode
        // File Format", 2.1).
        let index = fs::read(home.data_dir().join("avocet.db-shm")).unwrap();
        let frames = u64::from(u32::from_ne_bytes(index[16..20].try_into().unwrap()));
        self.written += if frames < self.last { frames } else { frames - self.last };
        self.last = frames;
        self.written
    }
}

/// Returns the bytes of all rows and of all entries of indices.
fn row_bytes(home: &Home) -> u64 {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let log = Connection::open_with_flags(home.data_dir().join("avocet.db"), flags).unwrap();
    log.query_row("SELECT sum(payload) FROM dbstat", (), |row| row.get(0)).unwrap()
}
