//! Checks the log about paths. This test has its own process: an event that one thread has met
//! before is missed in the log of another thread.

use std::fs;
use std::io::{self, Write};
use std::sync::Arc;

use avocet_sandbox::Workspace;
use parking_lot::Mutex;
use tempfile::TempDir;

#[derive(Clone, Default)]
struct LogBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn resolve_logs_the_given_and_the_resolved_path() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("a.rs"), "a").unwrap();
    let workspace = Workspace::open(directory.path()).unwrap();
    let log = LogBuffer::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        workspace.resolve_path(".//a.rs").unwrap();
        workspace.resolve_path("../secret").unwrap_err();
    });
    let log = String::from_utf8(log.0.lock().clone()).unwrap();
    let outside = workspace.root().parent().unwrap().join("secret");
    assert!(log.contains("given=\".//a.rs\" resolved=a.rs"), "{log}");
    let outside = format!("given=\"../secret\" resolved=\"{}\"", outside.display());
    assert!(log.contains(&outside), "{log}");
}
