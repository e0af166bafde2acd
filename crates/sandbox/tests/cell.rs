//! Programs in a cell, for real.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use avocet_sandbox::{Cell, CellError, CellLimits, Ended, Order, Ran};
use avocet_supervise::SystemClock;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

fn cell(workspace: &Path, namespaces: bool) -> Cell {
    Cell {
        program: env!("CARGO_BIN_EXE_avocet-cell").into(),
        namespaces,
        walled: true,
        writable: vec![workspace.to_owned()],
        readable: Vec::new(),
        hidden: Vec::new(),
        secrets_but: Some(Vec::new()),
        environment: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
        limits: CellLimits::default(),
        cgroups: None,
        clock: Arc::new(SystemClock::new()),
    }
}

fn shell(directory: &Path, script: &str) -> Order {
    Order {
        program: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        directory: directory.to_owned(),
        limit: Duration::from_secs(20),
        output: 64 * 1024,
        cancel: CancellationToken::new(),
    }
}

async fn run(script: &str, namespaces: bool) -> Result<Ran, CellError> {
    let home = TempDir::new().unwrap();
    cell(home.path(), namespaces).run(shell(home.path(), script)).await
}

#[tokio::test]
async fn a_program_runs_and_says_how_it_ended() {
    for namespaces in [true, false] {
        for (script, ended, text) in [
            ("echo hello; echo error >&2; exit 3", Ended::Code(3), "hello\nerror\n"),
            ("kill -TERM $$", Ended::Signal(15), ""),
            ("cat; pwd | grep -c tmp", Ended::Code(0), "1\n"),
            ("(sleep 100 & setsid sleep 100 &) ; echo done", Ended::Code(0), "done\n"),
        ] {
            let ran = run(script, namespaces).await.unwrap();
            assert_eq!(
                (ran.ended, ran.output.text().as_str()),
                (ended, text),
                "{script} {namespaces}"
            );
        }
    }
}

#[tokio::test]
async fn what_is_printed_is_heard_before_the_end() {
    for namespaces in [true, false] {
        let home = TempDir::new().unwrap();
        let heard = Mutex::new(String::new());
        // It ends once it is seen that its first word was heard.
        let script = "echo first; until [ -e go ]; do :; done; echo second";
        let ran = cell(home.path(), namespaces)
            .run_heard(shell(home.path(), script), |bytes| {
                heard.lock().unwrap().push_str(&String::from_utf8_lossy(bytes));
                std::fs::write(home.path().join("go"), "").unwrap();
            })
            .await
            .unwrap();
        assert_eq!(ran.ended, Ended::Code(0), "{namespaces}");
        assert_eq!(*heard.lock().unwrap(), "first\nsecond\n", "{namespaces}");
    }
}

#[tokio::test]
async fn the_walls_of_this_system_are_found_out() {
    let home = TempDir::new().unwrap();
    let walls = avocet_sandbox::Walls::probe(&cell(home.path(), true)).await;
    println!("{walls}");
    assert!(walls.hold(), "{walls}");
}

#[tokio::test]
async fn without_walls_there_are_limits_and_nothing_is_left() {
    let (home, outside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let path = outside.path().display();
    let cell = Cell { walled: false, ..cell(home.path(), false) };
    let script = format!(
        "echo x > {path}/file; env | sort | cut -d= -f1 | tr '\\n' ' '; ulimit -n; umask; ps -o sid= -p $$ | \
         grep -cw $$; grep -c NoNewPrivs:.1 /proc/self/status; setsid sleep 1000 & sleep 1000 &"
    );
    let ran = cell.run(shell(home.path(), &script)).await.unwrap();
    let text = ran.output.text();
    // What the shell sets for itself, and nothing of whoever runs this.
    assert!(text.starts_with("OLDPWD PATH PWD ") || text.starts_with("PATH PWD "), "{text}");
    let rest: Vec<_> = text.lines().collect();
    assert!(rest[0].ends_with(" 1024") && rest[2..] == ["1", "1"], "{text}");
    assert_eq!(ran.ended, Ended::Code(0));
    assert!(outside.path().join("file").exists(), "there is no wall");
}
