//! Helpers that open the log and fill it.

use std::path::Path;
use std::sync::Arc;

use avocet_protocol::access::Trust;
use avocet_protocol::bus::QueueMode;
use avocet_protocol::chat::{Content, Inbound, InboundKind, NewInbound, Sender, SessionId};
use avocet_protocol::store::{Inbox, Query, StoreError};
use avocet_store::{Durability, LogHolder, OpenError, OpenOptions, SqliteStore};
use avocet_supervise::Group;
use avocet_testkit::ManualClock;

/// Bytes of a page of a new log.
pub(crate) const PAGE: usize = 1024;

pub(crate) fn options(directory: &Path) -> OpenOptions {
    OpenOptions {
        directory: directory.to_owned(),
        durability: Durability::Synced,
        default_mode: QueueMode::Queue,
        answer_edits: false,
        start_empty: false,
        redactor: Arc::default(),
        zone: jiff::tz::TimeZone::UTC,
        holder: LogHolder::Daemon,
    }
}

pub(crate) async fn open_with(options: OpenOptions) -> Result<SqliteStore, OpenError> {
    SqliteStore::open(options, Arc::new(ManualClock::default()), &Group::new("test")).await
}

pub(crate) async fn open(directory: &Path) -> Result<SqliteStore, OpenError> {
    open_with(options(directory)).await
}

pub(crate) fn message(text: &str) -> NewInbound {
    let session = SessionId::parse("terminal:local:a").unwrap();
    NewInbound {
        kind: InboundKind::Text,
        inbound: Inbound::new(
            session.address(),
            Sender::new("user".parse().unwrap()),
            text.parse().unwrap(),
            Content::text(text),
        ),
        session,
        removed: 0,
        trust: Trust::Full,
    }
}

pub(crate) async fn accept(store: &SqliteStore, text: &str) -> Result<(), StoreError> {
    store.accept(&message(text), None).await.map(|_| ())
}

pub(crate) async fn messages(store: &SqliteStore) -> u64 {
    store.log_status().await.unwrap().messages
}
