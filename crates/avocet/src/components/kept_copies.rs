//! The copies of files whose changes wait for a review, and their end with the conversation.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::chat::SessionId;
use avocet_protocol::store::{
    DeletedSession, SessionDeletion, SessionWork, SessionsAtWork, StoreError,
};
use avocet_sandbox::KeptCopies;
use avocet_store::SqliteStore;
use avocet_supervise::run_blocking;

use crate::configuration::{Configuration, KEPT_COPIES};

/// Opens the copies of a data directory. A process opens them once.
pub(crate) fn open_copies(configuration: &Configuration) -> KeptCopies {
    let own = configuration.other_paths().own.into_iter().map(Path::to_owned).collect();
    KeptCopies::open(configuration.data_dir.join(KEPT_COPIES), own)
}

/// Deletes conversations with their copies. The changes stay, marked as untrusted.
#[derive(Debug, Clone)]
pub(crate) struct DeletionWithCopies {
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) copies: Arc<KeptCopies>,
}

#[async_trait]
impl SessionDeletion for DeletionWithCopies {
    async fn delete_session(&self, session: &SessionId) -> Result<DeletedSession, StoreError> {
        let deleted = self.store.delete_session(session).await?;
        if matches!(deleted, DeletedSession::Deleted { .. }) {
            self.forget_copies(session).await;
            self.forget_deleted().await;
        }
        Ok(deleted)
    }
}

impl DeletionWithCopies {
    /// Forgets the copies of all conversations that were deleted: sub-agents go with the conversation
    /// that started them, and a process can end between a deletion and this.
    pub(crate) async fn forget_deleted(&self) {
        for session in self.copies.list_conversations() {
            match self.store.session_work(&session).await {
                Ok(SessionWork::Gone) => self.forget_copies(&session).await,
                Ok(SessionWork::Open | SessionWork::Ended) => {}
                Err(error) => {
                    tracing::warn!(%session, %error, "cannot read if a conversation was deleted; its \
                        copies of files stay until the next start");
                }
            }
        }
    }

    async fn forget_copies(&self, session: &SessionId) {
        let (copies, forgotten) = (self.copies.clone(), session.clone());
        let forgetting = run_blocking(move || copies.forget_copies(&forgotten));
        if let Err(error) = forgetting.await {
            tracing::error!(%session, %error, "cannot forget the copies of a deleted conversation");
        }
    }
}
