//! Runs the daemon twice: once with a log of its statements and under strace, and once with an
//! allocator that counts. A log of statements would add its own allocations.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use avocet_testkit::openai::OpenAiFake;
use avocet_tests::{ALLOCATIONS, DaemonProcess, Home};

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
    }
    let (status, log) = daemon.stop();
    assert!(status.success(), "{status}: {log}");
    assert_eq!(model.refusals(), [""; 0]);
    counts
}

fn home(model: &OpenAiFake, level: &str) -> Home {
    Home::new(env!("CARGO_BIN_EXE_avocet-counted")).with_config(&format!(
        "[log]\nlevel = \"{level}\"\n[models.\"fake/*\"]\ncontext = 65_536\n[providers.fake]\nkind = \"openai\"\nbase_url = \"{}\"\n\
         [agents.defaults]\nmodel = \"fake/fake\"\n",
        model.base_url()
    ))
}

/// Fills the workspace with the file that the model reads, and with the instructions that each turn
/// reads.
fn prepare(home: &Home) {
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
