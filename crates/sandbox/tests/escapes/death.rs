//! Kills the maker of a sandbox, or abandons a run, and checks that all of its processes die.

use std::path::Path;
use std::pin::pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use avocet_sandbox::{Isolation, ProgramRequest, ProgramRights, ProgramSandbox, ReachedHosts};
use avocet_supervise::SystemClock;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::host::Host;

/// Variables that tell this process the workspace, the mark and the kind of sandbox for its
/// program.
const TOLD: [&str; 3] = ["AVOCET_TEST_WORKSPACE", "AVOCET_TEST_MARK", "AVOCET_TEST_ISOLATION"];
/// Processes that the script below starts.
const PROCESSES: usize = 4;
/// Attempts to see all processes dead: far more than are needed.
const LOOKS: usize = 20_000;

/// The isolations with layers.
const BOTH: [Isolation; 2] = [Isolation::Namespaces, Isolation::Landlock];

const SCRIPT: &str = "sleep 1000 & setsid sleep 1000 & (nohup sleep 1000 > /dev/null 2>&1 &)
    until [ -s ready ]; do echo > ready; done; while :; do sleep 1000; done";

#[tokio::test]
async fn sandbox_dies_with_its_creator() {
    #[expect(clippy::disallowed_methods, reason = "how this test tells itself what to run")]
    let told = TOLD.map(|name| std::env::var(name).ok());
    if let [Some(workspace), Some(mark), Some(isolation)] = told {
        let isolation = BOTH.into_iter().find(|one| format!("{one:?}") == isolation).unwrap();
        let sandbox = sandbox(Path::new(&workspace), mark, isolation);
        sandbox.run(request(Path::new(&workspace))).await.unwrap();
        return;
    }
    for isolation in BOTH {
        let (host, workspace) = (Host::new(), TempDir::new().unwrap());
        let told =
            [workspace.path().display().to_string(), host.mark.clone(), format!("{isolation:?}")];
        let mut maker = Command::new(std::env::current_exe().unwrap())
            .args(["death::sandbox_dies_with_its_creator", "--exact"])
            .envs(TOLD.into_iter().zip(told))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let started = || host.left().len() > PROCESSES && workspace.path().join("ready").exists();
        assert!(comes_true(started).await, "it does not start: {isolation:?}");
        maker.kill().unwrap();
        maker.wait().unwrap();
        assert!(comes_true(|| host.left().is_empty()).await, "{isolation:?}: {:?}", host.left());
    }
}

#[tokio::test]
async fn sandbox_dies_when_its_run_is_dropped() {
    for isolation in BOTH {
        let (host, workspace) = (Host::new(), TempDir::new().unwrap());
        let sandbox = sandbox(workspace.path(), host.mark.clone(), isolation);
        {
            let started =
                || host.left().len() >= PROCESSES && workspace.path().join("ready").exists();
            let run = pin!(sandbox.run(request(workspace.path())));
            tokio::select! {
                ran = run => panic!("it ended: {ran:?}"),
                started = comes_true(started) => assert!(started, "it does not start: {isolation:?}"),
            }
        }
        assert!(comes_true(|| host.left().is_empty()).await, "{isolation:?}: {:?}", host.left());
    }
}

async fn comes_true(condition: impl Fn() -> bool) -> bool {
    for _ in 0..LOOKS {
        if condition() {
            return true;
        }
        tokio::task::yield_now().await;
    }
    false
}

fn sandbox(workspace: &Path, mark: String, isolation: Isolation) -> ProgramSandbox {
    ProgramSandbox {
        writable: vec![workspace.to_owned()],
        environment: [("PATH", "/usr/bin:/bin".to_owned()), ("MARK", mark)]
            .map(|(name, value)| (name.to_owned(), value))
            .to_vec(),
        ..ProgramSandbox::new(
            env!("CARGO_BIN_EXE_avocet-sandbox-stage"),
            isolation,
            Arc::new(SystemClock::new()),
        )
    }
}

fn request(workspace: &Path) -> ProgramRequest {
    ProgramRequest {
        program: ["/bin/sh", "-c", SCRIPT].map(str::to_owned).to_vec(),
        directory: workspace.to_owned(),
        limit: Duration::from_secs(600),
        output: 1024,
        cancel: CancellationToken::new(),
        reached: ReachedHosts::default(),
        rights: ProgramRights::default(),
    }
}
