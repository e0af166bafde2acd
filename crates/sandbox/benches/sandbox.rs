//! Measures the start and end of an empty program: outside, and in each kind of sandbox. It only
//! prints figures: `cargo bench -p avocet-sandbox`.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::access::{LeastTrust, Trust};
use avocet_sandbox::{
    Isolation, ProgramRequest, ProgramRights, ProgramSandbox, ReachedHosts, Workspace,
};
use avocet_supervise::SystemClock;
use divan::Bencher;
use tempfile::TempDir;
use tokio::runtime;
use tokio_util::sync::CancellationToken;

const PROGRAM: &str = "/bin/true";

fn main() {
    divan::main();
}

#[divan::bench]
fn plain() {
    assert!(Command::new(PROGRAM).output().expect("a process").status.success());
}

#[divan::bench]
fn namespaces(bencher: Bencher<'_, '_>) {
    start(bencher, Isolation::Namespaces);
}

#[divan::bench]
fn landlock(bencher: Bencher<'_, '_>) {
    start(bencher, Isolation::Landlock);
}

/// The cost of watching a program in a workspace of 10,000 files, one of them untrusted.
#[divan::bench]
fn watched(bencher: Bencher<'_, '_>) {
    let directory = TempDir::new().expect("a directory");
    for number in 0..10_000 {
        let place = directory.path().join(format!("{}", number / 100));
        std::fs::create_dir_all(&place).expect("a directory");
        std::fs::write(place.join(format!("{number}")), "x").expect("a file");
    }
    let workspace = Workspace::open(directory.path()).expect("a workspace");
    let low = workspace.on_behalf(Trust::Low, LeastTrust::default());
    low.write(&low.resolve_path("foreign").expect("a path"), b"x").expect("a file");
    bencher.bench_local(|| workspace.watch_program().settle_trust());
}

fn start(bencher: Bencher<'_, '_>, isolation: Isolation) {
    let workspace = TempDir::new().expect("a directory");
    let sandbox = ProgramSandbox {
        writable: vec![workspace.path().to_owned()],
        ..ProgramSandbox::new(
            env!("CARGO_BIN_EXE_avocet-sandbox-stage"),
            isolation,
            Arc::new(SystemClock::new()),
        )
    };
    let runtime = runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    bencher.bench_local(|| {
        runtime.block_on(sandbox.run(request(workspace.path()))).expect("a sandbox")
    });
}

fn request(directory: &Path) -> ProgramRequest {
    ProgramRequest {
        program: vec![PROGRAM.to_owned()],
        directory: directory.to_owned(),
        limit: Duration::from_secs(10),
        output: 0,
        cancel: CancellationToken::new(),
        reached: ReachedHosts::default(),
        rights: ProgramRights::default(),
    }
}
