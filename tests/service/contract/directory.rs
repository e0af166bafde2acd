//! The directory of files, as a person uses it with a shell.

use std::fs;
use std::path::PathBuf;

use async_trait::async_trait;
use avocet_tests::Home;

use super::{FakePlatformSide, check};
use crate::patience::until;

#[derive(Default)]
pub(super) struct DirectorySide {
    folder: PathBuf,
    said: usize,
}

#[async_trait(?Send)]
impl FakePlatformSide for DirectorySide {
    fn account(&self) -> String {
        "directory:main".to_owned()
    }

    fn table(&mut self, home: &Home) -> String {
        self.folder = home.path("files");
        format!("[channels.directory]\npath = {:?}\n", self.folder)
    }

    async fn begin(&mut self, _home: &Home) {
        let inbox = self.folder.join("inbox");
        until("the inbox", async || inbox.is_dir()).await;
    }

    async fn say(&mut self, text: &str) {
        self.said += 1;
        let temporary = self.folder.join("inbox/.new.tmp");
        fs::write(&temporary, text).unwrap();
        fs::rename(&temporary, self.folder.join(format!("inbox/{:03}.txt", self.said))).unwrap();
    }

    async fn texts(&mut self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.join("outbox")).into_iter().flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut paths: Vec<PathBuf> =
            paths.filter(|path| path.extension() == Some("txt".as_ref())).collect();
        paths.sort();
        paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directory_keeps_the_contract_of_channels() {
    check(DirectorySide::default()).await;
}
