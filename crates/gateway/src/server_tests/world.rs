//! A gateway in a temporary directory, and its clients.

use std::path::PathBuf;
use std::sync::Arc;

use avocet_protocol::ids::{AccountName, ChannelName};
use avocet_supervise::Group;
use avocet_testkit::{FakeDestinations, ManualClock};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use super::external::FakePlatform;
use crate::testing::{FakeDaemon, session};
use crate::{Ask, Client, ClientError, Clients, Gateway, GatewayParts, SocketPlace};

pub(crate) struct World {
    pub(crate) daemon: Arc<FakeDaemon>,
    pub(crate) platform: Arc<FakePlatform>,
    pub(super) places: Arc<FakeDestinations>,
    pub(super) clock: Arc<ManualClock>,
    pub(crate) group: Group,
    pub(super) path: PathBuf,
    pub(super) gateway: Gateway,
    pub(crate) parts: GatewayParts,
    _directory: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(Clients::default())
    }

    /// A gateway with these clients in its configuration.
    pub(super) fn with(clients: Clients) -> Self {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("run/avocet.sock");
        let (daemon, places, clock) =
            <(Arc<FakeDaemon>, Arc<FakeDestinations>, Arc<ManualClock>)>::default();
        let platform = Arc::<FakePlatform>::default();
        let account = |channel: &str, account: &str| -> (ChannelName, AccountName) {
            (channel.parse().unwrap(), account.parse().unwrap())
        };
        let group = Group::new("test");
        let mut parts = daemon.parts(clock.clone(), places.clone());
        parts.attach.insert(account("external", "irc"), platform.clone());
        let place = SocketPlace { path: path.clone(), group: None };
        let gateway = Gateway::open(&place, clients, parts.clone(), &group).unwrap();
        Self { daemon, platform, places, clock, group, path, gateway, parts, _directory: directory }
    }

    pub(super) async fn client(&self) -> Client {
        Client::connect(&self.path, &self.group).await.unwrap()
    }

    /// Writes raw bytes, and reads `answers` lines.
    pub(super) async fn raw(&self, bytes: &[u8], answers: usize) -> Vec<Value> {
        let (reader, mut writer) = UnixStream::connect(&self.path).await.unwrap().into_split();
        let write = async {
            writer.write_all(bytes).await.unwrap();
            writer
        };
        let read = async {
            let mut lines = BufReader::new(reader).lines();
            let mut read = Vec::new();
            while read.len() < answers {
                let line = lines.next_line().await.unwrap().unwrap();
                read.push(serde_json::from_str(&line).unwrap());
            }
            read
        };
        tokio::join!(write, read).1
    }
}

pub(super) fn ask(text: &str) -> Ask {
    Ask { key: Some("k1".parse().unwrap()), ..Ask::new(session(), text.to_owned()) }
}

pub(super) fn refused<T: std::fmt::Debug>(result: Result<T, ClientError>) -> (i64, String) {
    match result.unwrap_err() {
        ClientError::Refused(error) => (error.code, error.message),
        other => panic!("{other:?}"),
    }
}
