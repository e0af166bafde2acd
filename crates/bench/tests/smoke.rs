//! The bench itself, with small loads, against the real program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The figures of each part, with small loads.
const FIGURES: [&str; 17] = [
    "at_once.seconds",
    "disk.sync_us",
    "idle.wake_ups",
    "ledger.ratio",
    "length.ratio",
    "log.reads",
    "log.wal_kb",
    "log.writes",
    "memory.0.anonymous_mib",
    "memory.3.rss_mib",
    "program.version_ms",
    "ready.long_ms",
    "request.bytes",
    "text.process.1.speed",
    "text.synced.2.p95_ms",
    "text.synced.4.cpu_ms",
    "tool.cpu_ms",
];

/// Returns the program that the tests of the workspace have built beside the bench.
fn program() -> PathBuf {
    let bench = Path::new(env!("CARGO_BIN_EXE_avocet-bench"));
    let names = ["avocet-under-test", "avocet"].map(|name| bench.with_file_name(name));
    let built = names.into_iter().find(|path| path.is_file());
    built.expect("build a program first: cargo build -p avocet-tests --bin avocet-under-test")
}

#[test]
fn bench_with_quick_loads_gives_each_figure_and_leaves_nothing() {
    let directory = tempfile::TempDir::new().unwrap();
    let mut bench = Command::new(env!("CARGO_BIN_EXE_avocet-bench"));
    bench.args(["--quick", "--runs", "1", "--idle", "1", "--sessions", "1,2", "--json"]);
    bench.arg("--program").arg(program()).arg("--data-dir").arg(directory.path());
    let ran = bench.output().unwrap();
    let error = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{error}");
    let result: Value = serde_json::from_slice(&ran.stdout).unwrap();
    for name in FIGURES {
        let figure = &result["figures"][name];
        let runs = figure["runs"].as_array().map(Vec::len);
        assert!(runs == Some(1) && figure["median"].is_f64(), "{name}: {figure}");
    }
    assert_eq!(result["quick"], true);
    let left: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
