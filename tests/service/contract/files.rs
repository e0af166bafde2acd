//! The channel `tests/e2e/channel.py`, whose platform is two files.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

use async_trait::async_trait;
use avocet_tests::{Home, child};
use serde_json::{Value, json};

use super::{FakePlatformSide, Repetition};
use crate::external::RunningChannel;

/// The way in which the program reaches the daemon.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WayToRun {
    OnSocket,
    AsChild,
}

pub(super) struct FilesSide {
    way: WayToRun,
    inbox: PathBuf,
    outbox: PathBuf,
    said: usize,
    last: String,
    running: Option<RunningChannel>,
}

impl FilesSide {
    pub(super) fn new(way: WayToRun) -> Self {
        Self {
            way,
            inbox: PathBuf::new(),
            outbox: PathBuf::new(),
            said: 0,
            last: String::new(),
            running: None,
        }
    }
}

#[async_trait(?Send)]
impl FakePlatformSide for FilesSide {
    fn account(&self) -> String {
        "external:files".to_owned()
    }

    fn table(&mut self, home: &Home) -> String {
        [self.inbox, self.outbox] = child::FILES.map(|file| home.path(file));
        fs::create_dir(home.path(child::PLATFORM)).unwrap();
        for file in [&self.inbox, &self.outbox] {
            File::create(file).unwrap();
        }
        let keys = match self.way {
            WayToRun::OnSocket => String::new(),
            WayToRun::AsChild => child::keys_of_channel_py(home),
        };
        format!("[channels.external.files]\nowners = [\"bob\"]\n{keys}")
    }

    async fn begin(&mut self, home: &Home) {
        if self.way == WayToRun::OnSocket {
            self.running = Some(RunningChannel::start(home));
        }
    }

    async fn say(&mut self, text: &str) {
        self.said += 1;
        let key = self.said.to_string();
        let message = json!({"chat": "bob", "sender": "bob", "key": key, "text": text});
        self.last = format!("{message}\n");
        self.repeat_event().await;
    }

    async fn repeat_event(&mut self) {
        let mut inbox = File::options().append(true).open(&self.inbox).unwrap();
        inbox.write_all(self.last.as_bytes()).unwrap();
    }

    async fn lose_answer(&mut self) -> Repetition {
        File::create(self.outbox.with_file_name("lose-answer")).unwrap();
        Repetition::Marked("(again)")
    }

    async fn texts(&mut self) -> Vec<String> {
        let read = fs::read_to_string(&self.outbox).unwrap();
        let lines = read.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.map(|line| line["text"].as_str().unwrap().to_owned()).collect()
    }
}
