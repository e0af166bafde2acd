//! The bench itself, with small loads, against the real program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The figures of each part, with small loads.
const FIGURES: [&str; 22] = [
    "at_once.seconds",
    "busy.ratio",
    "disk.sync_us",
    "idle.wake_ups",
    "ledger.ratio",
    "length.ratio",
    "long_answers.ratio",
    "log.reads",
    "log.wal_kb",
    "log.writes",
    "memories.ratio",
    "memory.0.anonymous_mib",
    "memory.3.rss_mib",
    "program.version_ms",
    "ready.long_ms",
    "request.bytes",
    "switch.cpu_ms",
    "text.process.1.speed",
    "text.synced.2.p95_ms",
    "text.synced.4.cpu_ms",
    "tool.cpu_ms",
    "tool.many.speed",
];

/// Returns the program that the tests of the workspace have built beside the bench.
fn program() -> PathBuf {
    let bench = Path::new(env!("CARGO_BIN_EXE_avocet-bench"));
    let names = ["avocet-under-test", "avocet"].map(|name| bench.with_file_name(name));
    let built = names.into_iter().find(|path| path.is_file());
    built.expect("build a program first: cargo build -p avocet-tests --bin avocet-under-test")
}

/// A peer that asks the model for each line, and echoes the line before.
const PEER: &str = r#"import json, os, sys, urllib.request
for line in sys.stdin:
    print("you said:", line.strip())
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": line}]})
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(os.environ["MODEL_URL"] + "/chat/completions", body.encode(), headers)
    answer = json.load(urllib.request.urlopen(request))
    print(answer["choices"][0]["message"]["content"], flush=True)
"#;

#[test]
fn bench_measures_a_peer_beside_the_program() {
    let directory = tempfile::TempDir::new().unwrap();
    let script = directory.path().join("peer.py");
    fs::write(&script, PEER).unwrap();
    let mut bench = Command::new(env!("CARGO_BIN_EXE_avocet-bench"));
    bench.args(["--quick", "--runs", "1", "--only", "request", "--peer"]);
    bench.arg(format!("script=python3 {}", script.display()));
    bench.arg("--program").arg(program()).arg("--data-dir").arg(directory.path());
    let ran = bench.output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{error}");
    let (_, peers) = out.split_once("Beside other agents").unwrap_or_else(|| panic!("{out}"));
    for name in ["avocet", "script"] {
        let row = peers
            .lines()
            .find(|line| line.trim().starts_with(name))
            .unwrap_or_else(|| panic!("{out}"));
        assert_eq!(row.matches(" ms").count(), 3, "{row}");
        assert!(row.contains(" MiB") && row.ends_with(" B"), "{row}");
    }
    let left = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 1, "only the script is left");
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
