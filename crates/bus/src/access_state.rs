//! The access control data of the bus, and the locks of its changes.

use std::sync::Arc;

use avocet_protocol::access::{Allow, People};
use avocet_protocol::chat::{ChatKind, Inbound};
use avocet_protocol::store::StoreError;
use tokio::sync::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::Admission;

/// Access control data with the locks of its changes.
#[derive(Debug)]
pub(crate) struct AccessState {
    pub(crate) admission: Admission,
    pub(crate) people: Arc<dyn People>,
    /// Serializes reads of the log, so that the newest result stays.
    reading: Mutex<()>,
    /// Write-locked until a change has taken effect in memory, and before its people are informed.
    changing: RwLock<()>,
    /// Serializes the creation of pairing codes, so that two at once stay within the limits.
    pub(crate) creating_code: Mutex<()>,
}

impl AccessState {
    pub(crate) fn new(admission: Admission, people: Arc<dyn People>) -> Self {
        let (reading, creating_code) = <(Mutex<()>, Mutex<()>)>::default();
        Self { admission, people, reading, changing: RwLock::default(), creating_code }
    }

    /// Blocks publishing while access control changes.
    pub(crate) async fn block_publishing(&self) -> RwLockWriteGuard<'_, ()> {
        self.changing.write().await
    }

    /// Keeps access control unchanged while a message is published.
    pub(crate) async fn hold_access(&self) -> RwLockReadGuard<'_, ()> {
        self.changing.read().await
    }

    pub(crate) async fn reload_access(&self) -> Result<(), StoreError> {
        let _reading = self.reading.lock().await;
        self.admission.cache.replace_access(self.people.stored_access().await?);
        Ok(())
    }

    /// Records the private chat of a person with access.
    pub(crate) async fn record_private_chat(&self, inbound: &Inbound) -> Result<(), StoreError> {
        let Inbound { address, sender, chat, .. } = inbound;
        let local = matches!(self.admission.access_rule(address).as_deref(), Some(Allow::Local));
        if *chat == ChatKind::Group
            || local
            || self.admission.cache.owner_of_chat(address).is_some()
        {
            return Ok(());
        }
        self.people.add_private_chat(&address.whole_chat(), &sender.id).await?;
        self.reload_access().await
    }
}
