//! The channel on real directories, with a fake bus and a manual clock.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod receiving;
mod recipe;
mod sending;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use avocet_directory::DirectoryChannel;
use avocet_protocol::bus::Publish;
use avocet_protocol::channel::{Channel, ChannelContext, ChannelError};
use avocet_testkit::{FakeBus, FakeDestinations, ManualClock};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const POLL: Duration = Duration::from_secs(1);

struct World {
    home: TempDir,
    directory: Arc<DirectoryChannel>,
    bus: Arc<FakeBus>,
    clock: Arc<ManualClock>,
    stop: CancellationToken,
}

impl World {
    /// The directory itself is still missing.
    fn new() -> Self {
        let (home, clock) = (TempDir::new().unwrap(), Arc::<ManualClock>::default());
        let (name, account) = ("directory".parse().unwrap(), "main".parse().unwrap());
        let path = home.path().join("files");
        let directory = DirectoryChannel::new(name, account, path, clock.clone()).unwrap();
        let (directory, bus, stop) = (Arc::new(directory), Arc::default(), Default::default());
        Self { home, directory, bus, clock, stop }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.home.path().join("files").join(below)
    }

    fn run(&self) -> JoinHandle<Result<(), ChannelError>> {
        self.run_with(self.bus.clone())
    }

    #[expect(clippy::disallowed_methods, reason = "the test runs the channel")]
    fn run_with(&self, publish: Arc<dyn Publish>) -> JoinHandle<Result<(), ChannelError>> {
        let context = ChannelContext {
            publish,
            deliveries: Arc::new(FakeDestinations::default()),
            clock: self.clock.clone(),
            commands: Arc::default(),
            stop: self.stop.clone(),
        };
        let directory = self.directory.clone();
        tokio::spawn(async move { directory.run(context).await })
    }

    /// Starts the channel and waits for the end of its first poll.
    async fn start(&self) -> JoinHandle<Result<(), ChannelError>> {
        let running = self.run();
        self.clock.sleeper(POLL).await;
        running
    }

    /// Lets the running channel poll once.
    async fn poll(&self) {
        self.clock.advance(POLL);
        self.clock.sleeper(POLL).await;
    }

    /// Puts a file into the inbox as the documentation says.
    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path("inbox/.new.tmp"), content).unwrap();
        fs::rename(self.path("inbox/.new.tmp"), self.path("inbox").join(name)).unwrap();
    }

    /// The names in a directory, sorted.
    fn names(&self, below: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(below)).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    fn read(&self, below: &str) -> String {
        fs::read_to_string(self.path(below)).unwrap()
    }
}
