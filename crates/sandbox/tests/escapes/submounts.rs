//! Mounts below a read-only path of a sandbox are read-only, too.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use avocet_sandbox::{
    Isolation, ProgramEnd, ProgramRequest, ProgramRights, ProgramSandbox, ReachedHosts,
};
use avocet_supervise::SystemClock;
use avocet_testkit::{SystemPart, skip_without};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A variable with the place of the mounts, in a namespace that was made for this process.
const TOLD: &str = "AVOCET_TEST_MOUNTS";

/// One file system in another, one with a space in its name, one that covers another, and one with
/// options of its own.
const MOUNTS: &str = r#"
    set -e
    cd "$AVOCET_TEST_MOUNTS"
    mkdir below && mount -t tmpfs none below && echo shown > below/file
    mkdir "below/deep er" && mount -t tmpfs -o noexec,nosuid,noatime none "below/deep er"
    mkdir twice && mount -t tmpfs none twice && mkdir twice/lost && mount -t tmpfs none twice/lost
    mount -t tmpfs none twice
    exec "$0" submounts::sandbox_keeps_mounts_below_a_read_only_path_read_only --exact --nocapture
"#;

const SCRIPT: &str = r#"
    for place in . below "below/deep er" twice; do
        (echo x > "$READ/$place/new") && echo ESCAPED
    done
    cat "$READ/below/file"
"#;

#[tokio::test]
async fn sandbox_keeps_mounts_below_a_read_only_path_read_only() {
    #[expect(
        clippy::disallowed_methods,
        reason = "how this test tells itself where its mounts are"
    )]
    if let Ok(told) = std::env::var(TOLD) {
        return try_to_write(Path::new(&told)).await;
    }
    let directory = TempDir::new_in("/var/tmp").unwrap();
    let ran = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", MOUNTS])
        .arg(std::env::current_exe().unwrap())
        .env(TOLD, directory.path())
        .output();
    let Ok(ran) = ran else { return skip_without(SystemPart::MountNamespace) };
    let (said, wrong) =
        (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    println!("{said}\n{wrong}");
    if !said.contains("running 1 test") {
        return skip_without(SystemPart::MountNamespace);
    }
    assert!(ran.status.success() && said.contains("1 passed"));
}

async fn try_to_write(read: &Path) {
    let workspace = TempDir::new_in("/var/tmp").unwrap();
    let sandbox = ProgramSandbox {
        writable: vec![workspace.path().to_owned()],
        readable: vec![read.to_owned()],
        secrets_but: None,
        environment: [("PATH", "/usr/bin:/bin".to_owned()), ("READ", read.display().to_string())]
            .map(|(name, value)| (name.to_owned(), value))
            .to_vec(),
        ..ProgramSandbox::new(
            env!("CARGO_BIN_EXE_avocet-sandbox-stage"),
            Isolation::Namespaces,
            Arc::new(SystemClock::new()),
        )
    };
    let request = ProgramRequest {
        program: ["/bin/sh", "-c", SCRIPT].map(str::to_owned).to_vec(),
        directory: workspace.path().to_owned(),
        limit: Duration::from_secs(60),
        output: 4096,
        cancel: CancellationToken::new(),
        reached: ReachedHosts::default(),
        rights: ProgramRights::default(),
    };
    let ran = sandbox.run(request).await.unwrap();
    let text = ran.output.to_text();
    assert!(ran.ended == ProgramEnd::Code(0) && text.contains("shown"), "{:?} {text}", ran.ended);
    assert!(!text.contains("ESCAPED"), "{text}");
    // Each attempt was refused, and for this reason.
    assert_eq!(text.matches("Read-only file system").count(), 4, "{text}");
}
